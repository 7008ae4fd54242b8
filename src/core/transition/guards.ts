import { lastEventOf } from '../history/historyEvent';
import type { TaskInput, InputOf, TransitionContext } from './events';
import { foreignEdits } from '../task/foreignEdits';
import {
  type TaskRecord,
  type ValidationReceipt,
  recoveryContextSchema,
  validationReceiptSchema,
} from '../task/taskRecord';
import { type TaskStep, commandsOf, isHumanStep, stepTypeOf } from '../task/task';
import { count, oneLine } from '../shared/text';
import { whyRefused } from './refusals';
import { canApprove, waitKind } from '../task/waiting';

type Guard<T extends TaskInput['type']> = (
  hook: TaskRecord,
  input: InputOf<T>,
  context: TransitionContext,
) => string | undefined;

const allow = (): undefined => undefined;

/** For each event that the table allows, why it is refused after all, in sentences; `undefined` when it is not. */
const GUARDS: { readonly [T in TaskInput['type']]: Guard<T> } = {
  init: allow,
  setup_complete: (_hook, _input, { task }) => (task.steps.length === 0 ? 'The task has no steps.' : undefined),
  start_step: (hook) => (hook.current_step === undefined ? 'No step is left to start.' : undefined),
  note: allow,
  checkpoint: guardCheckpoint,
  step_output: (hook, _input, context) => guardAgentStep(hook, context),
  step_complete: (hook, input, context) =>
    guardComplete(plannedStep(hook, context)) ?? guardNothing(input.nothingToDo, plannedStep(hook, context)),
  validation_command: (hook, input, context) =>
    guardAgentStep(hook, context) ?? (oneLine(input.command) === '' ? 'The command is empty.' : undefined),
  receipt: (hook, input, context) => guardAgentStep(hook, context) ?? guardReceipt(hook, input.receipt),
  validate_pass: guardPass,
  validate_fail: allow,
  human_required: allow,
  human_approve: (hook) => (canApprove(waitKind(hook)) ? undefined : whyRefused(hook, 'human_approve')),
  human_reject: allow,
  human_resume: (hook, { answer }, context) => {
    if (answer?.trim() === '') return 'The answer is empty.';
    if (hook.current_step === undefined) return 'There is no step to continue.';
    return isHumanStep(plannedStep(hook, context)) ? 'This step is your decision. Approve or reject it.' : undefined;
  },
  crash_detected: (_hook, { recovery }) =>
    recoveryContextSchema.safeParse(recovery).success ? undefined : 'The recovery plan is malformed.',
  retry_step: allow,
  retry_from_checkpoint: (hook, _input, context) =>
    hook.recovery?.last_known_state === 'step_running'
      ? guardAgentStep(hook, context)
      : 'The step was not running when it was interrupted, so there is no checkpoint to continue from.',
  retry_validation: (hook, _input, context) => guardPastSetup(hook) ?? guardAgentStep(hook, context),
  skip_step: (hook, { by }, context) =>
    guardPastSetup(hook) ?? (by === 'human' ? undefined : guardAgentStep(hook, context)),
  manual_required: guardPastSetup,
  finish: (hook) =>
    hook.current_step === undefined ? undefined : `Step "${hook.current_step.step_name}" isn't done yet.`,
  observe: allow,
  acknowledge: (hook) =>
    foreignEdits(hook) === undefined ? 'No edit made outside Atlas needs to be acknowledged.' : undefined,
  restore: allow,
  fail: allow,
  abandon: allow,
};

/** Why an event that the table allows is refused after all; `undefined` when it is not. */
export function guardOf<T extends TaskInput['type']>(
  hook: TaskRecord,
  input: InputOf<T>,
  context: TransitionContext,
): string | undefined {
  const guard = GUARDS[input.type] as Guard<T>;
  return guard(hook, input, context);
}

function plannedStep(hook: TaskRecord, { task }: TransitionContext): TaskStep | undefined {
  return hook.current_step === undefined ? undefined : task.steps[hook.current_step.step_index];
}

/** Nothing that is made or run ends a human's step: a human looks, and says. */
function guardAgentStep(hook: TaskRecord, context: TransitionContext): string | undefined {
  return isHumanStep(plannedStep(hook, context))
    ? 'This step is a human decision: it takes no output and no validation.'
    : undefined;
}

function guardPastSetup(hook: TaskRecord): string | undefined {
  if (hook.current_step !== undefined) return undefined;
  return 'The task was interrupted while it was being set up, before its first step.';
}

function guardCheckpoint(hook: TaskRecord, { trigger }: InputOf<'checkpoint'>): string | undefined {
  if (hook.current_step === undefined) return 'The task has no current step.';
  if (trigger === 'interval' && hook.state !== 'step_running')
    return 'Interval checkpoints are recorded only while a step is running.';
  return undefined;
}

function guardComplete(planned: TaskStep | undefined): string | undefined {
  if (planned === undefined) return undefined;
  const type = stepTypeOf(planned);
  if (type === 'validation') {
    return 'A validation step is complete only when its checks pass. Validate it.';
  }
  if (type === 'human') return 'This step is a human decision.';
  const declared = commandsOf(planned).length;
  if (declared === 0) return undefined;
  return `The step declares ${count(declared, 'check')}. It is complete only when ${declared === 1 ? 'it passes' : 'they pass'}.`;
}

function guardNothing(why: string | undefined, planned: TaskStep | undefined): string | undefined {
  if (why === undefined) return undefined;
  if (oneLine(why) === '') return 'Say why there is nothing to do.';
  return planned !== undefined && stepTypeOf(planned) === 'git'
    ? undefined
    : 'Only a step of type git can end because there is nothing to do.';
}

/**
 * Only what was reserved last is taken: of two that validate at once, the one that began later goes on, and the chain
 * has no fork.
 */
function guardReserved(hook: TaskRecord, receiptId: string): string | undefined {
  const reserved = lastEventOf(hook.history, 'validation_command')?.details.receipt_id;
  if (reserved === receiptId) return undefined;
  return 'Another validation of this step has started since, so this receipt no longer counts.';
}

function guardReceipt(hook: TaskRecord, receipt: ValidationReceipt): string | undefined {
  if (!validationReceiptSchema.safeParse(receipt).success) return 'The receipt is malformed.';
  const step = hook.current_step;
  if (receipt.step_name !== step?.step_name)
    return `The receipt is for step "${receipt.step_name}", not for the current step.`;
  if (receipt.attempt === undefined) return 'The receipt names no attempt.';
  if (receipt.attempt !== step.attempt) {
    return `The receipt is for attempt ${receipt.attempt}, not for the current attempt.`;
  }
  return hook.receipts.some((known) => known.receipt_id === receipt.receipt_id)
    ? `Receipt "${receipt.receipt_id}" has already been recorded.`
    : guardReserved(hook, receipt.receipt_id);
}

function guardPass(hook: TaskRecord, _input: InputOf<'validate_pass'>, context: TransitionContext): string | undefined {
  const human = guardAgentStep(hook, context);
  if (human !== undefined) return human;
  const step = hook.current_step;
  const planned = plannedStep(hook, context);
  const proven = context.provenReceipts ?? new Set<string>();
  const own = hook.receipts.filter((item) => item.step_name === step?.step_name && item.attempt === step.attempt);
  const passed = (receipt: ValidationReceipt | undefined): boolean =>
    receipt !== undefined && receipt.exit_code === 0 && proven.has(receipt.receipt_id);
  const declared = planned === undefined ? [] : commandsOf(planned);
  if (declared.length === 0) {
    return own.some(passed) ? undefined : 'This attempt has no valid receipt that passed.';
  }
  const missing = declared.filter((command) => !passed(own.findLast((receipt) => receipt.command === command)));
  if (missing.length === 0) return undefined;
  return `${count(missing.length, 'declared check has', 'declared checks have')} no valid receipt of this attempt that passed.`;
}
