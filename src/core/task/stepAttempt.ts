import type { StepContext } from './taskRecord';

/** The attempt that `start_step` would begin: a step that never started keeps its number. */
export function nextAttempt(step: StepContext): number {
  return step.started_at === undefined ? step.attempt : step.attempt + 1;
}

/** Whether every allowed attempt of a step was begun. */
export function attemptsSpent(step: StepContext): boolean {
  return nextAttempt(step) > step.max_attempts;
}

/** How many of a step's attempts are used: `3 of 3 used`. */
export function attemptsUsed({ attempt, max_attempts: max }: StepContext): string {
  return `${Math.min(attempt, max)} of ${max} used`;
}
