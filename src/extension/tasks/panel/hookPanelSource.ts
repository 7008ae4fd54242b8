import type { TaskRef } from '../../../core/task/taskRef';
import type { FileDrift } from '../../../core/checkpoint/checkpoint';
import type { Result } from '../../../core/shared/errors';
import type { TaskRecord, RecoveryAction } from '../../../core/task/taskRecord';
import type { Diagnosis } from '../../../core/recovery/liveness';
import type { Task } from '../../../core/task/task';
import type { TaskAction } from '../../../core/task/taskActions';

/** How hook.json stands to its journal, as found on reading; `sound` when they agree. */
export type JournalStanding = 'sound' | 'edited' | 'rolled_back' | 'behind' | 'read_only';

/** What the panel is made from: as stored, nothing translated. */
export interface HookPanelData {
  readonly hook: TaskRecord;
  readonly task: Task;
  /** The text of HOOK.md. */
  readonly markdown: string;
  /** Where HOOK.md is (absolute). */
  readonly hookPath: string;
  /** Files compared with the last checkpoint's snapshots; undefined where there is nothing to compare with. */
  readonly drift?: readonly FileDrift[] | undefined;
  readonly journal?: JournalStanding | undefined;
  readonly diagnosis?: Diagnosis | undefined;
  /** In an untrusted folder nothing can be done about the task. */
  readonly untrusted?: boolean;
}

/** Something that is disposed of, as in the editor's API. */
export interface Disposal {
  dispose(): unknown;
}

/** Where the panel has its data from. */
export interface HookPanelSource {
  load(ref: TaskRef): Promise<Result<HookPanelData>>;
  /** Tells that a task, or without a name any task, may have changed. */
  onDidChange(listener: (ref: TaskRef | undefined) => void): Disposal;
}

/** What the panel lets a person do. A cancelled dialog is a success; only what failed is an error. */
export interface HookPanelCommands {
  run(ref: TaskRef, action: TaskAction, recovery: RecoveryAction | undefined): Promise<Result<void>>;
  /** Opens a file of the task's worktree; the path is one that `load` named. */
  openFile(ref: TaskRef, path: string): Promise<Result<void>>;
  showCheckpoint(ref: TaskRef, checkpointId: string): Promise<Result<void>>;
}
