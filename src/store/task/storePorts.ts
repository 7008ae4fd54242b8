import type { TaskRecord } from '../../core/task/taskRecord';
import type { Clock, FileStat, FileSystem, Ids, Logger, Processes } from '../../core/shared/ports';
import type { StoredTask } from '../../core/task/storedTask';
import type { TaskEventType } from '../../core/transition/states';
import type { Task } from '../../core/task/task';
import type { JournalTail } from './journal';
import type { StorePaths } from '../paths';
import type { TaskRef } from '../../core/task/taskRef';

/** Makes the bytes of HOOK.md; `seq` is that of the journal's last line. */
export type MarkdownRenderer = (ref: TaskRef, hook: TaskRecord, task: Task, seq: number) => string;

/** What a change of a task was. */
export interface RecordedChange {
  /** What happened to the task, or what its agent's host told of. */
  readonly event: TaskEventType | 'session_started' | 'turn_started' | 'turn_ended';
  /** Ids of the checkpoints that it made. */
  readonly checkpoints: readonly string[];
  /** Whether the settings let their files be captured. */
  readonly mayCapture: boolean;
  /** The agent's session that begins to work here, as its host names it. */
  readonly session?: string;
}

/** What the store is made of. */
export interface StorePorts {
  readonly paths: StorePaths;
  readonly files: FileSystem;
  readonly processes: Processes;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly render: MarkdownRenderer;
  /** Makes ready what `render` needs of a task, as this process left it if it knows; called before its lock is taken. */
  readonly prepare?: (ref: TaskRef, left: StoredTask | undefined) => Promise<void>;
  /** Told under the task's lock of each change that was recorded, so that it must return at once and never throw. */
  readonly recorded?: (ref: TaskRef, what: RecordedChange) => void;
}

/** A task opened for a change, under its lock. */
export interface Opened {
  readonly hook: TaskRecord;
  /** SHA-256 of hook.json's bytes. */
  readonly bytesSha: string;
  readonly stat: FileStat;
  readonly tail: JournalTail;
  readonly task: Task;
  /** What stands in task.json, where that is known. */
  readonly taskText: string | undefined;
}
