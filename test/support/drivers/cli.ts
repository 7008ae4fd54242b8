import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { buildCommand, builtOnce } from '../built';
import { removeFolder } from '../removeFolder';

/** How `atlas` ended, and what it said. */
export interface Said {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Where and with what `atlas` is run. */
export interface CliRun {
  readonly folder?: string;
  /** Beside what every run has; `undefined` takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Its standard input; without it, there is none. */
  readonly input?: string;
}

/** The `atlas` command, built as it is shipped, on a machine of its own that has no store. */
export class BuiltCli {
  /** The home folder of whoever runs it: nothing of it is there yet. */
  readonly home: string;
  readonly folder: string;
  /** Where its store comes to be. */
  readonly root: string;
  /** The built entry. */
  readonly entry: string;

  private constructor(private readonly base: string) {
    this.home = path.join(base, 'home');
    this.folder = path.join(base, 'work');
    this.root = path.join(this.home, 'store');
    this.entry = path.join(base, 'dist', 'cli.js');
    for (const each of [this.home, this.folder]) mkdirSync(each);
  }

  /** Builds it, unless that was done for the whole run of tests. */
  static async open(): Promise<BuiltCli> {
    const base = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'atlas-cli-')));
    const built = builtOnce('command');
    if (built === undefined) buildCommand(path.join(base, 'dist'));
    else cpSync(built, path.join(base, 'dist'), { recursive: true, preserveTimestamps: true });
    writeFileSync(path.join(base, 'package.json'), '{ "type": "module" }');
    return Promise.resolve(new BuiltCli(base));
  }

  /** The environment of its runs: nothing of this machine's but the PATH. Files are captured only where a test asks for it. */
  environment(more: CliRun['env'] = {}): NodeJS.ProcessEnv {
    const home = { HOME: this.home, USERPROFILE: this.home, ATLAS_HOME: this.root };
    const own = { PATH: process.env['PATH'], ...home, TZ: 'UTC', LC_ALL: 'C.UTF-8' };
    const git = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
    // By which every Node is told that it is on another platform, where these tests run on one.
    const { NODE_OPTIONS } = process.env;
    return { ...own, ...git, ATLAS_SNAPSHOTS: 'off', ...(NODE_OPTIONS !== undefined && { NODE_OPTIONS }), ...more };
  }

  /** Starts `atlas`; the child's streams are its own. */
  start(args: readonly string[], { folder = this.folder, env }: CliRun = {}): ChildProcess {
    const options = { cwd: folder, env: this.environment(env), stdio: ['pipe', 'pipe', 'pipe'] as const };
    return spawn(process.execPath, [this.entry, ...args], { ...options, stdio: [...options.stdio] });
  }

  /** Runs `atlas` with these arguments to its end. */
  async run(...args: readonly string[]): Promise<Said> {
    return this.runIn({}, ...args);
  }

  /** As `run`, somewhere else or with something else. */
  async runIn(how: CliRun, ...args: readonly string[]): Promise<Said> {
    return said(this.start(args, how), how.input);
  }

  /** Runs it with `--json`, and gives the document; throws where that isn't one. */
  async json(
    how: CliRun,
    ...args: readonly string[]
  ): Promise<Record<string, unknown> & { readonly exit: number | null }> {
    return printed(await this.runIn(how, ...args, '--json'), args);
  }

  /** Writes a file to the folder in which it runs, and gives its name. */
  write(name: string, content: unknown): string {
    writeFileSync(path.join(this.folder, name), typeof content === 'string' ? content : JSON.stringify(content));
    return name;
  }

  /** Makes a repository with one commit, with a path of its own under the folder. */
  repository(name: string): string {
    const folder = path.join(this.folder, name);
    const first = path.join(this.base, 'first repository');
    if (!existsSync(first)) {
      const git = (...args: readonly string[]): void => {
        execFileSync('git', args, { cwd: this.base, env: this.environment(), stdio: 'ignore' });
      };
      git('init', '-q', '-b', 'main', first);
      git('-C', first, 'config', 'user.name', 'Test');
      git('-C', first, 'config', 'user.email', 'test@example.com');
      git('-C', first, 'commit', '-q', '--allow-empty', '-m', 'first');
    }
    cpSync(first, folder, { recursive: true });
    return folder;
  }

  dispose(): void {
    // What a hook left to a process of its own may still be at its last file.
    removeFolder(this.base);
  }
}

/** The document that a command printed with `--json`, and what it exited with; throws where that isn't one. */
export function printed(
  { code, out, err }: Said,
  args: readonly string[],
): Record<string, unknown> & { readonly exit: number | null } {
  try {
    return { ...(JSON.parse(out) as Record<string, unknown>), exit: code };
  } catch (error) {
    throw new Error(`atlas ${args.join(' ')} printed no JSON: ${out}${err}`, { cause: error });
  }
}

/** What a child says until it ends. */
export async function said(child: ChildProcess, input?: string): Promise<Said> {
  let [out, err] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (err += chunk));
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input ?? '');
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}
