import { historyEvent } from '../history/historyEvent';
import type { TaskRecord } from './taskRecord';

/** Why a task waits for a human. */
export const WAIT_KINDS = [
  'review',
  'question',
  'step_failed',
  'interrupted',
  'validation_failed',
  'attempts_spent',
] as const;

/** Why a task waits for a human. */
export type WaitKind = (typeof WAIT_KINDS)[number];

/** The kinds of waiting that approval ends: the others have nothing to approve. */
export function canApprove(kind: WaitKind): boolean {
  return kind !== 'interrupted' && kind !== 'question';
}

/** Why a hook in `awaiting_human` waits, read from the event that brought it there. */
export function waitKind(hook: TaskRecord): WaitKind {
  return waitingSince(hook).kind;
}

/** What a waiting task waits for: the kind, and the question or reason that was given. */
export function waitingSince(hook: TaskRecord): { kind: WaitKind; message: string | undefined; since: string } {
  for (let index = hook.history.length - 1; index >= 0; index -= 1) {
    const event = hook.history[index];
    if (event === undefined || event.to_state !== 'awaiting_human' || event.from_state === 'awaiting_human') continue;
    const { details } = historyEvent(event);
    const { kind, message } = 'kind' in details ? details : {};
    return {
      kind: WAIT_KINDS.find((each) => each === kind) ?? kindByTrigger(event.trigger),
      message,
      since: event.timestamp,
    };
  }
  return { kind: 'interrupted', message: undefined, since: hook.updated_at };
}

/** For events of other writers, which don't say the kind. */
function kindByTrigger(trigger: string): WaitKind {
  if (trigger === 'validate_fail' || trigger === 'validation_failed') return 'validation_failed';
  return trigger === 'human_required' || trigger === 'start_step' ? 'review' : 'interrupted';
}
