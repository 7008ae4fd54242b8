import type { Caller } from './events';
import { foreignEdits } from '../task/foreignEdits';
import { WAITS_FOR, actionLabel } from '../task/labels';
import { RECOVERY_ACTIONS, type RecoveryAction, type TaskRecord } from '../task/taskRecord';
import { HUMAN_EVENTS, type TaskEventType, legalEvents } from './states';
import { attemptsSpent } from '../task/stepAttempt';
import { canApprove, waitKind } from '../task/waiting';

const DECISIONS: Readonly<Record<(typeof HUMAN_EVENTS)[number], string>> = {
  human_approve: 'approve a step',
  human_reject: 'reject a step',
  acknowledge: 'acknowledge an edit made outside Atlas',
  restore: 'restore files from a checkpoint',
  fail: 'mark a task as failed',
  abandon: 'abandon a task',
};

/**
 * What of an event is a human's to decide, to follow "only a human may"; `undefined` where an agent may cause it too.
 * Asked for every event that does not come from a person, whatever door it came through.
 */
export function humanDecision(hook: TaskRecord, type: TaskEventType): string | undefined {
  const decision = HUMAN_EVENTS.find((event) => event === type);
  if (decision !== undefined) return DECISIONS[decision];
  if (type === 'human_resume') return resumeDecision(hook);
  const action = RECOVERY_ACTIONS.find((each) => each === type);
  return action === undefined || hook.state !== 'recovering' ? undefined : recoveryDecision(hook, action);
}

/** The events that a hook's state takes from a caller, in the order of the table. */
export function eventsFor(hook: TaskRecord, by: Caller): TaskEventType[] {
  return legalEvents(hook.state)
    .filter((type) => by === 'human' || humanDecision(hook, type) === undefined)
    .filter((type) => type !== 'acknowledge' || foreignEdits(hook) !== undefined);
}

/** What can be approved decides about work, so going on without that decision would be one. */
function resumeDecision(hook: TaskRecord): string | undefined {
  const kind = waitKind(hook);
  if (canApprove(kind)) return `continue a task that is waiting for ${WAITS_FOR[kind]}`;
  const step = hook.current_step;
  const isSpent = kind === 'interrupted' && step?.started_at !== undefined && attemptsSpent(step);
  return isSpent ? `continue a task that is waiting for ${WAITS_FOR.attempts_spent}` : undefined;
}

/** Asking a human is open to everybody, and so is repeating a validation: it can only withhold a pass. */
function recoveryDecision({ recovery }: TaskRecord, action: RecoveryAction): string | undefined {
  const planned = recovery?.recommended_action;
  if (action === planned || (action === 'retry_validation' && planned === 'skip_step')) return undefined;
  return otherActionDecision(action, planned ?? 'manual');
}

/** That a recovery action other than the planned one is a human's to choose, to follow "only a human may". */
export function otherActionDecision(action: string, planned: string): string {
  return `choose "${actionLabel(action)}" instead of "${actionLabel(planned)}"`;
}
