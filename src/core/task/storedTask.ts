import type { Task } from './task';
import type { TaskRecord } from './taskRecord';
import type { TaskRef } from './taskRef';

/** Something that was found and fixed, for people. */
export interface Finding {
  readonly kind: 'torn_line' | 'replayed' | 'rebuilt' | 'edited' | 'rolled_back' | 'adopted' | 'task_aligned';
  readonly message: string;
}

/** A task as it is in the store. */
export interface StoredTask {
  readonly ref: TaskRef;
  readonly hook: TaskRecord;
  readonly task: Task;
  readonly seq: number;
}

/** A task after a change; `changed` is false where the event was a repetition. */
export interface Updated extends StoredTask {
  readonly changed: boolean;
  readonly findings: readonly Finding[];
}
