import type { TaskRecord } from '../../../src/core/task/taskRecord';
import { RECENT_CHECKPOINT_MS } from '../../../src/core/recovery/recovery';
import { toMs } from '../../../src/core/shared/time';
import { waitKind } from '../../../src/core/task/waiting';
import { type Setting, type State, type Writer, commandsToRun, effectOf } from './world';

/**
 * What of a state the future depends on: states of the same key go on alike. Left out are times but for whether a
 * checkpoint is fresh, ids, receipts of other attempts, and attempts but for how many are left and who is late. The two
 * writers run the same program, so that which is which makes no difference.
 */
export function keyOf(setting: Setting, { hook, world, writers, budget }: State): string {
  const step = hook?.current_step;
  const current = (hook?.receipts ?? []).flatMap((receipt, index) =>
    receipt.step_name === step?.step_name && receipt.attempt === step.attempt
      ? [{ command: receipt.command, passed: receipt.exit_code === 0, current: index >= world.edited }]
      : [],
  );
  const newest = commandsToRun(setting, step?.step_index ?? 0).map((command) =>
    current.findLast((receipt) => receipt.command === command),
  );
  const anyPassed = current.some((receipt) => receipt.passed);
  const effect = step === undefined ? 'work' : effectOf(setting, step.step_index);
  const { edited: _edited, happened, commitsOfAttempt, ...rest } = world;
  const counts = [
    effect === 'commit' ? commitsOfAttempt : 0,
    effect === 'commit' || effect === 'push' || effect === 'pr' ? happened[effect] : 0,
  ];
  const programs = writers.map((writer) => JSON.stringify(programKey(setting, hook, writer))).sort();
  return JSON.stringify([hook === undefined ? 0 : hookKey(hook), newest, anyPassed, rest, counts, programs, budget]);
}

function hookKey(hook: TaskRecord): unknown[] {
  const step = hook.current_step;
  const own = hook.checkpoints.filter(
    (item) => step !== undefined && item.step_index === step.step_index && item.attempt === step.attempt,
  );
  const last = own.at(-1);
  const fresh = last === undefined ? 'none' : toMs(hook.updated_at) - toMs(last.created_at) < RECENT_CHECKPOINT_MS;
  return [
    hook.state,
    step === undefined ? -1 : [step.step_index, step.max_attempts - step.attempt, step.started_at !== undefined],
    fresh,
    own.some((item) => item.trigger === 'pr_created'),
    hook.recovery === undefined ? 0 : [hook.recovery.last_known_state, hook.recovery.recommended_action],
    hook.state === 'awaiting_human' ? waitKind(hook) : 0,
  ];
}

/** Whoever is late stays late, since steps and attempts only grow: how late makes no difference. */
function programKey(setting: Setting, hook: TaskRecord | undefined, writer: Writer): unknown[] {
  const { command, exitCode, life } = writer;
  if (writer.at === 'idle') return [writer.at, life];
  const step = hook?.current_step;
  const sameStep = step?.step_index === writer.step;
  const behind = sameStep ? Math.max(-1, writer.attempt - step.attempt) : -2;
  const isLate = behind < 0 && writer.step >= 0;
  // A late checkpoint is refused, so that only the work itself is left to do.
  const at = isLate && writer.at === 'work' ? 'effect' : writer.at;
  const reserved = hook?.history.findLast(({ trigger }) => trigger === 'validation_command')?.details?.['receipt_id'];
  const isReserved = at === 'receipt' && writer.receiptId === reserved;
  // Whoever is at an earlier step can still act on the world, by what that step does.
  const where = sameStep || writer.step < 0 ? '' : effectOf(setting, writer.step);
  const seenNow = isSeenNow(hook, writer);
  const noticed = writer.noticed && !isLate;
  // A late recovery is refused, whatever it is.
  return [
    at,
    where,
    behind,
    command,
    isReserved,
    at === 'pass' ? exitCode : 0,
    seenNow && writer.action,
    life,
    noticed,
  ];
}

/** Whether the crash that a writer read is the one that the hook is recovering from. */
export function isSeenNow(hook: TaskRecord | undefined, { seen }: Writer): boolean {
  return hook?.state === 'recovering' && seen !== undefined && crashesOf(hook) === crashesOf(seen);
}

function crashesOf(hook: TaskRecord): number {
  return hook.history.filter((event) => event.trigger === 'crash_detected').length;
}
