import type { TaskState } from '../task/taskRecord';

/** Everything that can happen to a task. */
export const EVENT_TYPES = [
  'init',
  'setup_complete',
  'start_step',
  'note',
  'checkpoint',
  'step_output',
  'step_complete',
  'validation_command',
  'receipt',
  'validate_pass',
  'validate_fail',
  'human_required',
  'human_approve',
  'human_reject',
  'human_resume',
  'crash_detected',
  'retry_step',
  'retry_from_checkpoint',
  'retry_validation',
  'skip_step',
  'manual_required',
  'finish',
  'observe',
  'acknowledge',
  'restore',
  'fail',
  'abandon',
] as const;

/** Something that can happen to a task. */
export type TaskEventType = (typeof EVENT_TYPES)[number];

/** The states that an event can lead to, by the event; an event that isn't there is refused. */
type Row = Partial<Record<TaskEventType, readonly TaskState[]>>;

/** The worktree's files were restored from a checkpoint, which is possible however far the task is. */
const restores = <S extends TaskState>(state: S) => ({ acknowledge: [state], restore: [state] }) as const;

/** A session looks at the task: what the worktree shows is recorded, the state stays. */
const looks = <S extends TaskState>(state: S) => ({ observe: [state], ...restores(state) }) as const;

const ENDS = { fail: ['failed'], abandon: ['abandoned'] } as const satisfies Row;
const CRASH = { crash_detected: ['recovering'] } as const satisfies Row;

/**
 * The one table that drives everything: state × event → possible next states. `none` is a task without a hook.
 * An event that advances can lead on to `completed`, when no step is left: `finish` happens in the same write.
 */
export const TRANSITIONS = {
  none: { init: ['initializing'] },
  initializing: { setup_complete: ['step_pending'], ...CRASH, ...looks('initializing'), ...ENDS },
  step_pending: {
    start_step: ['step_running', 'awaiting_human'],
    checkpoint: ['step_pending'],
    finish: ['completed'],
    ...CRASH,
    ...looks('step_pending'),
    ...ENDS,
  },
  step_running: {
    note: ['step_running'],
    checkpoint: ['step_running'],
    step_output: ['step_validating'],
    step_complete: ['step_pending', 'completed'],
    human_required: ['awaiting_human'],
    ...CRASH,
    ...looks('step_running'),
    ...ENDS,
  },
  step_validating: {
    checkpoint: ['step_validating'],
    validation_command: ['step_validating'],
    receipt: ['step_validating'],
    validate_pass: ['step_pending', 'completed'],
    validate_fail: ['awaiting_human'],
    ...CRASH,
    ...looks('step_validating'),
    ...ENDS,
  },
  awaiting_human: {
    checkpoint: ['awaiting_human'],
    human_approve: ['step_pending', 'completed'],
    human_reject: ['step_pending'],
    human_resume: ['step_running'],
    ...CRASH,
    ...looks('awaiting_human'),
    ...ENDS,
  },
  recovering: {
    checkpoint: ['recovering'],
    crash_detected: ['recovering'],
    retry_step: ['step_pending', 'initializing'],
    retry_from_checkpoint: ['step_running'],
    retry_validation: ['step_validating'],
    skip_step: ['step_pending', 'completed'],
    manual_required: ['awaiting_human'],
    ...looks('recovering'),
    ...ENDS,
  },
  completed: restores('completed'),
  failed: restores('failed'),
  abandoned: restores('abandoned'),
} as const satisfies Record<TaskState | 'none', Row>;

/** Events that only a human may cause; an agent's tools never send them. */
export const HUMAN_EVENTS = [
  'human_approve',
  'human_reject',
  'acknowledge',
  'restore',
  'fail',
  'abandon',
] as const satisfies readonly TaskEventType[];

/** The events that a state takes, in the order of the table. */
export function legalEvents(state: TaskState | 'none'): TaskEventType[] {
  return EVENT_TYPES.filter((event) => event in TRANSITIONS[state]);
}

/** The states that an event can lead to from a state; empty where it is illegal. */
export function targetsOf(state: TaskState | 'none', event: TaskEventType): readonly TaskState[] {
  const row: Row = TRANSITIONS[state];
  return row[event] ?? [];
}
