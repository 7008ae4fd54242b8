import { type AtlasError, type Result, fail } from '../../core/shared/errors';
import { isTerminal } from '../../core/task/taskRecord';
import type { TaskReader } from '../../store/task/taskReader';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import { Slices } from '../../system/slices';
import type { StoredTask } from '../../core/task/storedTask';
import type { WorkspaceStore } from '../../store/workspace/workspaces';
import type { ServicePorts } from '../ports';
import { RecentCache } from '../../core/shared/lru';
import { keptIn } from '../../core/shared/keptIn';

/** How long many tasks are read before others get a turn, in ms. */
const SLICE_MS = 20;
/** In our own files the state stands in the first bytes; enough to tell a finished task without reading it. */
const HEAD_BYTES = 1024;
const FINISHED = /^\s*"state": "(completed|failed|abandoned)",?$/mu;

/** Which tasks there are, read when they are asked for and again when their files changed. */
export class Catalog {
  private readonly places: RecentCache<{ readonly folder: string; readonly files: readonly string[] }>;
  private readonly cache: RecentCache<{ stamp: string; read: Result<StoredTask & { suspect: boolean }> }>;

  constructor(
    private readonly ports: ServicePorts,
    private readonly store: TaskReader,
    private readonly workspaces: WorkspaceStore,
  ) {
    this.places = new RecentCache(ports.clock);
    this.cache = new RecentCache(ports.clock);
  }

  /** A task as it is stored. `suspect`: its files disagree with its journal, which only its lock can settle. */
  read(ref: TaskRef): Result<StoredTask & { readonly suspect: boolean }> {
    const stamp = this.stampOf(ref);
    if (stamp === undefined)
      return fail('not_found', `There is no task ${refKey(ref)}.`, { hint: 'List the tasks and choose one of them.' });
    const known = this.cache.get(refKey(ref));
    if (known?.stamp === stamp) return known.read;
    const read = this.store.read(ref);
    // What could not be read just now is tried again, though its files are the same. So is what was read while another
    // process was between two of a change's files: HOOK.md, the last of them, is none of the files that are looked at.
    const isSettled = read.ok ? !read.value.suspect : read.error.code !== 'unreadable';
    if (isSettled) this.cache.set(refKey(ref), { stamp, read });
    return read;
  }

  /** What is known of a task that a newer version of Atlas wrote, to show it; everything else refuses it. */
  readNewer(ref: TaskRef): Result<StoredTask> {
    return this.store.read(ref, 'any');
  }

  /** Where a task lies: its folder, and the files that it is read from. Kept, since rows ask thousands of times. */
  private placesOf(ref: TaskRef): { readonly folder: string; readonly files: readonly string[] } {
    const { paths } = this.ports;
    return keptIn(this.places, refKey(ref), () => ({
      folder: paths.task(ref),
      files: [paths.hook(ref), paths.taskFile(ref), paths.journal(ref)],
    }));
  }

  private stampOf(ref: TaskRef): string | undefined {
    const { files } = this.ports;
    try {
      const places = this.placesOf(ref);
      if (files.stat(places.folder) === undefined) return undefined;
      return places.files
        .map((path) => files.stat(path))
        .map((stat) => (stat === undefined ? '-' : `${stat.ino}:${stat.size}:${stat.mtimeMs}`))
        .join('|');
    } catch {
      // An invalid name or a folder without permission: the read itself says what is wrong.
      return 'unknown';
    }
  }

  /** The tasks that are not finished, as the markers say, sorted by workspace and id. */
  open(workspace?: string): TaskRef[] {
    const marked = this.workspaces.marked();
    return workspace === undefined ? marked : marked.filter((ref) => ref.workspace === workspace);
  }

  /** Reads the open tasks of some workspaces in slices, so that whoever asks for all of them next finds them read. */
  async warm(workspaces: readonly string[]): Promise<void> {
    const slices = new Slices(SLICE_MS);
    for (const ref of this.open().filter(({ workspace }) => workspaces.includes(workspace))) {
      this.read(ref);
      await slices.turn();
    }
  }

  /** The open tasks of a workspace that can be read, the one that was changed last first. */
  openTasks(workspace?: string): StoredTask[] {
    return this.open(workspace)
      .flatMap((ref) => {
        const read = this.read(ref);
        // One that only an edit from outside says to be over is open until that edit is recorded.
        return read.ok && (read.value.suspect || !isTerminal(read.value.hook.state)) ? [read.value] : [];
      })
      .sort((a, b) => (a.hook.updated_at < b.hook.updated_at ? 1 : -1));
  }

  /** The tasks of a workspace that can't be read, each with why: open ones, and those that nobody began with Atlas. */
  unreadable(workspace: string): { readonly ref: TaskRef; readonly error: AtlasError }[] {
    const { paths, files } = this.ports;
    const foreign = this.finished(workspace).filter(
      (ref) => !files.exists(paths.taskFile(ref)) && files.exists(paths.hook(ref)),
    );
    return [...this.open(workspace), ...foreign].flatMap((ref) => {
      const read = this.read(ref);
      return read.ok || files.stat(paths.task(ref)) === undefined ? [] : [{ ref, error: read.error }];
    });
  }

  /** Ids of the tasks of a workspace that are not open, newest first. Reads none of them. */
  finished(workspace: string): TaskRef[] {
    const open = new Set(this.open(workspace).map((ref) => ref.id));
    return this.workspaces
      .taskIds(workspace)
      .filter((id) => !open.has(id))
      .reverse()
      .map((id) => ({ workspace, id }));
  }

  /**
   * Looks at every task, in slices, and reports those whose marker is wrong: it was lost, a crash left it behind, or
   * the task is damaged.
   */
  async sweep(found: (ref: TaskRef) => void, cancelled: () => boolean = () => false): Promise<void> {
    const slices = new Slices(SLICE_MS);
    for (const ref of this.open()) {
      if (cancelled()) return;
      if (this.readsFinished(ref)) found(ref);
      await slices.turn();
    }
    for (const workspace of this.workspaces.names()) {
      for (const ref of this.finished(workspace)) {
        if (cancelled()) return;
        if (!this.isFinished(ref)) found(ref);
        await slices.turn();
      }
    }
  }

  private isFinished(ref: TaskRef): boolean {
    const { paths, files } = this.ports;
    try {
      // A cleaned task has no hook any more, and one whose making was interrupted never had one.
      if (files.stat(paths.hook(ref)) === undefined) return (files.stat(paths.journal(ref))?.size ?? 0) === 0;
      return (
        FINISHED.test(Buffer.from(files.readAt(paths.hook(ref), 0, HEAD_BYTES)).toString('utf8')) ||
        this.readsFinished(ref)
      );
    } catch {
      return false;
    }
  }

  private readsFinished(ref: TaskRef): boolean {
    const read = this.store.read(ref);
    return read.ok && isTerminal(read.value.hook.state);
  }
}
