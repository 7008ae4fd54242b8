import { defined } from '../shared/defined';
import { type WrittenDetails, lastEventOf } from '../history/historyEvent';
import { isAutomaticEnabled } from '../checkpoint/checkpoint';
import type { TaskConfig } from '../config/config';
import { type TransitionBuilder, MAX_DESCRIPTION } from './transitionBuilder';
import type { TaskInput, InputOf } from './events';
import { foreignEdits } from '../task/foreignEdits';
import type { StepContext } from '../task/taskRecord';
import { recordedReceipts } from '../receipt/receipt';
import { attemptsSpent, attemptsUsed, nextAttempt } from '../task/stepAttempt';
import { type Task, isHumanStep } from '../task/task';
import { MAX_SUMMARY_LENGTH, cut, oneLine } from '../shared/text';
import { toMs } from '../shared/time';
import { failedChecks, passesOverFailure } from '../task/acceptedFailure';
import { type WaitKind, waitKind } from '../task/waiting';

const MAX_PROMPT = 20_000;
const MAX_MESSAGE = 2000;
const MAX_ANSWER = 10_000;

type Effect<T extends TaskInput['type']> = (draft: TransitionBuilder, input: InputOf<T>) => void;

/** What each event does, once it is known to be legal. */
const EFFECTS: { readonly [T in TaskInput['type']]: Effect<T> } = {
  init: () => undefined,
  setup_complete: (draft) => {
    draft.record('setup_complete', 'step_pending');
    draft.step = pendingStep(draft.context.task, 0, draft.context.config);
  },
  start_step: startStep,
  note,
  checkpoint: (draft, input) => {
    draft.checkpoint(input.trigger, input.description, input.source, input.at);
    // What is done is no longer what is being worked on.
    if (input.trigger === 'manual' && draft.step !== undefined) {
      const { working_on: _done, ...step } = draft.step;
      const next = input.next === undefined ? undefined : oneLine(input.next, MAX_DESCRIPTION);
      draft.step = { ...step, ...defined({ working_on: next }) };
    }
  },
  step_output: (draft, input) => {
    if (input.output !== undefined && draft.step !== undefined)
      draft.step = { ...draft.step, last_output: cut(input.output) };
    draft.record('step_output', 'step_validating', summaryOf(input));
  },
  step_complete: (draft, input) => {
    const { nothingToDo: why } = input;
    const nothing = why === undefined ? {} : { nothing_to_do: oneLine(why, MAX_DESCRIPTION) };
    advance(draft, 'step_complete', { ...summaryOf(input), ...nothing });
  },
  validation_command: (draft, input) => {
    draft.record('validation_command', 'step_validating', {
      command: input.command,
      log: input.log,
      receipt_id: input.receiptId,
      index: input.index,
      link: { ...input.link },
    });
  },
  receipt: (draft, { receipt, envelopeSha256 }) => {
    draft.receipts = [...draft.receipts, receipt];
    draft.record('receipt', 'step_validating', {
      receipt_id: receipt.receipt_id,
      exit_code: receipt.exit_code,
      envelope_sha256: envelopeSha256,
      chain_count: recordedReceipts(draft.before.history).length + 1,
    });
  },
  validate_pass: (draft, input) => {
    if (isAutomaticEnabled('validation', draft.context.config)) {
      draft.checkpoint('validation', `Validation of ${draft.stepName ?? 'the step'} passed`);
    }
    // Where the work was submitted with it already, it is not kept twice.
    const submitted = lastEventOf(draft.before.history, 'step_output')?.details.summary;
    const summary = summaryOf(input);
    advance(draft, 'validate_pass', summary['summary'] === submitted ? {} : summary);
  },
  validate_fail: (draft, input) => {
    const receipt = input.receiptId === undefined ? {} : { receipt_id: input.receiptId };
    wait(draft, 'validate_fail', 'validation_failed', input.reason, receipt);
  },
  human_required: (draft, input) => {
    wait(draft, 'human_required', input.kind, input.message);
  },
  human_approve: approve,
  human_reject: reject,
  human_resume: (draft, { answer, by = 'agent' }) => {
    const { step, context } = draft;
    if (step !== undefined) draft.step = { ...step, started_at: step.started_at ?? context.now };
    const said = answer === undefined ? {} : { answer: cut(answer.trim(), MAX_ANSWER), answered_by: by };
    draft.record('human_resume', 'step_running', said);
  },
  crash_detected: (draft, { recovery }) => {
    draft.recovery = recovery;
    draft.record('crash_detected', 'recovering', { crash_type: recovery.crash_type });
  },
  retry_step: (draft) => {
    const details = takeRecovery(draft);
    draft.record('retry_step', draft.step === undefined ? 'initializing' : 'step_pending', details);
  },
  retry_from_checkpoint: (draft) => {
    draft.record('retry_from_checkpoint', 'step_running', takeRecovery(draft));
  },
  retry_validation: (draft) => {
    draft.record('retry_validation', 'step_validating', takeRecovery(draft));
  },
  skip_step: (draft) => {
    advance(draft, 'skip_step', takeRecovery(draft));
  },
  manual_required: (draft, input) => {
    wait(draft, 'manual_required', kindAfterRecovery(draft), input.message, takeRecovery(draft));
  },
  finish: (draft) => {
    draft.record('finish', 'completed');
  },
  observe: (draft, { session, tookOverFrom }) => {
    draft.record('observe', draft.state, defined({ session, took_over_from: tookOverFrom }));
  },
  acknowledge: (draft) => {
    draft.record('acknowledge', draft.state, { edits: foreignEdits(draft.before)?.count ?? 0 });
  },
  restore: (draft, { checkpoint, safety, written, removed, blocked, isUndo }) => {
    draft.record('restore', draft.state, {
      ...{ target_id: checkpoint, safety_id: safety, written, removed, blocked },
      ...(isUndo ? { undo: true } : {}),
    });
  },
  fail: end,
  abandon: end,
};

/** Lets an event that is known to be legal act on a draft. */
export function applyEffect<T extends TaskInput['type']>(draft: TransitionBuilder, input: InputOf<T>): void {
  const effect = EFFECTS[input.type] as Effect<T>;
  effect(draft, input);
}

function pendingStep(task: Task, index: number, config: TaskConfig): StepContext | undefined {
  const step = task.steps[index];
  if (step === undefined) return undefined;
  const max = step.max_attempts ?? config.maxStepAttempts;
  return { step_name: step.name, step_index: index, attempt: 1, max_attempts: max };
}

function startStep(draft: TransitionBuilder, input: InputOf<'start_step'>): void {
  const before = draft.step;
  if (before === undefined) return;
  if (attemptsSpent(before)) {
    const message = `Step "${before.step_name}" has no attempts left (${attemptsUsed(before)}).`;
    draft.record('start_step', 'awaiting_human', { kind: 'attempts_spent', attempts_spent: true, message });
    return;
  }
  const { last_output: _output, current_checkpoint_id: _id, working_on: _on, prompt: _prompt, ...kept } = before;
  draft.step = {
    ...kept,
    attempt: nextAttempt(before),
    started_at: draft.context.now,
    ...(input.workingOn === undefined ? {} : { working_on: oneLine(input.workingOn, MAX_DESCRIPTION) }),
    ...(input.prompt === undefined ? {} : { prompt: cut(input.prompt, MAX_PROMPT) }),
  };
  const dirty = input.dirtyBefore ?? [];
  draft.record('start_step', 'step_running', dirty.length === 0 ? {} : { dirty_before: [...dirty] });
  const planned = draft.context.task.steps[before.step_index];
  if (isHumanStep(planned)) wait(draft, 'human_required', 'review', undefined);
}

function note(draft: TransitionBuilder, input: InputOf<'note'>): void {
  const step = draft.step;
  if (step === undefined) return;
  const workingOn = input.workingOn === undefined ? undefined : oneLine(input.workingOn, MAX_DESCRIPTION);
  const touched = [...new Set([...(step.files_touched ?? []), ...(input.filesTouched ?? [])])];
  draft.step = {
    ...step,
    ...defined({ working_on: workingOn }),
    ...(input.prompt === undefined ? {} : { prompt: cut(input.prompt, MAX_PROMPT) }),
    ...(input.lastOutput === undefined ? {} : { last_output: cut(input.lastOutput) }),
    ...(touched.length === 0 ? {} : { files_touched: touched }),
  };
  draft.record('note', 'step_running', {
    ...defined({ working_on: workingOn }),
    ...(input.filesTouched === undefined ? {} : { files_touched: [...input.filesTouched] }),
    ...(input.stillWorking === true ? { still_working: true } : {}),
  });
}

/** A human's step waits for its review again, whatever interrupted it; nothing else has been decided by the interruption. */
function kindAfterRecovery({ before, recovery, step, context }: TransitionBuilder): WaitKind {
  if (recovery?.last_known_state === 'awaiting_human') return waitKind(before);
  const planned = step === undefined ? undefined : context.task.steps[step.step_index];
  return isHumanStep(planned) ? 'review' : 'interrupted';
}

function summaryOf({ summary }: { readonly summary?: string }): WrittenDetails {
  return summary === undefined || summary.trim() === '' ? {} : { summary: cut(summary.trim(), MAX_SUMMARY_LENGTH) };
}

function wait(
  draft: TransitionBuilder,
  trigger: 'validate_fail' | 'human_required' | 'manual_required',
  kind: WaitKind,
  message: string | undefined,
  more: WrittenDetails = {},
): void {
  draft.record(trigger, 'awaiting_human', {
    kind,
    ...(message === undefined ? {} : { message: cut(message, MAX_MESSAGE) }),
    ...more,
  });
}

/** How a step ended, to follow its name. */
function howEnded(trigger: Advance, { before }: TransitionBuilder): string {
  if (trigger === 'skip_step') return 'skipped: its work was done';
  return trigger === 'human_approve' && passesOverFailure(before) ? 'accepted with a failed check' : 'complete';
}

type Advance = 'step_complete' | 'validate_pass' | 'human_approve' | 'skip_step';

/** Ends the current step: its checkpoint, the event, the next step as pending, and `finish` when none is left. */
function advance(draft: TransitionBuilder, trigger: Advance, more: WrittenDetails = {}): void {
  const step = draft.step;
  if (step === undefined) return;
  if (isAutomaticEnabled('step_complete', draft.context.config)) {
    draft.checkpoint('step_complete', `Step ${step.step_name} ${howEnded(trigger, draft)}`);
  }
  const started = step.started_at;
  const took = started === undefined ? {} : { duration_ms: Math.max(0, toMs(draft.context.now) - toMs(started)) };
  draft.record(trigger, 'step_pending', { ...took, ...more });
  draft.step = pendingStep(draft.context.task, step.step_index + 1, draft.context.config);
  if (draft.step === undefined) draft.record('finish', 'completed');
}

function approve(draft: TransitionBuilder, { reason = '' }: InputOf<'human_approve'>): void {
  const said = reason.trim() === '' ? {} : { reason: cut(reason.trim(), MAX_MESSAGE) };
  const failed = passesOverFailure(draft.before)
    ? { failed_receipts: failedChecks(draft.before).map(({ receipt_id: id }) => id) }
    : {};
  advance(draft, 'human_approve', { kind: waitKind(draft.before), ...said, ...failed });
}

function reject(draft: TransitionBuilder, input: InputOf<'human_reject'>): void {
  const { step } = draft;
  draft.record(
    'human_reject',
    'step_pending',
    input.reason === undefined ? {} : { reason: cut(input.reason, MAX_MESSAGE) },
  );
  if (step !== undefined && attemptsSpent(step)) draft.step = { ...step, max_attempts: nextAttempt(step) };
}

function end(draft: TransitionBuilder, input: InputOf<'fail'> | InputOf<'abandon'>): void {
  draft.record(input.type, input.type === 'fail' ? 'failed' : 'abandoned', {
    ...(input.reason === undefined ? {} : { reason: cut(input.reason, MAX_MESSAGE) }),
    ...takeRecovery(draft),
  });
}

/** Takes the recovery out of the draft, for the details of the event that leaves `recovering`. */
function takeRecovery(draft: TransitionBuilder): WrittenDetails {
  const recovery = draft.recovery;
  draft.recovery = undefined;
  return recovery === undefined ? {} : { recovery };
}
