import { situation } from '../task/labels';
import type { TaskEventType } from './states';
import { type TaskRecord, type TerminalState, isTerminal } from '../task/taskRecord';
import { waitKind } from '../task/waiting';

/** What can't be done, for each event; what the task is doing instead follows. */
const REFUSED = {
  init: 'The task already exists',
  setup_complete: 'There is no setup to complete',
  start_step: 'No step can be started',
  note: 'No progress can be recorded',
  checkpoint: 'No checkpoint can be recorded',
  step_output: 'No output can be submitted',
  step_complete: 'No step can be completed',
  validation_command: 'No check can be run',
  receipt: 'No receipt can be recorded',
  validate_pass: 'Nothing is being validated',
  validate_fail: 'Nothing is being validated',
  human_required: 'No question can be asked',
  human_approve: 'Nothing is waiting for approval',
  human_reject: 'There is nothing to reject',
  human_resume: 'There is nothing to continue',
  crash_detected: 'No interruption can be recorded',
  retry_step: 'There is nothing to recover',
  retry_from_checkpoint: 'There is nothing to recover',
  retry_validation: 'There is nothing to recover',
  skip_step: 'There is nothing to recover',
  manual_required: 'There is nothing to recover',
  finish: "The task isn't finished",
  observe: 'The task is over',
  acknowledge: 'There is no edit to acknowledge',
  restore: 'No restored files can be recorded',
  fail: "The task can't be marked as failed",
  abandon: "The task can't be abandoned",
} as const satisfies Record<TaskEventType, string>;

const ENDS: readonly TaskEventType[] = ['finish', 'fail', 'abandon'];

const ENDED = {
  completed: 'completed',
  failed: 'failed',
  abandoned: 'been abandoned',
} as const satisfies Record<TerminalState, string>;

/** Why a task doesn't take an event: what can't be done, and what the task is doing. */
export function whyRefused(hook: TaskRecord | undefined, type: TaskEventType): string {
  if (hook === undefined) return "The task hasn't been created yet.";
  if (type === 'init') return `${REFUSED[type]}.`;
  if (isTerminal(hook.state) && ENDS.includes(type)) return `The task has already ${ENDED[hook.state]}.`;
  return `${REFUSED[type]}: ${situation(hook, waitKind(hook))}.`;
}
