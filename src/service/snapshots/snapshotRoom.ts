import { messageOf } from '../../core/shared/errors';
import { toMs } from '../../core/shared/time';
import { type KeptSnapshot, removalOrder } from '../../core/snapshot/retention';
import { MAX_RESTORE_POINTS, type NoFiles, type SnapshotEntry } from '../../core/snapshot/snapshotEntry';
import { isTerminal } from '../../core/task/taskRecord';
import type { TaskRef } from '../../core/task/taskRef';
import type { Snapshots } from '../../snapshots/snapshots';
import type { Outcome } from '../../snapshots/storage/snapshotPorts';
import type { SnapshotEntries } from '../../store/snapshots/snapshotEntries';
import { Slices } from '../../system/slices';
import type { FilesOf } from './checkpointFiles';

/** How long what undoes a restore is kept, and what was restored, in ms. */
const RESTORE_KEPT_MS = 14 * 24 * 3_600_000;
/** So much of what may go goes at once: rewriting a database takes as long for one snapshot as for many. */
const SHARE = 0.25;
const ROUNDS = 6;
const SLICE_MS = 15;

/** A snapshot with where its entry is kept. */
export interface HeldSnapshot extends KeptSnapshot {
  readonly ref: TaskRef;
  readonly entry: SnapshotEntry;
}

const FOR_ROOM: NoFiles = {
  reason: 'room',
  message: 'Its files were removed to stay within snapshots.max_size.',
  hint: 'Raise snapshots.max_size in config.yaml to keep more.',
};

/** Keeps snapshots within their limits: those of dropped checkpoints go, and the oldest when room is needed. */
export class SnapshotRoom {
  /** Snapshots that this process made, and whose entries are not written yet. */
  readonly unrecorded = new Set<string>();

  constructor(
    private readonly atlas: FilesOf,
    private readonly entries: SnapshotEntries,
  ) {}

  /** After a capture: drops what its task no longer keeps, packs, and frees the database once it is over its limit. */
  async tidy(ref: TaskRef, snapshots: Outcome<Snapshots>): Promise<void> {
    this.prune(ref);
    if (!snapshots.ok) return;
    const packed = await snapshots.value.upkeep.pack();
    if (!packed.ok) this.warn('Snapshots could not be packed.', packed.error);
    if (snapshots.value.upkeep.sizes().bytes > snapshots.value.maxSize) await this.makeRoom(snapshots.value);
  }

  /** Removes the entries of checkpoints that the task no longer has, and of the oldest restore points beyond their quota. */
  prune(ref: TaskRef): void {
    const read = this.atlas.catalog.read(ref);
    if (!read.ok) return;
    const kept = new Set(read.value.hook.checkpoints.map(({ checkpoint_id: id }) => id));
    const entries = this.entries.list(ref);
    const held = this.heldByRestores(entries);
    const points = entries
      .filter(({ trigger }) => trigger === 'auto')
      .sort((a, b) => toMs(a.created_at) - toMs(b.created_at));
    const over = points.slice(0, Math.max(0, points.length - MAX_RESTORE_POINTS));
    const gone = entries.filter(
      (entry) =>
        (entry.trigger === 'auto' ? over.includes(entry) : !kept.has(entry.checkpoint_id)) &&
        entry.status !== 'pending' &&
        !held.has(entry.checkpoint_id),
    );
    for (const { checkpoint_id: id } of gone) this.entries.remove(ref, id);
  }

  /** The restore points that undo the last restores, and what was restored. */
  private heldByRestores(entries: readonly SnapshotEntry[]): ReadonlySet<string> {
    const since = this.atlas.ports.clock.now() - RESTORE_KEPT_MS;
    const last = entries
      .filter((entry) => entry.safety_for !== undefined && toMs(entry.created_at) > since)
      .sort((a, b) => toMs(b.created_at) - toMs(a.created_at))[0];
    return new Set(last === undefined ? [] : [last.checkpoint_id, last.safety_for ?? '']);
  }

  /**
   * Removes the oldest snapshots of a repository until it takes no more than it may, and what nothing needs; says whether
   * that made any room.
   */
  async makeRoom(snapshots: Snapshots): Promise<boolean> {
    const { upkeep, maxSize, database } = snapshots;
    const before = upkeep.sizes().bytes;
    for (let round = 0; round < ROUNDS; round += 1) {
      const freed = await upkeep.free(async () => this.liveTrees(database));
      if (!freed.ok) {
        this.warn('Snapshots could not be freed.', freed.error);
        break;
      }
      // A database that is just within its limit would be over it again with the next capture.
      if (freed.value.after.bytes <= maxSize * (1 - SHARE)) break;
      const order = removalOrder(await this.snapshotsIn(database));
      if (order.length === 0) break;
      for (const { ref, entry } of order.slice(0, Math.ceil(order.length * SHARE))) this.removeFor(ref, entry);
    }
    return upkeep.sizes().bytes < before;
  }

  /** What must stay in a database; `undefined` while another process records a snapshot. */
  async liveTrees(database: string): Promise<string[] | undefined> {
    const held = await this.snapshotsIn(database);
    const { workspaces } = this.atlas;
    const isBusy = workspaces
      .names()
      .some((workspace) => workspaces.taskIds(workspace).some((id) => this.entries.isBusy({ workspace, id })));
    return isBusy ? undefined : [...held.map(({ tree }) => tree), ...this.unrecorded];
  }

  private removeFor(ref: TaskRef, entry: SnapshotEntry): void {
    const { snapshot: _snapshot, changes: _changes, ...rest } = entry;
    if (entry.trigger === 'auto') this.entries.remove(ref, entry.checkpoint_id);
    else this.entries.write(ref, { ...rest, status: 'none', problem: FOR_ROOM });
  }

  /** All snapshots in a database, of every task in the store. */
  async snapshotsIn(database: string): Promise<HeldSnapshot[]> {
    return (await this.allSnapshots()).filter(({ entry }) => entry.snapshot?.database === database);
  }

  /** All snapshots of every task in the store. */
  async allSnapshots(): Promise<HeldSnapshot[]> {
    const { workspaces, catalog } = this.atlas;
    const slices = new Slices(SLICE_MS);
    const found: HeldSnapshot[] = [];
    for (const workspace of workspaces.names()) {
      for (const id of workspaces.taskIds(workspace)) {
        const ref = { workspace, id };
        const taken = this.entries.list(ref).filter(({ snapshot }) => snapshot !== undefined);
        await slices.turn();
        if (taken.length === 0) continue;
        const read = catalog.read(ref);
        const newest = taken.reduce((a, b) => (toMs(a.created_at) > toMs(b.created_at) ? a : b));
        // Of a task that can't be read just now nothing is known to be over.
        const isOpen = !read.ok || !isTerminal(read.value.hook.state);
        const held = this.heldByRestores(taken);
        for (const entry of taken) {
          found.push({
            ...{ ref, entry, tree: entry.snapshot?.tree ?? '', at: toMs(entry.created_at) },
            automatic: entry.trigger === 'auto',
            held: (isOpen && entry === newest) || held.has(entry.checkpoint_id),
          });
        }
      }
    }
    return found;
  }

  private warn(what: string, error: unknown): void {
    this.atlas.ports.log.warn(what, { error: messageOf(error) });
  }
}
