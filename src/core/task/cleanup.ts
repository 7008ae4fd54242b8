import { type TaskState, type TerminalState, isTerminal } from './taskRecord';
import { toMs } from '../shared/time';

/** What cleanup has to know of a task. */
export interface CleanupCandidate {
  readonly workspace: string;
  readonly id: string;
  readonly state: TaskState;
  readonly updatedAt: string;
}

/** A task whose hook files may go, and since when (ms over its retention). */
export interface CleanupItem extends CleanupCandidate {
  readonly state: TerminalState;
  readonly overdueMs: number;
}

/** The tasks whose retention is over. A task that isn't finished is never among them, whatever its age. */
export function planCleanup(
  candidates: readonly CleanupCandidate[],
  retentionMs: Readonly<Record<TerminalState, number>>,
  now: number,
): CleanupItem[] {
  return candidates.flatMap((candidate): CleanupItem[] => {
    const { state } = candidate;
    if (!isTerminal(state)) return [];
    const overdueMs = now - toMs(candidate.updatedAt) - retentionMs[state];
    return overdueMs > 0 ? [{ ...candidate, state, overdueMs }] : [];
  });
}
