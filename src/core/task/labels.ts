import { oneLine } from '../shared/text';
import { roughAge, roughDuration, toMs } from '../shared/time';
import type { CrashCause, Diagnosis } from '../recovery/liveness';
import { recoveryDetails } from '../recovery/recoveryDetails';
import type { TaskRecord, TaskState, RecoveryAction } from './taskRecord';
import type { WaitKind } from './waiting';

/** What people call a state, on every surface. */
export const STATE_LABELS = {
  initializing: 'Setting up',
  step_pending: 'Ready',
  step_running: 'Running',
  step_validating: 'Validating',
  awaiting_human: 'Waiting for you',
  recovering: 'Interrupted',
  completed: 'Completed',
  failed: 'Failed',
  abandoned: 'Abandoned',
} as const satisfies Record<TaskState, string>;

/** What people call a recovery action. */
export const ACTION_LABELS = {
  retry_step: 'Restart the step',
  retry_from_checkpoint: 'Continue from the checkpoint',
  retry_validation: 'Validate again',
  skip_step: 'Mark the step done',
  manual: 'Decide yourself',
  await_human: 'Wait for you',
} as const satisfies Record<RecoveryAction, string>;

/** Why a task waits for a person. */
export const WAIT_LABELS = {
  review: 'review',
  question: 'question',
  step_failed: 'failed step',
  interrupted: 'interruption',
  validation_failed: 'failed check',
  attempts_spent: 'all attempts used',
} as const satisfies Record<WaitKind, string>;

/** What interrupted a task. */
export const CAUSE_LABELS = {
  agent_killed: 'agent killed',
  agent_failed: 'agent failed',
  validation_died: 'validation killed',
  window_died: 'window crashed',
  window_closed: 'window closed',
  machine_slept: 'machine slept',
  machine_rebooted: 'machine restarted',
  silence: 'no activity',
  requested: 'recovery requested',
} as const satisfies Record<CrashCause, string>;

/** What people call a recovery action that a file names; one that this version doesn't know is shown as written. */
export function actionLabel(action: string): string {
  return Object.hasOwn(ACTION_LABELS, action) ? ACTION_LABELS[action as RecoveryAction] : oneLine(action, 64);
}

/** A plan's reason for people, to whom the id of a checkpoint says nothing. */
export function reasonLabel(reason: string): string {
  return reason.replace(/^Checkpoint ckpt-\w+/u, 'The last checkpoint');
}

/** How a task is doing. `now` is in ms. */
export function healthLabel(hook: TaskRecord, diagnosis: Diagnosis, now: number): string {
  switch (diagnosis.kind) {
    case 'over':
      return STATE_LABELS[hook.state];
    case 'waiting':
      return diagnosis.for === 'human' ? STATE_LABELS.awaiting_human : STATE_LABELS.step_pending;
    case 'recovering':
      return interrupted(hook, now);
    case 'working':
      return 'Working';
    case 'recent':
      return diagnosis.clockSuspect ? 'Unknown: check the clock' : 'No running process, but changed recently';
    case 'quiet':
      return `Quiet for ${roughDuration(now - diagnosis.since)}`;
    case 'agent_left':
      return `Agent exited (exit code ${diagnosis.exitCode})`;
    case 'crashed':
      return `Interrupted ${roughAge(diagnosis.lastSign, now)} (${CAUSE_LABELS[diagnosis.cause]})`;
  }
}

/** As for a crash that is just being found, from what was recorded of it. */
function interrupted(hook: TaskRecord, now: number): string {
  const { cause, lastSignOfLife } = recoveryDetails(hook.recovery);
  const age = lastSignOfLife === undefined ? '' : ` ${roughAge(toMs(lastSignOfLife), now)}`;
  const known = cause !== undefined && Object.hasOwn(CAUSE_LABELS, cause);
  return `${STATE_LABELS.recovering}${age}${known ? ` (${CAUSE_LABELS[cause as CrashCause]})` : ''}`;
}

/** What a waiting task waits for, to follow "waiting for". */
export const WAITS_FOR = {
  review: 'a review',
  validation_failed: 'a decision about a failed check',
  step_failed: 'a decision about a failed step',
  attempts_spent: 'a decision, because all attempts are used up',
  question: 'an answer',
  interrupted: 'a decision about an interruption',
} as const satisfies Record<WaitKind, string>;

/** What a task is doing, as the second half of a sentence about it. */
export function situation(hook: TaskRecord, kind: WaitKind): string {
  const step = hook.current_step === undefined ? 'the next step' : `step "${oneLine(hook.current_step.step_name, 64)}"`;
  switch (hook.state) {
    case 'initializing':
      return 'the task is being set up';
    case 'step_pending':
      return `${step} hasn't started`;
    case 'step_running':
      return `${step} is running`;
    case 'step_validating':
      return `${step} is being validated`;
    case 'awaiting_human':
      return `the task is waiting for ${WAITS_FOR[kind]}`;
    case 'recovering':
      return 'the task was interrupted';
    case 'completed':
      return 'the task has completed';
    case 'failed':
      return 'the task has failed';
    case 'abandoned':
      return 'the task was abandoned';
  }
}

/** Words that are written in capitals. */
const CAPITALS = new Set(['api', 'ci', 'pr', 'ui']);

/** A step's name in words, for people: `git_commit` is "git commit". Files and the command keep the name as it is. */
export function stepLabel(name: string): string {
  return oneLine(name, 64)
    .split(/[_-]+/u)
    .filter((word) => word !== '')
    .map((word) => (CAPITALS.has(word) ? word.toUpperCase() : word))
    .join(' ');
}
