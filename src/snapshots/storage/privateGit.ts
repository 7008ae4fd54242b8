import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ok } from '../../core/shared/errors';
import { oneLine } from '../../core/shared/text';
import { type SnapshotProblem, refuse } from '../../core/snapshot/problem';
import { discardFile, ensureFolder, replaceFile } from '../../system/files/atomicFile';
import type { Place } from './place';
import type { Outcome, SnapshotPorts } from './snapshotPorts';

/** How long one run of git may take, in ms: a first capture reads a large worktree on a busy machine. */
const TIMEOUT_MS = 15 * 60_000;
const MAX_STDERR = 64 * 1024;
/** How often git is run that was killed by what it read. */
const TRIES = 3;

/** How the folders are called into which a restore puts files before it renames them; `.gitignore` in them hides them. */
export const STAGE_PREFIX = '.atlas-restore-';

/** Has many objects written to disk at once; for a few, one by one is quicker. */
export const SYNC_AT_ONCE = 'core.fsyncMethod=batch';

/** No attribute of a worktree outranks these, so contents are stored as they are on disk. */
const ATTRIBUTES = '* -text -eol -crlf -filter -ident -working-tree-encoding\n';

/** What one run is given beside its arguments. */
export interface PrivateCall {
  readonly input?: string | undefined;
  /** The index, where it is not the worktree's. */
  readonly index?: string;
  readonly settings?: readonly string[];
  /** Another object database that this run may read. Never with a run that writes blobs: git would touch the other's files. */
  readonly reads?: string | undefined;
  /** Another folder to work in, and another folder for git's own files. */
  readonly worktree?: string;
  readonly home?: string;
  /** Whether paths mean themselves, and no patterns; they do unless it is said. */
  readonly literal?: boolean;
  /** The exit codes that are answers; 0 alone unless given. */
  readonly codes?: readonly number[];
  /** Whether what git says on its standard error counts too. */
  readonly both?: boolean;
}

/** Git on a worktree with a folder, an index and an object database that are all Atlas's own. */
export class PrivateGit {
  constructor(
    private readonly ports: SnapshotPorts,
    readonly place: Place,
  ) {}

  private environment({ index, reads, worktree, home: other, literal }: PrivateCall): Record<string, string> {
    const { home, objects } = this.place;
    return {
      GIT_DIR: other ?? home,
      GIT_WORK_TREE: worktree ?? this.place.worktree,
      GIT_OBJECT_DIRECTORY: objects,
      GIT_INDEX_FILE: index ?? join(home, 'no-index'),
      // Nobody's settings apply: what is captured depends on the files alone.
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_SYSTEM: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_COUNT: '0',
      GIT_CONFIG_PARAMETERS: '',
      GIT_NO_LAZY_FETCH: '1',
      GIT_NO_REPLACE_OBJECTS: '1',
      GIT_LITERAL_PATHSPECS: literal === false ? '0' : '1',
      ...(reads === undefined ? {} : { GIT_ALTERNATE_OBJECT_DIRECTORIES: alternate(reads) }),
    };
  }

  private settings({ settings = [] }: PrivateCall): string[] {
    const { excludesFile } = this.place;
    // The last one counts.
    return [...(excludesFile === undefined ? [] : [`core.excludesFile=${excludesFile}`]), ...settings];
  }

  /** What git prints, one character a byte. Fails where it doesn't end with 0. */
  async run(args: readonly string[], call: PrivateCall = {}): Promise<Outcome<string>> {
    const run = await this.ports.git.run(call.worktree ?? this.place.worktree, args, {
      ...{ env: this.environment(call), settings: this.settings(call), input: call.input },
      ...{ bytes: true, timeoutMs: TIMEOUT_MS },
    });
    if (!run.ok) return refuse('failed', run.error.message, { cause: run.error.cause });
    const { code, stdout, stderr } = run.value;
    if ((call.codes ?? [0]).includes(code)) return ok(call.both === true ? stdout + stderr : stdout);
    return refuse(reasonOf(stderr), saidBy(args, stderr, code));
  }

  /**
   * Runs git again while the system kills it (SIGBUS), as it does when another program shortens a file that git has mapped into
   * memory. Each run begins as the first did: the lock that a killed git leaves on its index, which nobody else uses, is removed.
   */
  async whole<T>(index: string, run: () => Promise<Outcome<T>>): Promise<Outcome<T>> {
    for (let tried = 1; ; tried += 1) {
      const done = await run();
      if (done.ok || tried === TRIES || !isKilled(done.error)) return done;
      discardFile(this.ports.files, `${index}.lock`);
    }
  }

  /**
   * Has git print what would be too much to keep, and gives it piece by piece.
   * @returns what it said on its standard error
   */
  async stream(
    args: readonly string[],
    call: PrivateCall,
    take: (piece: Buffer) => Promise<void> | void,
  ): Promise<Outcome<string>> {
    const child = this.ports.git.start(call.worktree ?? this.place.worktree, args, {
      ...{ env: this.environment(call), settings: this.settings(call) },
    });
    let stderr = '';
    let failure: Error | undefined;
    child.stderr.setEncoding('latin1').on('data', (text: string) => {
      if (stderr.length < MAX_STDERR) stderr += text;
    });
    const ended = new Promise<readonly [code: number | null, signal: string | null]>((resolve) => {
      child.once('error', (error) => {
        failure = error;
        resolve([null, null]);
      });
      child.once('close', (...how) => {
        resolve(how);
      });
    });
    // Git may end before it has read everything; its exit code says why.
    child.stdin.on('error', () => undefined);
    child.stdin.end(call.input ?? '', 'latin1');
    try {
      for await (const piece of child.stdout) await take(piece as Buffer);
    } catch (error) {
      child.kill();
      throw error;
    }
    const [code, signal] = await ended;
    if (failure !== undefined) return refuse('failed', `git could not be started: ${failure.message}`);
    if (code === 0) return ok(stderr);
    return refuse(reasonOf(stderr), saidBy(args, stderr, code ?? signal), { cause: { signal } });
  }

  /** The records of an output that was asked for with `-z`, in lists as they come. */
  async records(
    args: readonly string[],
    call: PrivateCall,
    take: (records: string[]) => Promise<void> | void,
  ): Promise<Outcome<string>> {
    let rest = '';
    return this.stream(args, call, async (piece) => {
      const records = (rest + piece.toString('latin1')).split('\0');
      rest = records.pop() ?? '';
      if (records.length > 0) await take(records);
    });
  }
}

function saidBy(args: readonly string[], stderr: string, end: number | string | null): string {
  const said = oneLine(stderr, 400);
  return `git ${args[0] ?? ''} failed: ${said === '' ? `it ended with ${end ?? 'a signal'}.` : said}`;
}

function isKilled({ cause }: SnapshotProblem): boolean {
  return typeof cause === 'object' && cause !== null && 'signal' in cause && typeof cause.signal === 'string';
}

function reasonOf(stderr: string): 'disk_full' | 'failed' {
  return /No space left on device|Disk quota exceeded/u.test(stderr) ? 'disk_full' : 'failed';
}

/** A path with the list's separator in it has to be quoted as a C string. */
function alternate(path: string): string {
  return /[:;"\n]/u.test(path) ? JSON.stringify(path) : path;
}

/** Whether the file system of a folder takes upper and lower case for the same. */
export function ignoresCase(folder: string): boolean {
  const name = basename(folder);
  const other = name === name.toUpperCase() ? name.toLowerCase() : name.toUpperCase();
  if (other === name) return existsSync(join(folder, '.GiT'));
  const [a, b] = [folder, join(dirname(folder), other)].map((path) => lstatSync(path, { throwIfNoEntry: false }));
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev;
}

function configOf({ objectFormat, worktree }: Place): string {
  const isWindows = process.platform === 'win32';
  const core = {
    ...{ repositoryformatversion: objectFormat === 'sha1' ? 0 : 1, bare: false, logAllRefUpdates: false },
    ...{ autocrlf: false, safecrlf: false, fsmonitor: false, trustctime: true, checkStat: 'default' },
    ...{ untrackedCache: false, splitIndex: true, preloadIndex: true, sharedRepository: '0600' },
    ...{
      bigFileThreshold: '1m',
      fsync: 'objects,index',
      fsyncMethod: 'batch',
      precomposeUnicode: false,
      sparseCheckout: false,
    },
    ...{ ignoreCase: ignoresCase(worktree), symlinks: !isWindows, fileMode: !isWindows, longPaths: true },
    hooksPath: '/dev/null',
  };
  const lines = Object.entries(core).map(([name, value]) => `\t${name} = ${String(value)}`);
  const extensions = objectFormat === 'sha1' ? [] : ['[extensions]', '\tobjectFormat = sha256'];
  const rest = ['[gc]', '\tauto = 0', '[splitIndex]', '\tsharedIndexExpire = 2.days.ago', '[pack]', '\tthreads = 2'];
  return ['[core]', ...lines, ...extensions, ...rest, ''].join('\n');
}

/** A name in an ignore file that means itself. */
function literal(path: string): string {
  return `/${path.replace(/[\\*?[\]!# ]/gu, '\\$&')}/`;
}

/** The user's `info/exclude`; empty where there is none. */
export function userExclude({ repository }: Place): string {
  if (repository === undefined) return '';
  try {
    return readFileSync(join(repository.commonDir, 'info', 'exclude'), 'latin1');
  } catch {
    return '';
  }
}

/** The file that says which repository a database belongs to. */
export function aboutFile(base: string): string {
  return join(base, 'repository.json');
}

/**
 * Makes the private folders and files of a worktree as they should be; what is so already stays.
 * @param of the repository's folder
 */
export function preparePrivate(ports: SnapshotPorts, place: Place, of = place.repository?.commonDir): void {
  const { files, ids } = ports;
  const { base, home, objects } = place;
  for (const folder of [base, join(objects, 'pack'), join(home, 'refs'), join(home, 'info')])
    ensureFolder(files, folder, 0o700);
  const exclude = [userExclude(place), `/${STAGE_PREFIX}*/`];
  if (place.storeInside !== undefined) exclude.push(literal(place.storeInside));
  const wanted: readonly (readonly [string, string])[] = [
    ['HEAD', 'ref: refs/heads/none\n'],
    ['config', configOf(place)],
    [join('info', 'attributes'), ATTRIBUTES],
    [join('info', 'exclude'), `${exclude.join('\n')}\n`],
    ['worktree', `${place.worktree}\n`],
  ];
  const about = { format: 1, object_format: place.objectFormat, path: of ?? place.worktree };
  const all = [
    ...wanted.map(([name, text]) => [join(home, name), text] as const),
    ...[[aboutFile(base), `${JSON.stringify(about)}\n`] as const],
  ];
  for (const [path, text] of all) {
    const bytes = path.endsWith('exclude') ? Buffer.from(text, 'latin1') : Buffer.from(text);
    if (!isContent(path, bytes)) replaceFile(files, ids, path, bytes, { durable: false, mode: 0o600 });
  }
}

function isContent(path: string, bytes: Buffer): boolean {
  try {
    return readFileSync(path).equals(bytes);
  } catch {
    return false;
  }
}
