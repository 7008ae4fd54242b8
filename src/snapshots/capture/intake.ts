import { ok } from '../../core/shared/errors';
import { refuse } from '../../core/snapshot/problem';
import type { LeftOut } from '../../core/snapshot/snapshotRecord';
import type { TreePath } from '../../core/snapshot/treePath';
import { discardFile } from '../../system/files/atomicFile';
import { Slices } from '../../system/slices';
import { type FileLook, lookAt } from './fileLook';
import { leftOut } from './listing';
import { type PrivateGit, SYNC_AT_ONCE } from '../storage/privateGit';
import type { Outcome, SnapshotPorts } from '../storage/snapshotPorts';

/** Files that git is given at once: enough to make starting it cheap, few enough to stop in between. */
const BATCH = 8000;
/** A change within so many ms before reading may not show in a file's times. */
const SETTLE_MS = 20;
/** How often a file that changes while it is read is read again. */
const TRIES = 3;
/** Git compares whole seconds: a change within so many ms of another may look the same to it. */
const YOUNG_MS = 2000;
const SLICE_MS = 10;
/** So many new files at once go into a pack: each as a file of its own would take ten times as long. */
const MANY = 2000;
/** So many wait for the disk once. */
const SOME = 50;

/** A file that is to be read. */
interface Candidate {
  readonly path: TreePath;
  readonly look: FileLook;
}

/** Reads files into an index: each as it was at one moment, or not at all. */
export class Intake {
  readonly leftOut: LeftOut[] = [];
  /** What was read, with the permission bits of files. */
  readonly taken = new Map<TreePath, number | undefined>();
  /** Stamps of what was changed shortly before it was read. */
  readonly young = new Map<TreePath, string>();
  /** What is not in the index afterwards. */
  readonly dropped = new Set<TreePath>();
  private readonly slices = new Slices(SLICE_MS);

  constructor(
    private readonly ports: Pick<SnapshotPorts, 'files'>,
    private readonly git: PrivateGit,
    private readonly index: string,
    private readonly options: {
      readonly maxFileSize: number;
      readonly isCancelled: () => boolean;
      /** Whether most contents are new to the database. */
      readonly allNew: boolean;
    },
  ) {}

  /** Takes entries out of the index. */
  async drop(paths: readonly TreePath[]): Promise<Outcome<void>> {
    if (paths.length === 0) return ok(undefined);
    for (const path of paths) this.dropped.add(path);
    return this.forget(paths);
  }

  /** Has git forget entries, so that it reads the files again even where they look the same to it. */
  async forget(paths: readonly TreePath[]): Promise<Outcome<void>> {
    if (paths.length === 0) return ok(undefined);
    const args = ['update-index', '--force-remove', '-z', '--stdin'];
    const done = await this.git.whole(this.index, async () => this.git.run(args, this.call(paths)));
    return done.ok ? ok(undefined) : done;
  }

  private call(paths: readonly TreePath[]): { index: string; input: string } {
    return { index: this.index, input: paths.map((path) => `${path}\0`).join('') };
  }

  /** What can be read at paths, with the sum of its sizes in bytes. What can't is dropped and left out. */
  async choose(paths: Iterable<TreePath>): Promise<{ readonly chosen: TreePath[]; readonly bytes: number }> {
    const chosen: TreePath[] = [];
    let bytes = 0;
    for (const path of paths) {
      const look = this.lookOrLeave(path);
      if (look !== undefined) {
        chosen.push(path);
        bytes += look.size;
      }
      await this.slices.turn();
    }
    return { chosen, bytes };
  }

  /** A file or link that may be read; anything else is noted as left out, or as gone. */
  private lookOrLeave(path: TreePath): FileLook | undefined {
    let look: FileLook | undefined;
    let left: LeftOut | undefined;
    try {
      look = lookAt(this.git.place.worktree, path);
    } catch {
      left = leftOut(path, 'unreadable');
    }
    if (look?.kind === 'other') left = leftOut(path, 'special');
    if (look?.kind === 'file' && look.size > this.options.maxFileSize)
      left = leftOut(path, 'too_large', { size: look.size });
    if (left === undefined && (look?.kind === 'file' || look?.kind === 'link')) return look;
    this.leave(left, path);
    return undefined;
  }

  private leave(left: LeftOut | undefined, path: TreePath): void {
    if (left !== undefined) this.leftOut.push(left);
    this.dropped.add(path);
  }

  /** Reads files and links that {@link choose} chose. */
  async take(paths: readonly TreePath[]): Promise<Outcome<void>> {
    for (let at = 0; at < paths.length; at += BATCH) {
      const taken = await this.takeStable(paths.slice(at, at + BATCH), paths.length);
      if (!taken.ok) return taken;
    }
    return ok(undefined);
  }

  private async takeStable(paths: readonly TreePath[], of: number): Promise<Outcome<void>> {
    let rest = paths;
    for (let attempt = 1; attempt <= TRIES && rest.length > 0; attempt += 1) {
      if (this.options.isCancelled()) return refuse('cancelled', 'The snapshot was cancelled.');
      const forgotten = attempt === 1 ? ok(undefined) : await this.forget(rest);
      if (!forgotten.ok) return forgotten;
      const candidates = await this.settled(rest);
      const failed = await this.add(candidates, of);
      if (!failed.ok) return failed;
      const again: TreePath[] = [];
      for (const { path, look } of candidates) {
        const isStill = this.isStill(path, look);
        if (isStill && !failed.value.has(path)) this.note(path, look);
        else if (attempt < TRIES) again.push(path);
        else this.leave(leftOut(path, isStill ? 'unreadable' : 'unstable'), path);
        await this.slices.turn();
      }
      rest = again;
    }
    return ok(undefined);
  }

  /** What is there, as it looks once the newest change is old enough for another to show. */
  private async settled(paths: readonly TreePath[]): Promise<Candidate[]> {
    let newest = 0;
    const first: Candidate[] = [];
    for (const path of paths) {
      const look = this.lookOrLeave(path);
      if (look !== undefined) first.push({ path, look });
      newest = Math.max(newest, look?.changedMs ?? 0);
      await this.slices.turn();
    }
    const wait = newest + SETTLE_MS + 1 - Date.now();
    if (wait <= 0) return first;
    await new Promise((resolve) => setTimeout(resolve, Math.min(wait, SETTLE_MS + 1)));
    const fresh = Date.now() - SETTLE_MS;
    return first.flatMap((each) => {
      if (each.look.changedMs < fresh - SETTLE_MS) return [each];
      const look = this.lookOrLeave(each.path);
      return look === undefined ? [] : [{ path: each.path, look }];
    });
  }

  private isStill(path: TreePath, look: FileLook): boolean {
    try {
      return lookAt(this.git.place.worktree, path)?.stamp === look.stamp;
    } catch {
      return false;
    }
  }

  private note(path: TreePath, look: FileLook): void {
    this.taken.set(path, look.kind === 'file' ? look.mode : undefined);
    if (look.changedMs > Date.now() - YOUNG_MS) this.young.set(path, look.stamp);
  }

  /** Has git read files; halves them until those are found that it can't read, which are returned. */
  private async add(candidates: readonly Candidate[], of: number): Promise<Outcome<ReadonlySet<TreePath>>> {
    if (candidates.length === 0) return ok(new Set());
    const settings = of > SOME ? [SYNC_AT_ONCE] : [];
    if (of > MANY && this.options.allNew) settings.push('core.bigFileThreshold=1', 'pack.compression=1');
    const args = ['update-index', '--add', '--remove', '--replace', '-z', '--stdin'];
    const call = this.call(candidates.map(({ path }) => path));
    const done = await this.git.run(args, { ...call, settings });
    if (done.ok) return ok(new Set());
    if (done.error.reason === 'disk_full') return done;
    // A git that was killed by what it read leaves its lock; the index is nobody else's.
    discardFile(this.ports.files, `${this.index}.lock`);
    if (candidates.length === 1) return ok(new Set(candidates.map(({ path }) => path)));
    const middle = Math.ceil(candidates.length / 2);
    const first = await this.add(candidates.slice(0, middle), of);
    if (!first.ok) return first;
    const second = await this.add(candidates.slice(middle), of);
    return second.ok ? ok(new Set([...first.value, ...second.value])) : second;
  }
}
