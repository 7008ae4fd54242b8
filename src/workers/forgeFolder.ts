import { dirname, join, sep } from 'node:path';
import { AtlasError, type Result, fail, ok } from '../core/shared/errors';
import type { Repository } from '../core/shared/ports';
import { quoted } from '../core/shared/text';
import type { ServicePorts } from '../service/ports';
import { locateRepository, readSmall } from '../git/read/locate';
import { ensureFolder, replaceFile } from '../system/files/atomicFile';
import { sha256 } from '../store/task/recordFile';
import { GenerationLock } from '../system/locks/lock';
import { failureOf } from '../system/files/fileErrors';

/** What the workers' hooks need from outside. */
export type WorkerPorts = Pick<ServicePorts, 'files' | 'processes' | 'clock' | 'ids' | 'log'>;

/** How long a change waits for each of those before it, in ms: longer than a remote may take, which a claim waits for. */
const LOCK_TIMEOUT_MS = 90_000;
const MAX_EXCLUDE_BYTES = 16 * 1024 * 1024;
/** How long a folder that was seen not to be a link is taken for none, in ms: less than a person or a git takes to change it. */
const PLAIN_MS = 20;
const EXCLUDED = '/.forge/';
/** Lines that exclude the folder just as well. */
const EXCLUDES: ReadonlySet<string> = new Set(['.forge', '.forge/', '/.forge', EXCLUDED]);

/** The repository whose workers are meant; a linked worktree's is its main one. Fails with `no_repository`. */
export function locateForge(folder: string): Result<Repository> {
  // eslint-disable-next-line no-control-regex -- control characters are what is refused here
  if (/[\u0000-\u001f\u007f\ufffd]/u.test(folder))
    return fail(
      'unsafe_path',
      `${quoted(folder, 500)} can't have workers: its path contains a control character or is not valid UTF-8.`,
      { hint: 'Move the repository to a folder with another name.' },
    );
  const found = locateRepository(folder);
  if (found === undefined)
    return fail('no_repository', `${folder} is not in a git repository.`, {
      hint: 'Workers need git. Create a repository with: git init',
    });
  const main = found.worktree === found.main ? found : locateRepository(found.main);
  if (main?.commonDir === found.commonDir && main.worktree === found.main) return ok(main);
  return fail('no_repository', `The repository of ${folder} has no main worktree, which workers need.`, {
    hint: 'Use the main worktree of a repository that is not bare.',
  });
}

/** `.forge/` in a repository's main worktree: where things lie, that git doesn't show it, and who may change it. */
export class ForgeFolder {
  readonly path: string;
  /** The folders of the workers. */
  readonly hooks: string;
  private readonly lock: GenerationLock;
  private id: string | undefined;
  private readonly plain = new Set<string>();
  private plainAt = 0;

  constructor(
    readonly repository: Repository,
    private readonly ports: WorkerPorts,
  ) {
    this.path = join(repository.main, '.forge');
    this.hooks = join(this.path, 'hooks');
    // Below git's own folder: what cleans the worktree, or checks out another branch, must not take it away.
    this.lock = new GenerationLock(join(repository.commonDir, 'atlas', 'locks'), ports, {
      what: 'the lock of the workers',
    });
  }

  get ledger(): string {
    return join(this.path, 'ledger');
  }

  /** What tells this clone of the repository from all others, on this machine or another. Made when it is first needed; throws file errors. */
  clone(): string {
    const known = this.knownClone();
    if (known !== undefined) return known;
    const { files, ids } = this.ports;
    ensureFolder(files, dirname(this.clonePath));
    replaceFile(files, ids, this.clonePath, Buffer.from(`${ids.hex(8)}\n`), { durable: true });
    return this.knownClone() ?? '';
  }

  /** The same, where it was made. A folder that was copied, or that lies on another machine, is another clone. */
  knownClone(): string | undefined {
    this.id ??= this.readClone();
    return this.id;
  }

  private readClone(): string | undefined {
    const drawn = readSmall(this.clonePath)?.trim() ?? '';
    if (drawn === '') return undefined;
    return sha256([drawn, this.ports.processes.self().machine_id, this.repository.commonDir].join('\0')).slice(0, 16);
  }

  private get clonePath(): string {
    return join(this.repository.commonDir, 'atlas', 'clone-id');
  }

  /** The folder of a worker whose name was checked. */
  hook(worker: string): string {
    // Not `join`, which looks at each letter: there may be hundreds.
    return this.hooks + sep + worker.replaceAll('/', sep);
  }

  /** Runs a change that no other process makes meanwhile. Fails with `lock_timeout`, or what the change fails with. */
  async alone<T>(change: () => Promise<T>): Promise<T> {
    try {
      const held = await this.lock.acquire(LOCK_TIMEOUT_MS);
      try {
        return await change();
      } finally {
        held.release();
      }
    } catch (error) {
      throw failureOf('write_failed', `${this.path} could not be changed`, error).error;
    }
  }

  /**
   * Makes the folders above a worktree. What lies in a repository came from anywhere: a link there could lead out of it.
   * Fails with `unsafe_path`; throws file errors.
   */
  prepare(folder: string): void {
    this.exclude();
    const parts = folder.slice(this.path.length).split(/[\\/]/u).filter(Boolean);
    let at = this.path;
    for (const part of ['', ...parts]) {
      at = join(at, part);
      const kind = this.ports.files.stat(at)?.kind;
      if (kind !== undefined && kind !== 'folder')
        throw new AtlasError('unsafe_path', `${at} is ${kind === 'link' ? 'a symbolic link' : 'not a folder'}.`, {
          hint: 'Move it away. The folder itself belongs there.',
        });
      if (kind === undefined && at !== folder) ensureFolder(this.ports.files, at);
    }
  }

  /** Whether a folder below ours is there, and neither it nor one above it is a link that could lead elsewhere. */
  isPlain(folder: string): boolean {
    if (this.ports.files.stat(folder)?.kind !== 'folder') return false;
    const now = performance.now();
    // A look at hundreds of workers asks for the folders above them only once.
    if (now - this.plainAt > PLAIN_MS) {
      this.plain.clear();
      this.plainAt = now;
    }
    for (let above = dirname(folder); above.length >= this.path.length; above = dirname(above)) {
      if (this.plain.has(above)) return true;
      if (this.ports.files.stat(above)?.kind !== 'folder') return false;
    }
    this.plain.add(dirname(folder));
    return true;
  }

  /** Has git not show the folder, by a line of the repository's own file, which is no file of the project; once. */
  private exclude(): void {
    const { files } = this.ports;
    const folder = join(this.repository.commonDir, 'info');
    const path = join(folder, 'exclude');
    ensureFolder(files, folder);
    // It may be a link to a file that is shared: read and added to where it leads.
    const text =
      files.stat(path) === undefined ? '' : Buffer.from(files.read(path, MAX_EXCLUDE_BYTES)).toString('latin1');
    if (text.split(/\r?\n/u).some((line) => EXCLUDES.has(line))) return;
    const start = text === '' || text.endsWith('\n') ? '' : '\n';
    files.append(path, `${start}${EXCLUDED}\n`, { sync: true });
  }
}
