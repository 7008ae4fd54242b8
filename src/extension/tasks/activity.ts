import { l10n } from 'vscode';
import { type HistoryEvent, historyEvent } from '../../core/history/historyEvent';
import { recoveryDetails } from '../../core/recovery/recoveryDetails';
import type { CrashCause } from '../../core/recovery/liveness';
import { oneLine } from '../../core/shared/text';
import { CAUSE_LABELS, stepLabel } from '../../core/task/labels';
import type { RecoveryContext, TaskRecord } from '../../core/task/taskRecord';

/** Something that happened to a task. */
export interface Activity {
  /** Where in the history it stands. */
  readonly index: number;
  /** RFC 3339. */
  readonly at: string;
  /** A sentence without a full stop. */
  readonly text: string;
  readonly level: 'info' | 'warning' | 'error';
  /** Nothing that a person looks for among what happened: said elsewhere, too, or only Atlas at work. */
  readonly isMinor: boolean;
}

const MAX_TEXT = 300;

/** What an event is in words. `level` is for what went wrong. */
interface Words {
  readonly text: string;
  readonly level?: Activity['level'];
  readonly isMinor?: boolean;
}

/** An event of a task's history as a sentence. */
export function activityOf(hook: TaskRecord, index: number): Activity | undefined {
  const recorded = hook.history[index];
  if (recorded === undefined) return undefined;
  const event = historyEvent(recorded);
  const {
    text,
    level = 'info',
    isMinor = false,
  } = event.type === 'other'
    ? { text: l10n.t('Recorded by another program: {0}', oneLine(recorded.trigger, 64)) }
    : wordsOf(event, hook, index);
  return { index, at: recorded.timestamp, text, level, isMinor };
}

/** All that happened, newest first; periodic checkpoints in a row are one line. */
export function activities(hook: TaskRecord): Activity[] {
  const found: Activity[] = [];
  let periodic = 0;
  for (let index = hook.history.length - 1; index >= 0; index -= 1) {
    const each = activityOf(hook, index);
    const event = hook.history[index];
    if (each === undefined || event === undefined || each.isMinor) continue;
    const read = historyEvent(event);
    periodic = read.type === 'checkpoint' && read.details.trigger === 'interval' ? periodic + 1 : 0;
    if (periodic < 2) found.push(each);
    else found[found.length - 1] = { ...(found.at(-1) ?? each), text: l10n.t('{0} periodic checkpoints', periodic) };
  }
  return found;
}

function said(text: string | undefined): string {
  return oneLine(text ?? '', MAX_TEXT);
}

/** "What happened" or, where there are words for it, "What happened: these words". */
function withWords(what: string, words: string | undefined): string {
  return said(words) === '' ? what : l10n.t('{0}: {1}', what, said(words));
}

function wordsOf(event: Exclude<HistoryEvent, { type: 'other' }>, hook: TaskRecord, index: number): Words {
  const step = stepLabel(event.step_name ?? '');
  switch (event.type) {
    case 'init':
      return { text: l10n.t('Task created') };
    case 'setup_complete':
      return { text: l10n.t('Task set up'), isMinor: true };
    case 'note':
      return { text: l10n.t('Progress noted'), isMinor: true };
    case 'observe':
      return event.details.took_over_from === undefined
        ? { text: l10n.t('Worktree checked'), isMinor: true }
        : { text: l10n.t('Another session took over step {0}', step) };
    case 'acknowledge':
      return { text: l10n.t('Edit acknowledged') };
    case 'restore':
      return restoreWords(event);
    case 'adopted_edit':
      return { text: l10n.t('hook.json was edited outside Atlas'), level: 'warning' };
    case 'finish':
      return { text: l10n.t('Task completed') };
    case 'fail':
      return { text: withWords(l10n.t('Task failed'), event.details.reason), level: 'error' };
    case 'abandon':
      return { text: withWords(l10n.t('Task abandoned'), event.details.reason) };
    case 'checkpoint':
      return checkpointWords(event, hook);
    case 'crash_detected':
    case 'retry_step':
    case 'retry_from_checkpoint':
    case 'retry_validation':
    case 'skip_step':
    case 'manual_required':
      return recoveryWords(event, step, hook, index);
    case 'human_required':
    case 'human_approve':
    case 'human_reject':
    case 'human_resume':
      return decisionWords(event, step);
    default:
      return stepWords(event, step, hook);
  }
}

function restoreWords({ details }: Of<'restore'>): Words {
  if (details.undo) return { text: l10n.t('The last restore was undone') };
  const blocked =
    details.blocked === 1
      ? l10n.t('1 path was left as it is')
      : l10n.t('{0} paths were left as they are', details.blocked);
  const what = l10n.t('Files restored from a checkpoint');
  return details.blocked === 0 ? { text: what } : { text: withWords(what, blocked), level: 'warning' };
}

type Of<T extends HistoryEvent['type']> = Extract<HistoryEvent, { type: T }>;

function stepWords(
  event: Of<
    | 'start_step'
    | 'step_output'
    | 'step_complete'
    | 'validation_command'
    | 'receipt'
    | 'validate_pass'
    | 'validate_fail'
  >,
  step: string,
  hook: TaskRecord,
): Words {
  switch (event.type) {
    case 'start_step': {
      const { attempt = 1, attempts_spent: spent } = event.details;
      if (spent) return { text: l10n.t('All attempts at step {0} are used up', step), level: 'warning' };
      return {
        text: attempt > 1 ? l10n.t('Step {0} started, attempt {1}', step, attempt) : l10n.t('Step {0} started', step),
      };
    }
    case 'step_output':
      return { text: l10n.t('Step {0} submitted for validation', step), isMinor: true };
    case 'step_complete':
      return event.details.nothing_to_do === undefined
        ? { text: l10n.t('Step {0} completed', step) }
        : { text: l10n.t('Step {0} had nothing to do: {1}', step, said(event.details.nothing_to_do)) };
    case 'validation_command':
      return { text: withWords(l10n.t('Check started'), event.details.command), isMinor: true };
    case 'receipt': {
      const receipt = hook.receipts.find(({ receipt_id: id }) => id === event.details.receipt_id);
      if (receipt === undefined) return { text: l10n.t('Receipt recorded'), isMinor: true };
      const { exit_code: code, command } = receipt;
      return code === 0
        ? { text: l10n.t('Check passed: {0}', said(command)) }
        : { text: l10n.t('Check failed: {0} (exit code {1})', said(command), code), level: 'error' };
    }
    case 'validate_pass':
      return { text: l10n.t('Step {0} passed its checks', step) };
    case 'validate_fail':
      return { text: l10n.t('Step {0} failed its checks', step), level: 'error' };
  }
}

function decisionWords(
  event: Of<'human_required' | 'human_approve' | 'human_reject' | 'human_resume'>,
  step: string,
): Words {
  switch (event.type) {
    case 'human_required': {
      const { kind, message } = event.details;
      if (kind === 'question') return { text: withWords(l10n.t('The agent asked'), message) };
      if (kind === 'step_failed')
        return { text: withWords(l10n.t('The agent gave up on step {0}', step), message), level: 'error' };
      return { text: withWords(l10n.t('Step {0} waits for your review', step), message) };
    }
    case 'human_approve': {
      const { kind, reason, failed_receipts: failed } = event.details;
      return kind === 'validation_failed' || failed.length > 0
        ? { text: withWords(l10n.t('Step {0} accepted with a failed check', step), reason), level: 'warning' }
        : { text: withWords(l10n.t('Step {0} approved', step), reason) };
    }
    case 'human_reject':
      return { text: withWords(l10n.t('Step {0} sent back', step), event.details.reason) };
    case 'human_resume':
      return event.details.answer === undefined
        ? { text: l10n.t('Step {0} resumed', step) }
        : { text: l10n.t('Answered: {0}', said(event.details.answer)) };
  }
}

/** A commit's description names it; one that a person or an agent wrote has to be told from what happened by itself. */
function checkpointWords({ details }: Of<'checkpoint'>, hook: TaskRecord): Words {
  const { trigger } = details;
  const found = hook.checkpoints.find(({ checkpoint_id: id }) => id === details.checkpoint_id);
  const description = said(found?.description);
  switch (trigger) {
    case 'interval':
      return { text: l10n.t('Periodic checkpoint') };
    case 'step_complete':
    case 'validation':
      return { text: description === '' ? l10n.t('Checkpoint') : description, isMinor: true };
    case 'git_commit':
    case 'git_push':
    case 'pr_created':
      return { text: description === '' ? l10n.t('Checkpoint') : description };
    default:
      return { text: withWords(l10n.t('Checkpoint'), description) };
  }
}

/** What a crash was is recorded with it, and moves to the event that ended the recovery. */
function recoveryAt(hook: TaskRecord, index: number): RecoveryContext | undefined {
  for (const recorded of hook.history.slice(index + 1)) {
    const { details } = historyEvent(recorded);
    const recovery = 'recovery' in details ? details.recovery : undefined;
    if (recovery !== undefined) return recovery;
  }
  return hook.recovery;
}

function recoveryWords(
  event: Of<
    'crash_detected' | 'retry_step' | 'retry_from_checkpoint' | 'retry_validation' | 'skip_step' | 'manual_required'
  >,
  step: string,
  hook: TaskRecord,
  index: number,
): Words {
  switch (event.type) {
    case 'crash_detected': {
      const { cause } = recoveryDetails(recoveryAt(hook, index));
      const known = cause !== undefined && Object.hasOwn(CAUSE_LABELS, cause);
      const why = known ? l10n.t(CAUSE_LABELS[cause as CrashCause]) : '';
      return { text: withWords(l10n.t('Step {0} was interrupted', step), why), level: 'warning' };
    }
    case 'retry_step':
      return { text: l10n.t('Step {0} restarted', step) };
    case 'retry_from_checkpoint':
      return { text: l10n.t('Step {0} continued from the checkpoint', step) };
    case 'retry_validation':
      return { text: l10n.t('Checks of step {0} started again', step) };
    case 'skip_step':
      return { text: l10n.t('Step {0} marked as done', step) };
    case 'manual_required':
      return { text: l10n.t('The recovery of step {0} needs your decision', step), level: 'warning' };
  }
}
