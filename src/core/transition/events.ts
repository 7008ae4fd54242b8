import type { Capture, GitSource } from '../checkpoint/checkpoint';
import type { TaskConfig } from '../config/config';
import type { CheckpointTrigger, TaskRecord, RecoveryContext, ValidationReceipt } from '../task/taskRecord';
import type { ChainLink } from '../receipt/receipt';
import type { Task } from '../task/task';

/** The step and attempt that a caller believes to drive; a mismatch is refused. */
export interface Expected {
  readonly step?: string;
  readonly attempt?: number;
}

/** Who causes an event: a person, or anything else, which may do no more than an agent. */
export type Caller = 'human' | 'agent';

/**
 * What can be sent to a task. `expect` guards against a caller that woke up late. `by` is an agent unless it says that it is a human:
 * a way in that forgets to say so is refused a human's decisions.
 */
export type TaskInput = { readonly expect?: Expected; readonly by?: Caller } & (
  | { readonly type: 'init' }
  | { readonly type: 'setup_complete' }
  | {
      readonly type: 'start_step';
      readonly workingOn?: string;
      readonly prompt?: string;
      /** Files that were uncommitted before the step, so that they aren't taken for its work. */
      readonly dirtyBefore?: readonly string[];
    }
  | {
      readonly type: 'note';
      readonly workingOn?: string;
      readonly prompt?: string;
      readonly lastOutput?: string;
      readonly filesTouched?: readonly string[];
      readonly stillWorking?: boolean;
    }
  | {
      readonly type: 'checkpoint';
      readonly trigger: CheckpointTrigger;
      readonly description: string;
      /** What is done after it; without it, a manual checkpoint ends what was being worked on. */
      readonly next?: string;
      readonly source?: GitSource;
      /** When it happened, if that was noticed later; it belongs to the step that ran then. */
      readonly at?: string;
    }
  | { readonly type: 'step_output'; readonly output?: string; readonly summary?: string }
  /** `nothingToDo` is why a git step ends without a result in git. */
  | { readonly type: 'step_complete'; readonly summary?: string; readonly nothingToDo?: string }
  | {
      readonly type: 'validation_command';
      readonly command: string;
      readonly log: string;
      readonly receiptId: string;
      /** Which of the task's keys signs it. */
      readonly index: number;
      /** Its place in the task's chain of receipts, and the one before it. */
      readonly link: ChainLink;
    }
  | {
      readonly type: 'receipt';
      readonly receipt: ValidationReceipt;
      /** SHA-256 (hex) of the envelope that its statement lies in. */
      readonly envelopeSha256: string;
    }
  | { readonly type: 'validate_pass'; readonly summary?: string }
  | { readonly type: 'validate_fail'; readonly reason: string; readonly receiptId?: string }
  | {
      readonly type: 'human_required';
      readonly kind: 'review' | 'question' | 'step_failed' | 'interrupted';
      readonly message?: string;
    }
  /** `reason` is why the step is accepted although a check failed. */
  | { readonly type: 'human_approve'; readonly reason?: string }
  | { readonly type: 'human_reject'; readonly reason?: string }
  /** `answer` is what the human said to a question, or about an interruption. */
  | { readonly type: 'human_resume'; readonly answer?: string }
  | { readonly type: 'crash_detected'; readonly recovery: RecoveryContext }
  | { readonly type: 'retry_step' }
  | { readonly type: 'retry_from_checkpoint' }
  | { readonly type: 'retry_validation' }
  | { readonly type: 'skip_step' }
  | { readonly type: 'manual_required'; readonly message?: string }
  | { readonly type: 'finish' }
  /** A session begins, or takes the step over from another that is bound to it; both as their hosts name them. */
  | { readonly type: 'observe'; readonly session?: string; readonly tookOverFrom?: string }
  | { readonly type: 'acknowledge' }
  /** Files of the worktree are again what they were at a checkpoint. */
  | ({ readonly type: 'restore' } & RestoreOutcome)
  | { readonly type: 'fail'; readonly reason?: string }
  | { readonly type: 'abandon'; readonly reason?: string }
);

/** What became of a restore of files. */
export interface RestoreOutcome {
  /** The checkpoint whose files were restored. */
  readonly checkpoint: string;
  /** The restore point that undoes it. */
  readonly safety: string;
  readonly written: number;
  readonly removed: number;
  /** Paths that were left as they are, because something was in the way or they had changed meanwhile. */
  readonly blocked: number;
  /** Whether it undid the restore before it. */
  readonly isUndo: boolean;
}

/** What a transition needs from outside: time, ids, settings and what was captured. */
export interface TransitionContext {
  readonly now: string;
  readonly task: Task;
  readonly config: TaskConfig;
  /** Two fresh ids `ckpt-<8 hex>`; a transition makes at most two checkpoints. */
  readonly checkpointIds: readonly [string, string];
  readonly capture?: Capture;
  /** Ids of the receipts that were verified and cover the present tree. */
  readonly provenReceipts?: ReadonlySet<string>;
}

/** A hook after an event; `changed` is false where the event was a repetition that changes nothing. */
export interface Transitioned {
  readonly hook: TaskRecord;
  readonly changed: boolean;
}

/** The input of one type of event. */
export type InputOf<T extends TaskInput['type']> = Extract<TaskInput, { readonly type: T }>;
