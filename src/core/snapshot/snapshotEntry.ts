import type { CheckpointTrigger, StepCheckpoint } from '../task/taskRecord';
import type { SnapshotReason } from './problem';
import type { SnapshotRecord } from './snapshotRecord';

/** What caused a checkpoint, or `auto` for a restore point: files that were captured without being asked for. */
export type SnapshotTrigger = CheckpointTrigger | 'auto';

/** How many files differ from those of the checkpoint before. */
export interface FileCounts {
  readonly added: number;
  readonly modified: number;
  readonly removed: number;
}

/** Why a checkpoint has no files, or no longer has them. */
export interface NoFiles {
  /** A reason of the capture, that its process died, that they were removed for room, or that the database lost them. */
  readonly reason: SnapshotReason | 'died' | 'room' | 'quota' | 'lost';
  readonly message: string;
  readonly hint?: string | undefined;
}

/** What is kept of a checkpoint's files: one for each checkpoint of a task that was captured, and for each restore point. */
export interface SnapshotEntry {
  readonly checkpoint_id: string;
  readonly trigger: SnapshotTrigger;
  readonly description: string;
  readonly created_at: string;
  /** `pending` while they are captured, `none` where they can't be had. */
  readonly status: 'pending' | 'taken' | 'none';
  readonly snapshot?: SnapshotRecord | undefined;
  /** What differs from the checkpoint before that has files; `since` is its id. */
  readonly changes?: (FileCounts & { readonly since: string }) | undefined;
  readonly problem?: NoFiles | undefined;
  /** Of a restore point that undoes a restore: the checkpoint that was restored. */
  readonly safety_for?: string | undefined;
  /** Of a restore point before a command: whether the command may have run before the capture was complete. */
  readonly possibly_late?: boolean | undefined;
}

/** A checkpoint or restore point as it is listed. */
export interface ListedCheckpoint {
  readonly id: string;
  readonly trigger: SnapshotTrigger;
  readonly description: string;
  readonly createdAt: string;
  /** Absent for a restore point. */
  readonly checkpoint?: StepCheckpoint;
  /** Absent where nothing was captured. */
  readonly entry?: SnapshotEntry;
}

/** The most restore points that a task keeps. */
export const MAX_RESTORE_POINTS = 50;

const ID = /^ckpt-[0-9a-zA-Z]{1,40}$/u;

/** Whether files can be kept under this id: it becomes a file's name. */
export function isCheckpointId(id: string): boolean {
  return ID.test(id);
}

/** The checkpoints of a task with what is kept of their files, and the restore points among them, oldest first. */
export function listedCheckpoints(
  checkpoints: readonly StepCheckpoint[],
  entries: readonly SnapshotEntry[],
): ListedCheckpoint[] {
  const byId = new Map(entries.map((entry) => [entry.checkpoint_id, entry]));
  const own = checkpoints.map((checkpoint): ListedCheckpoint => {
    const entry = byId.get(checkpoint.checkpoint_id);
    const { checkpoint_id: id, trigger, description, created_at: createdAt } = checkpoint;
    return { id, trigger, description, createdAt, checkpoint, ...(entry === undefined ? {} : { entry }) };
  });
  const points = entries
    .filter(({ trigger }) => trigger === 'auto')
    .map((entry): ListedCheckpoint => ({
      ...{ id: entry.checkpoint_id, trigger: entry.trigger, description: entry.description },
      ...{ createdAt: entry.created_at, entry },
    }));
  return [...own, ...points].sort((a, b) => (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : 0));
}

/** The snapshot that a listed checkpoint has. */
export function snapshotOf({ entry }: ListedCheckpoint): SnapshotRecord | undefined {
  return entry?.status === 'taken' ? entry.snapshot : undefined;
}

/** The newest checkpoint with files before another one; restore points are passed over unless they are asked for. */
export function checkpointBefore(
  listed: readonly ListedCheckpoint[],
  id: string,
  points: 'with restore points' | 'checkpoints only' = 'checkpoints only',
): ListedCheckpoint | undefined {
  const at = listed.findIndex((each) => each.id === id);
  return listed
    .slice(0, Math.max(0, at))
    .findLast((each) => snapshotOf(each) !== undefined && (points !== 'checkpoints only' || each.trigger !== 'auto'));
}

/** Why nothing can be shown or restored of a checkpoint, in a sentence. */
export function whyNoFiles({ entry }: ListedCheckpoint): NoFiles {
  if (entry?.problem !== undefined) return entry.problem;
  if (entry?.status === 'pending')
    return { reason: 'locked', message: 'Its files are still being captured.', hint: 'Try again in a moment.' };
  return { reason: 'died', message: 'Its files were not captured.', hint: 'Choose another checkpoint.' };
}
