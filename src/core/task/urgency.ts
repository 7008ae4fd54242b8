import type { Diagnosis } from '../recovery/liveness';
import { type Situation, situationOf } from './taskActions';
import type { TaskRecord } from './taskRecord';

/** What comes first on every surface: interrupted, waiting for a person, quiet, validating, running, ready. */
const URGENCY: Readonly<Record<Situation, number>> = {
  crashed: 0,
  recovering: 0,
  review: 1,
  question: 1,
  step_failed: 1,
  interrupted: 1,
  validation_failed: 1,
  attempts_spent: 1,
  quiet: 2,
  left: 2,
  validating: 3,
  running: 4,
  setup: 5,
  ready: 5,
  over: 6,
};

const LAST_THAT_NEEDS_A_PERSON = URGENCY.quiet;

/** A task with how it is doing, where that was looked at. */
export interface Ranked {
  readonly hook: TaskRecord;
  readonly health?: Diagnosis['kind'] | undefined;
}

/** A task's place in the one order of all surfaces; the smaller, the more urgent. */
export function urgencyOf({ hook, health }: Ranked): number {
  return URGENCY[situationOf(hook, health)];
}

/** Whether a task waits until a person does something: it is interrupted, waits for them, or is quiet. */
export function needsPerson(task: Ranked): boolean {
  return urgencyOf(task) <= LAST_THAT_NEEDS_A_PERSON;
}

/** For sorting: the more urgent task first, of equally urgent ones the one changed last. */
export function byUrgency(a: Ranked, b: Ranked): number {
  const [first, second] = [a.hook.updated_at, b.hook.updated_at];
  return urgencyOf(a) - urgencyOf(b) || (first < second ? 1 : first > second ? -1 : 0);
}
