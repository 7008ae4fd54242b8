import { toMs } from '../shared/time';
import type { SessionRecord } from './sessionRecord';
import type { SessionState } from './sessionState';

/** What decides where a session stands among others. */
export interface RankedSession {
  readonly record: SessionRecord;
  readonly state: SessionState;
  /** Whether it is offered, or only told in a line. */
  readonly shown: 'offered' | 'line';
}

const URGENCY: Readonly<Record<SessionState, number>> = {
  interrupted: 0,
  waiting_permission: 1,
  waiting_answer: 1,
  working: 2,
  idle: 3,
  ended: 4,
};

/**
 * Whether a session waits for the user. One that is bound to a task counts as the task, one without a terminal asks
 * nobody, and one that was interrupted before it did anything was a question.
 */
export function needsUser({ record, state, shown }: RankedSession): boolean {
  if (record.bound !== undefined || shown === 'line') return false;
  // Its death may be seen before it is written down.
  if (state === 'interrupted') return record.task !== undefined && record.task.state !== 'closed';
  return (state === 'waiting_permission' || state === 'waiting_answer') && record.marks.length === 0;
}

/** What needs the user first, then by status, the one that was seen last first. */
export function bySessionUrgency(a: RankedSession, b: RankedSession): number {
  const [first, second] = [a, b].map((each) => (needsUser(each) ? 0 : 1));
  return (
    (first ?? 0) - (second ?? 0) ||
    URGENCY[a.state] - URGENCY[b.state] ||
    toMs(b.record.seen_at) - toMs(a.record.seen_at)
  );
}

/** Whether a session is over and asks for nothing: nothing waits in it, or it waited for too long. */
export function isOver({ record, state, shown }: RankedSession): boolean {
  if (state !== 'ended' && state !== 'interrupted') return false;
  return shown === 'line' || (state === 'ended' && record.task?.state !== 'waiting') || record.task?.state === 'closed';
}
