import { eventsOf } from '../../core/history/historyEvent';
import { type Result, messageOf, ok } from '../../core/shared/errors';
import { toTimestamp } from '../../core/shared/time';
import { refuse } from '../../core/snapshot/problem';
import { blockedPaths, changingPaths } from '../../core/snapshot/restorePlan';
import { type ListedCheckpoint, type SnapshotEntry, snapshotOf, whyNoFiles } from '../../core/snapshot/snapshotEntry';
import type { TreePath } from '../../core/snapshot/treePath';
import { isInFlight } from '../../core/task/taskRecord';
import type { StoredTask, Updated } from '../../core/task/storedTask';
import type { TaskRef } from '../../core/task/taskRef';
import type { RestoreOutcome } from '../../core/transition/events';
import type { RestorePreview } from '../../snapshots/restore/preview';
import type { RecoveredRestore } from '../../snapshots/restore/restore';
import type { RestoreResult } from '../../snapshots/snapshots';
import type { Outcome } from '../../snapshots/storage/snapshotPorts';
import type { TaskStore } from '../../store/task/taskStore';
import { filesInHand } from '../sessions/filesInHand';
import { CheckpointFiles, type FilesOf } from './checkpointFiles';

/** What restoring a checkpoint's files would do. */
export interface PreviewedRestore {
  readonly item: ListedCheckpoint;
  readonly preview: RestorePreview;
  /** Whether the restore undoes the one before it. */
  readonly isUndo: boolean;
  /** The step that somebody works on, whose files would change under their hands. */
  readonly runningStep?: string;
  /** Those of the paths that would change that an agent's tool is at work on. */
  readonly inHand: readonly TreePath[];
}

/** Files that were restored. */
export interface Restored extends RestoreResult {
  /** The restore point that undoes it. */
  readonly undoneBy: SnapshotEntry;
  /** The task after the restore is in its history; why it isn't, where that failed. */
  readonly task: Result<Updated>;
}

/** Restores the files of checkpoints. A human's decision: whoever calls this has asked one. */
export class FileRestores {
  readonly files: CheckpointFiles;

  constructor(
    private readonly atlas: FilesOf,
    private readonly store: () => Promise<Pick<TaskStore, 'send'>>,
  ) {
    this.files = new CheckpointFiles(atlas, async (worktree, restore) => this.tellRecovered(worktree, restore));
  }

  /** What restoring a checkpoint would do, path by path; changes nothing. */
  async preview(
    stored: StoredTask,
    item: ListedCheckpoint,
    paths: readonly TreePath[] = [],
    isUndo = false,
  ): Promise<Outcome<PreviewedRestore>> {
    const snapshot = snapshotOf(item);
    if (snapshot === undefined) {
      const { message, hint } = whyNoFiles(item);
      return refuse('lost', `Checkpoint ${item.id} has no files. ${message}`, hint === undefined ? {} : { hint });
    }
    const snapshots = await this.files.snapshotsOf(stored);
    if (!snapshots.ok) return snapshots;
    if (snapshots.value.database !== snapshot.database)
      return refuse('lost', `Checkpoint ${item.id} is of another repository than the task's folder is now.`, {
        hint: 'Show single files of it instead: atlas checkpoint show',
      });
    const recovered = await this.recoverIn(stored);
    if (!recovered.ok) return recovered;
    const preview = await snapshots.value.preview({ tree: snapshot.tree, head: snapshot.head, chosen: paths });
    if (!preview.ok) return preview;
    const { state, current_step: step } = stored.hook;
    const running = isInFlight(state) && step !== undefined ? { runningStep: step.step_name } : {};
    const held = filesInHand(this.atlas.ports, snapshots.value.place.worktree);
    const inHand = changingPaths(preview.value.paths)
      .map(({ path }) => path)
      .filter((path) => held.has(path));
    return ok({ item, preview: preview.value, isUndo, ...running, inHand });
  }

  /** What undoing the last restore of a task would do; fails with `nothing_to_undo` where there was none. */
  async previewUndo(stored: StoredTask): Promise<Outcome<PreviewedRestore>> {
    const item = this.undoOf(stored);
    if (item === undefined)
      return refuse('nothing_to_undo', 'No files of this task were restored lately, so there is nothing to undo.');
    return this.preview(stored, item, [], true);
  }

  /** The restore point that undoes the last restore of a task, as long as it is kept. */
  undoOf(stored: Pick<StoredTask, 'ref' | 'hook'>): ListedCheckpoint | undefined {
    const safety = eventsOf(stored.hook.history, 'restore').at(-1)?.details.safety_id;
    if (safety === undefined) return undefined;
    return this.files.list(stored).find((each) => each.id === safety && snapshotOf(each) !== undefined);
  }

  /**
   * Restores what a preview shows, and records it in the task's history. Fails with `changed` where files are no longer
   * what they were for the preview. HEAD, branch and index stay.
   */
  async restore(stored: StoredTask, { item, preview, isUndo }: PreviewedRestore): Promise<Outcome<Restored>> {
    const { ref } = stored;
    const snapshots = await this.files.snapshotsOf(stored);
    if (!snapshots.ok) return snapshots;
    const at = toTimestamp(this.atlas.ports.clock.now());
    const what = isUndo ? 'Before undoing the last restore' : `Before restoring ${item.id}: ${item.description}`;
    const base = { ...this.files.pointEntry(what, at), safety_for: item.id };
    let undoneBy: SnapshotEntry = { ...base, status: 'pending' };
    const restored = await snapshots.value.restore(preview, {
      recordSafety: async (snapshot) => {
        undoneBy = { ...base, status: 'taken', snapshot };
        this.files.entries.write(ref, undoneBy);
        return Promise.resolve(ok(undefined));
      },
    });
    if (!restored.ok) {
      // One that stopped half-way is finished later: what undoes it stays.
      if (undoneBy.status === 'taken' && !snapshots.value.hasUnfinished())
        this.files.entries.remove(ref, base.checkpoint_id);
      return restored;
    }
    const { written, removed, skipped } = restored.value;
    const blocked = blockedPaths(preview.paths).length + skipped.length;
    const outcome = { checkpoint: item.id, safety: base.checkpoint_id, written, removed, blocked, isUndo };
    const task = await this.record(ref, outcome);
    this.files.room.prune(ref);
    return ok({ ...restored.value, undoneBy, task });
  }

  private async record(ref: TaskRef, outcome: RestoreOutcome): Promise<Result<Updated>> {
    const { config } = await this.atlas.configs.forWorktree(undefined);
    const sent = await (await this.store()).send(ref, { type: 'restore', by: 'human', ...outcome }, { config });
    if (!sent.ok) this.atlas.ports.log.warn('A restore is not in the history.', { error: sent.error.message });
    return sent;
  }

  /** Finishes or undoes a restore in a task's worktree whose process died; says which, where there was one. */
  async recoverIn(stored: StoredTask): Promise<Outcome<RecoveredRestore | undefined>> {
    const snapshots = await this.files.snapshotsOf(stored);
    if (!snapshots.ok) return snapshots;
    if (!snapshots.value.hasUnfinished()) return ok(undefined);
    const recovered = await snapshots.value.recover();
    if (recovered.ok && recovered.value !== undefined)
      await this.tellRecovered(snapshots.value.place.worktree, recovered.value);
    return recovered;
  }

  /** Puts a restore that another process began and this one finished into the history of its task. */
  private async tellRecovered(worktree: string, { outcome, safety, skipped }: RecoveredRestore): Promise<void> {
    try {
      const found = this.ownerOf(worktree, safety);
      this.atlas.ports.log.warn(
        outcome === 'finished'
          ? 'A restore of files whose process had ended was finished.'
          : 'A restore of files whose process had ended before it changed anything was undone.',
        { worktree },
      );
      if (found === undefined) return;
      const { ref, entry } = found;
      if (outcome === 'undone') {
        this.files.entries.remove(ref, entry.checkpoint_id);
        return;
      }
      const target = entry.safety_for ?? entry.checkpoint_id;
      const base = { checkpoint: target, safety: entry.checkpoint_id, isUndo: false };
      // How much of it the dead process had done can't be told from what this one did.
      await this.record(ref, { ...base, written: 0, removed: 0, blocked: skipped.length });
    } catch (error) {
      this.atlas.ports.log.warn('A restore that was finished is not in the history.', { error: messageOf(error) });
    }
  }

  private ownerOf(worktree: string, tree: string): { ref: TaskRef; entry: SnapshotEntry } | undefined {
    const { workspaces } = this.atlas;
    for (const workspace of workspaces.names()) {
      for (const id of workspaces.taskIds(workspace)) {
        const ref = { workspace, id };
        const entry = this.files.entries
          .list(ref)
          .find(({ safety_for: target, snapshot }) => target !== undefined && snapshot?.tree === tree);
        if (entry !== undefined) return { ref, entry };
      }
    }
    this.atlas.ports.log.warn('No task has the restore point of a restore that was finished.', { worktree });
    return undefined;
  }
}
