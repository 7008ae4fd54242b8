import { type Result, explain, fail, messageOf, ok } from '../../core/shared/errors';
import { oneLine } from '../../core/shared/text';
import { toTimestamp } from '../../core/shared/time';
import { refuse } from '../../core/snapshot/problem';
import {
  type FileCounts,
  type ListedCheckpoint,
  type SnapshotEntry,
  checkpointBefore,
  listedCheckpoints,
  snapshotOf,
  whyNoFiles,
} from '../../core/snapshot/snapshotEntry';
import type { SnapshotRecord } from '../../core/snapshot/snapshotRecord';
import { type TreePath, isWithin } from '../../core/snapshot/treePath';
import { worktreeOf } from '../../core/task/task';
import type { StoredTask } from '../../core/task/storedTask';
import type { TaskRef } from '../../core/task/taskRef';
import type { FileContent, SnapshotChange, SnapshotDiff } from '../../snapshots/storage/contents';
import type { RecoveredRestore } from '../../snapshots/restore/restore';
import { type CaptureResult, type Snapshots, openSnapshots } from '../../snapshots/snapshots';
import { type Outcome, systemGit } from '../../snapshots/storage/snapshotPorts';
import { type StoredSnapshots, listStored, openStored } from '../../snapshots/storedSnapshots';
import { SnapshotEntries } from '../../store/snapshots/snapshotEntries';
import type { AtlasReader } from '../atlasReader';
import type { CaptureOrder } from './backgroundCaptures';
import { SnapshotRoom } from './snapshotRoom';

/** What the files of checkpoints need of Atlas. */
export type FilesOf = Pick<AtlasReader, 'ports' | 'catalog' | 'configs' | 'workspaces'>;

/** How long a comparison or preview waits for a capture or restore in the same worktree, in ms. */
const PATIENCE_MS = 30_000;

/** A checkpoint id, or enough of one to tell it from the others. */
const PREFIX = /^(?:ckpt-)?[0-9a-zA-Z]{4,40}$/u;

/** What restore points are called, by the event that makes them. */
const POINTS: Readonly<Record<NonNullable<CaptureOrder['point']>, (stored: StoredTask) => string>> = {
  start_step: ({ hook }) => `Before "${hook.current_step?.step_name ?? 'the step'}" started`,
  crash_detected: () => 'As found after an interruption',
  session_started: () => "As an agent's session began",
  turn_started: () => "Before a turn of the agent's",
  turn_ended: () => "After a turn of the agent's",
};

/** What is asked for beside the checkpoints. */
export interface DiffOptions {
  /** Whether lines are counted. */
  readonly stat?: boolean;
  /** Files, or folders with all that is in them. */
  readonly paths?: readonly TreePath[];
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

/** How many files differ. */
export function countsOf(changes: readonly SnapshotChange[]): FileCounts {
  const of = (...kinds: readonly SnapshotChange['kind'][]): number =>
    changes.filter(({ kind }) => kinds.includes(kind)).length;
  return { added: of('added'), modified: of('modified', 'mode', 'type'), removed: of('removed') };
}

/** The files of checkpoints: capturing them, and saying what they were. Restoring is `FileRestores`. */
export class CheckpointFiles {
  readonly entries: SnapshotEntries;
  readonly room: SnapshotRoom;
  private readonly opened = new Map<string, { readonly key: string; readonly snapshots: Snapshots }>();

  constructor(
    readonly atlas: FilesOf,
    /** Told of a restore that another process began, and that was finished or undone first. */
    private readonly recovered: (worktree: string, restore: RecoveredRestore) => Promise<void>,
  ) {
    this.entries = new SnapshotEntries(atlas.ports);
    this.room = new SnapshotRoom(atlas, this.entries);
  }

  /** The checkpoints and restore points of a task, oldest first. */
  list({ ref, hook }: Pick<StoredTask, 'ref' | 'hook'>): ListedCheckpoint[] {
    return listedCheckpoints(hook.checkpoints, this.entries.list(ref));
  }

  /** The checkpoint that an id or the beginning of one names; fails with `not_found` or `usage`. */
  find(stored: Pick<StoredTask, 'ref' | 'hook'>, id: string): Result<ListedCheckpoint> {
    const listed = this.list(stored);
    const wanted = id.trim();
    const full = wanted.startsWith('ckpt-') ? wanted : `ckpt-${wanted}`;
    const found = PREFIX.test(wanted) ? listed.filter((each) => each.id.startsWith(full)) : [];
    const exact = found.find((each) => each.id === full) ?? (found.length === 1 ? found[0] : undefined);
    if (exact !== undefined) return ok(exact);
    const shown = JSON.stringify(oneLine(id, 60));
    if (found.length > 1)
      return fail('usage', `${shown} names ${found.length} checkpoints.`, {
        hint: `Name one of them: ${found.map((each) => each.id).join(', ')}`,
      });
    return fail('not_found', `Task ${stored.ref.id} has no checkpoint ${shown}.`, {
      hint: 'List them: atlas checkpoint list',
    });
  }

  /** Whether the settings let files be captured for a task. */
  async isEnabled({ task }: Pick<StoredTask, 'task'>): Promise<boolean> {
    const { config } = await this.atlas.configs.forTask(task);
    return config.snapshots.enabled;
  }

  /** Captures what a change ordered: the files of checkpoints, and a restore point where it names one. */
  async takeOrdered(ref: TaskRef, { checkpoints, point, before }: CaptureOrder): Promise<void> {
    const { catalog, ports } = this.atlas;
    if (checkpoints.length > 0) await this.take(ref, checkpoints);
    const text = before === undefined ? point && POINTS[point] : () => `Before "${before.name}"`;
    const read = text === undefined ? undefined : catalog.read(ref);
    if (text !== undefined && read?.ok === true) {
      const options = before === undefined ? {} : { lateAfter: before.until };
      const made = await this.restorePoint(read.value, text(read.value), options);
      if (!made.ok) ports.log.warn('A restore point could not be made.', { error: made.error.message });
    }
    // Windows watch the markers: they show what was captured.
    const marker = ports.paths.marker(ref);
    if (ports.files.stat(marker) !== undefined) ports.files.touch(marker, ports.clock.now());
  }

  /** Captures the files for checkpoints that were just recorded. What goes wrong is kept with the checkpoint, and logged. */
  async take(ref: TaskRef, ids: readonly string[]): Promise<void> {
    const read = this.atlas.catalog.read(ref);
    if (!read.ok || !(await this.isEnabled(read.value))) return;
    const due = read.value.hook.checkpoints.filter(
      ({ checkpoint_id: id }) => ids.includes(id) && this.entries.read(ref, id) === undefined,
    );
    const pending = due.map((each): SnapshotEntry => ({
      ...{ checkpoint_id: each.checkpoint_id, trigger: each.trigger, description: each.description },
      ...{ created_at: each.created_at, status: 'pending' },
    }));
    if (pending.length === 0) return;
    try {
      for (const entry of pending) this.entries.write(ref, entry);
      const captured = await this.capture(read.value);
      for (const entry of pending) await this.keep(read.value, entry, captured);
      this.recordedAll(captured);
      await this.room.tidy(ref, await this.snapshotsOf(read.value));
    } catch (error) {
      this.atlas.ports.log.warn('The files of a checkpoint were not captured.', { error: messageOf(error) });
    }
  }

  /**
   * Captures the files as they are, as a restore point; `undefined` where they are those of the newest checkpoint or
   * restore point. One that is complete only `lateAfter` (ms since the epoch) says that it is possibly late.
   */
  async restorePoint(
    stored: StoredTask,
    description: string,
    options: { readonly waitMs?: number; readonly signal?: AbortSignal; readonly lateAfter?: number } = {},
  ): Promise<Outcome<SnapshotEntry | undefined>> {
    if (!(await this.isEnabled(stored))) return ok(undefined);
    const now = toTimestamp(this.atlas.ports.clock.now());
    const pending: SnapshotEntry = { ...this.pointEntry(description, now), status: 'pending' };
    this.entries.write(stored.ref, pending);
    const captured = await this.capture(stored, options);
    const newest = this.list(stored).findLast((each) => snapshotOf(each) !== undefined);
    const isKnown = captured.ok && newest !== undefined && snapshotOf(newest)?.tree === captured.value.snapshot.tree;
    if (!captured.ok || isKnown) {
      this.entries.remove(stored.ref, pending.checkpoint_id);
      this.recordedAll(captured);
      return captured.ok ? ok(undefined) : captured;
    }
    const { lateAfter = Number.POSITIVE_INFINITY } = options;
    const late = this.atlas.ports.clock.now() > lateAfter ? { possibly_late: true } : {};
    const entry: SnapshotEntry = { ...pending, status: 'taken', snapshot: captured.value.snapshot, ...late };
    this.entries.write(stored.ref, entry);
    this.recordedAll(captured);
    await this.room.tidy(stored.ref, await this.snapshotsOf(stored));
    return ok(entry);
  }

  /** What a new restore point is called. */
  pointEntry(description: string, at: string): Omit<SnapshotEntry, 'status'> {
    const id = `ckpt-${this.atlas.ports.ids.hex(4)}`;
    return { checkpoint_id: id, trigger: 'auto', description: oneLine(description, 200), created_at: at };
  }

  private recordedAll(captured: Outcome<CaptureResult>): void {
    if (captured.ok) this.room.unrecorded.delete(captured.value.snapshot.tree);
  }

  private async capture(
    stored: StoredTask,
    options: { readonly waitMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<Outcome<CaptureResult>> {
    const snapshots = await this.snapshotsOf(stored);
    if (!snapshots.ok) return snapshots;
    const captured = await snapshots.value.capture(options);
    if (captured.ok) this.room.unrecorded.add(captured.value.snapshot.tree);
    if (captured.ok && captured.value.recovered !== undefined)
      await this.recovered(snapshots.value.place.worktree, captured.value.recovered);
    if (captured.ok || captured.error.reason !== 'over_limit') return captured;
    return (await this.room.makeRoom(snapshots.value)) ? snapshots.value.capture(options) : captured;
  }

  private async keep(stored: StoredTask, entry: SnapshotEntry, captured: Outcome<CaptureResult>): Promise<void> {
    if (!captured.ok) {
      const { reason, message, hint } = captured.error;
      this.atlas.ports.log.warn('The files of a checkpoint were not captured.', { error: explain(captured.error) });
      this.entries.write(stored.ref, { ...entry, status: 'none', problem: { reason, message, hint } });
      return;
    }
    const { snapshot } = captured.value;
    const taken: SnapshotEntry = { ...entry, status: 'taken', snapshot };
    this.entries.write(stored.ref, taken);
    const changes = await this.changesOf(stored, taken);
    if (changes !== undefined) this.entries.write(stored.ref, { ...taken, changes });
  }

  /** What differs from the checkpoint before. */
  private async changesOf(stored: StoredTask, entry: SnapshotEntry): Promise<SnapshotEntry['changes']> {
    const before = checkpointBefore(this.list(stored), entry.checkpoint_id);
    const [a, b] = [before === undefined ? undefined : snapshotOf(before), entry.snapshot];
    if (before === undefined || a === undefined || a.database !== b?.database) return undefined;
    const database = this.contentsOf(a.database);
    const diff = database.ok ? await database.value.contents.diff(a.tree, b.tree) : database;
    return diff.ok ? { since: before.id, ...countsOf(diff.value.changes) } : undefined;
  }

  /** How a checkpoint's files differ from another's, or from the files as they are. */
  async diff(
    stored: StoredTask,
    from: ListedCheckpoint,
    to: ListedCheckpoint | 'now',
    options: DiffOptions = {},
  ): Promise<Outcome<SnapshotDiff>> {
    const trees = await this.treesOf(stored, from, to, options);
    if (!trees.ok) return trees;
    const [a, b] = trees.value;
    const database = this.contentsOf(a.database);
    if (!database.ok) return database;
    const { stat = false, paths = [] } = options;
    const diff = await database.value.contents.diff(a.tree, b.tree, { stat });
    if (!diff.ok || paths.length === 0) return diff;
    return ok({ ...diff.value, changes: diff.value.changes.filter(({ path }) => isWithin(path, paths)) });
  }

  /** The same line by line, as `git diff` prints it, one character a byte; at most `maxBytes`. */
  async patch(
    stored: StoredTask,
    from: ListedCheckpoint,
    to: ListedCheckpoint | 'now',
    maxBytes: number,
    options: DiffOptions = {},
  ): Promise<Outcome<{ readonly text: string; readonly isCut: boolean }>> {
    const trees = await this.treesOf(stored, from, to, options);
    if (!trees.ok) return trees;
    const [a, b] = trees.value;
    const database = this.contentsOf(a.database);
    return database.ok ? database.value.contents.patch(a.tree, b.tree, options.paths ?? [], maxBytes) : database;
  }

  private async treesOf(
    stored: StoredTask,
    from: ListedCheckpoint,
    to: ListedCheckpoint | 'now',
    options: DiffOptions,
  ): Promise<Outcome<readonly [SnapshotRecord, SnapshotRecord]>> {
    const a = recordOf(from);
    if (!a.ok) return a;
    if (to !== 'now') {
      const b = recordOf(to);
      return b.ok ? sameDatabase(a.value, b.value) : b;
    }
    const { waitMs = PATIENCE_MS, signal } = options;
    const now = await this.capture(stored, { waitMs, ...(signal === undefined ? {} : { signal }) });
    // The worktree's own cache keeps what was captured last.
    this.recordedAll(now);
    return now.ok ? sameDatabase(a.value, now.value.snapshot) : now;
  }

  /** A file as it was at a checkpoint; `undefined` where it had none at the path. At most `maxBytes` are read. */
  async read(item: ListedCheckpoint, path: TreePath, maxBytes: number): Promise<Outcome<FileContent | undefined>> {
    const record = recordOf(item);
    if (!record.ok) return record;
    const database = this.contentsOf(record.value.database);
    return database.ok ? database.value.contents.read(record.value.tree, path, maxBytes) : database;
  }

  /** The files of a checkpoint, or those below some paths. */
  async files(item: ListedCheckpoint, below: readonly TreePath[] = []): ReturnType<Snapshots['contents']['list']> {
    const record = recordOf(item);
    if (!record.ok) return record;
    const database = this.contentsOf(record.value.database);
    return database.ok ? database.value.contents.list(record.value.tree, below) : database;
  }

  /** The snapshots of a task's worktree. */
  async snapshotsOf({ task }: Pick<StoredTask, 'task'>): Promise<Outcome<Snapshots>> {
    const worktree = worktreeOf(task);
    if (worktree === undefined) return refuse('no_folder', "The task's folder isn't known.");
    const { config } = await this.atlas.configs.forTask(task);
    return this.snapshotsIn(worktree, config.snapshots);
  }

  /** The snapshots of a worktree; the same object as long as worktree and settings are the same. */
  private async snapshotsIn(
    worktree: string,
    settings: { readonly maxFileSize: number; readonly maxSize: number },
  ): Promise<Outcome<Snapshots>> {
    const { ports } = this.atlas;
    const opened = await openSnapshots({ ...ports, git: systemGit }, { root: ports.paths.root, worktree, settings });
    if (!opened.ok) return opened;
    const { place } = opened.value;
    const key = [place.home, place.excludesFile ?? '', settings.maxFileSize, settings.maxSize].join('\n');
    const known = this.opened.get(place.worktree);
    if (known?.key === key) return ok(known.snapshots);
    this.opened.set(place.worktree, { key, snapshots: opened.value });
    return opened;
  }

  /** The databases of the store, one for each repository whose files were captured. */
  databases(): StoredSnapshots[] {
    const { ports } = this.atlas;
    return listStored(ports, ports.paths.root).flatMap((name) => {
      const opened = this.contentsOf(name);
      return opened.ok ? [opened.value] : [];
    });
  }

  private contentsOf(database: string): Outcome<StoredSnapshots> {
    const { ports } = this.atlas;
    return openStored({ ...ports, git: systemGit }, ports.paths.root, database);
  }
}

function sameDatabase(a: SnapshotRecord, b: SnapshotRecord): Outcome<readonly [SnapshotRecord, SnapshotRecord]> {
  if (a.database === b.database) return ok([a, b]);
  return refuse('lost', "These files are of different repositories, so they can't be compared.", {
    hint: 'Show single files instead: atlas checkpoint show <id> <path>',
  });
}

function recordOf(item: ListedCheckpoint): Outcome<SnapshotRecord> {
  const record = snapshotOf(item);
  if (record !== undefined) return ok(record);
  const { message, hint } = whyNoFiles(item);
  return refuse('lost', `Checkpoint ${item.id} has no files. ${message}`, hint === undefined ? {} : { hint });
}
