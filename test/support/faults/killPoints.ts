/* Where a process of the tests is killed: at a chosen one of the points at which it changes something outside, or starts a git. */
import { ChildProcess } from 'node:child_process';
import { readdirSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import type { FileData, FileSystem } from '../../../src/core/shared/ports';
import { CHANGING, type Operation, bytesOf } from '../fixtures/store';

/** Who dies: the process `alone`, with the gits that it started (`gits`), or with all that they started (`group`). */
export type KillMode = 'alone' | 'gits' | 'group';

/** How many points lie within one run of git. */
const INSIDE = 3;

type Start = (this: ChildProcess, options: { args?: string[]; stdio?: unknown }) => unknown;

/** Counts points, and kills the process at one of them. */
export class KillPoints {
  private passed = 0;
  private readonly gits = new Set<ChildProcess>();

  /**
   * @param at the number of the point, from 1; at none with 0
   * @param watched folders that git changes
   */
  constructor(
    private readonly at: number,
    private readonly mode: KillMode,
    private readonly watched: readonly string[],
  ) {}

  /** A point. */
  pass(what: string): void {
    this.passed += 1;
    if (this.passed === this.at) this.die(what);
  }

  private die(what: string): never {
    writeSync(2, `killed: ${what}\n`);
    if (this.mode !== 'alone') for (const git of this.gits) git.kill('SIGKILL');
    // It leads a group of its own: whoever started it sees to that.
    if (this.mode === 'group' && process.platform !== 'win32') process.kill(-process.pid, 'SIGKILL');
    process.kill(process.pid, 'SIGKILL');
    throw new Error('it lives');
  }

  /** The same file system, with a point before each change, and one in the middle of what is written. */
  files(inner: FileSystem): FileSystem {
    const get = (_target: FileSystem, name: string): unknown => {
      const perform: unknown = Reflect.get(inner, name);
      if (typeof perform !== 'function' || !CHANGING.has(name as Operation)) return bound(inner, perform);
      return (...args: unknown[]): unknown => {
        const what = `${name} ${String(args[0])}`;
        this.pass(`before ${what}`);
        if (name === 'write' || name === 'append') this.tear(inner, name, args, what);
        return Reflect.apply(perform, inner, args) as unknown;
      };
    };
    return new Proxy(inner, { get: (target, name) => get(target, String(name)) });
  }

  private tear(inner: FileSystem, name: 'write' | 'append', args: unknown[], what: string): void {
    if (this.passed + 1 === this.at) {
      const bytes = bytesOf(args[1] as FileData);
      const half = bytes.subarray(0, Math.floor(bytes.length / 2));
      if (name === 'append') inner.append(String(args[0]), half);
      else inner.write(String(args[0]), half, args[2] as { mode?: number; exclusive?: boolean });
    }
    this.pass(`half of ${what}`);
  }

  /** From now on each git that is started has points too: before, within, after. Each holds file 3 open as long as it lives. */
  watchGit(): void {
    const { prototype } = ChildProcess as unknown as { readonly prototype: { spawn: Start } };
    const start = prototype.spawn;
    const started = (child: ChildProcess, options: { args?: string[]; stdio?: unknown }): unknown => {
      const what = nameOf(options.args ?? []);
      this.pass(`before git ${what}`);
      const done: unknown = start.call(child, { ...options, stdio: ['pipe', 'pipe', 'pipe', 3] });
      this.gits.add(child);
      // It answers until nothing is asked any more, which is at no point of what is done.
      if (what.startsWith('cat-file')) return done;
      const inside = this.at - this.passed;
      this.passed += INSIDE;
      if (inside >= 1 && inside <= INSIDE) this.within(child, what, inside);
      child.once('exit', () => {
        this.gits.delete(child);
        this.pass(`after git ${what}`);
      });
      return done;
    };
    prototype.spawn = function spawn(options): unknown {
      return started(this, options);
    };
  }

  /** Dies while git is at work: when it has read but a part of what it is told, or at the n-th change that is seen on disk; else when it ends. */
  private within(child: ChildProcess, what: string, nth: number): void {
    child.once('exit', () => this.die(`at the end of git ${what}`));
    if (nth === 1) {
      this.halve(child, what);
      return;
    }
    let before = this.picture();
    let changes = 0;
    const look = (): void => {
      const now = this.picture();
      if (now !== before) changes += 1;
      before = now;
      if (changes === nth - 1) this.die(`at change ${changes} of git ${what}`);
      setImmediate(look);
    };
    look();
  }

  /** A transaction of branches is prepared, but not told to commit; of anything else half of the bytes come. */
  private halve(child: ChildProcess, what: string): void {
    const { stdin, stdout } = child;
    if (stdin === null) return;
    stdin.end = (input?: unknown) => {
      if (typeof input !== 'string' && !(input instanceof Uint8Array)) return stdin;
      const bytes = Buffer.from(typeof input === 'string' ? Buffer.from(input, 'utf8') : input);
      const commit = what.startsWith('update-ref') ? bytes.lastIndexOf('commit\n') : -1;
      const part = bytes.subarray(0, commit < 0 ? Math.floor(bytes.length / 2) : commit);
      if (commit >= 0) {
        stdout?.on('data', (said: Buffer) => {
          if (said.toString('utf8').includes('prepare: ok')) this.die(`in the transaction of git ${what}`);
        });
      }
      stdin.write(part, () => {
        if (commit < 0) this.die(`in the input of git ${what}`);
      });
      return stdin;
    };
  }

  /** What lies in the watched folders, by name and size. */
  private picture(): string {
    const entries = this.watched.flatMap((folder) => listed(folder).map((name) => path.join(folder, name)));
    return entries.map((each) => `${each} ${statSync(each, { throwIfNoEntry: false })?.size ?? 0}`).join('\n');
  }
}

function bound(owner: object, value: unknown): unknown {
  return typeof value === 'function' ? (value.bind(owner) as unknown) : value;
}

/** The command among git's arguments, without the settings before it. */
function nameOf(args: readonly string[]): string {
  const words = args.slice(1);
  while (words[0] === '-c') words.splice(0, 2);
  return words.slice(0, 2).join(' ');
}

/** Everything below a folder; what is removed meanwhile is not there. */
function listed(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' });
  } catch {
    return [];
  }
}
