import { eventsOf } from '../history/historyEvent';
import type { TaskRecord, ValidationReceipt } from './taskRecord';
import { waitKind } from './waiting';

/** A step that a human accepted although a check had failed. */
export interface AcceptedFailure {
  readonly stepIndex: number;
  /** Why, in the human's words; empty where another program wrote none. */
  readonly reason: string;
  /** RFC 3339. */
  readonly at: string;
  /** The receipts of the checks that had failed; empty where a check failed without one. */
  readonly receipts: readonly string[];
}

/** The checks of the current attempt whose last run failed, in the order in which they ran. */
export function failedChecks({ current_step: step, receipts }: TaskRecord): ValidationReceipt[] {
  if (step === undefined) return [];
  const last = new Map<string, ValidationReceipt>();
  for (const receipt of receipts) {
    if (receipt.step_name === step.step_name && receipt.attempt === step.attempt) last.set(receipt.command, receipt);
  }
  return [...last.values()].filter((receipt) => receipt.exit_code !== 0);
}

/** Whether approving the waiting step would pass over a failed check: then a human says why. */
export function passesOverFailure(hook: TaskRecord): boolean {
  return hook.state === 'awaiting_human' && (waitKind(hook) === 'validation_failed' || failedChecks(hook).length > 0);
}

/** The steps that were accepted with a failed check, by their index; of a step that was done again, the last time counts. */
export function acceptedFailures({ history }: Pick<TaskRecord, 'history'>): ReadonlyMap<number, AcceptedFailure> {
  const found = new Map<number, AcceptedFailure>();
  for (const { details, timestamp } of eventsOf(history, 'human_approve')) {
    const { step_index: stepIndex, kind, reason = '', failed_receipts: receipts } = details;
    if (stepIndex === undefined) continue;
    if (kind === 'validation_failed' || receipts.length > 0)
      found.set(stepIndex, { stepIndex, reason, at: timestamp, receipts });
    else found.delete(stepIndex);
  }
  return found;
}

/** Why the steps of failed checks were accepted all the same, by the checks' receipts. */
export function acceptedReceipts(hook: Pick<TaskRecord, 'history'>): ReadonlyMap<string, string> {
  return new Map(
    [...acceptedFailures(hook).values()].flatMap(({ receipts, reason }) => receipts.map((id) => [id, reason] as const)),
  );
}
