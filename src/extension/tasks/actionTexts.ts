import { l10n } from 'vscode';
import { ACTION_LABELS } from '../../core/task/labels';
import type { TaskRecord } from '../../core/task/taskRecord';
import type { OpenAction, TaskAction } from '../../core/task/taskActions';

/** What an action is called on every surface, its codicon, and what it does in a sentence. */
export interface ActionText {
  readonly label: string;
  readonly icon: string;
  readonly hint: string;
}

/** What drives a task. */
const driving = () => ({
  startAgent: {
    label: l10n.t('Start Agent'),
    icon: 'rocket',
    hint: l10n.t('Start the step, and an agent in a terminal that reads HOOK.md'),
  },
  startStep: { label: l10n.t('Start Step'), icon: 'play', hint: l10n.t('Start the step that is ready') },
  completeStep: {
    label: l10n.t('Complete Step'),
    icon: 'check',
    hint: l10n.t('Mark the step done and continue with the next one'),
  },
  runValidation: {
    label: l10n.t('Run Validation'),
    icon: 'beaker',
    hint: l10n.t("Run the step's checks; they pass or fail it"),
  },
  submitStepOutput: {
    label: l10n.t('Submit Step Output…'),
    icon: 'output',
    hint: l10n.t('Submit the step for validation'),
  },
  recover: {
    label: l10n.t('Recover Task…'),
    icon: 'debug-restart',
    hint: l10n.t('Check for an interruption and show the recovery plan'),
  },
  checkpoint: { label: l10n.t('Record Checkpoint…'), icon: 'bookmark', hint: l10n.t('Record the current progress') },
  resume: { label: l10n.t('Resume'), icon: 'debug-continue', hint: l10n.t('Continue the same attempt') },
  stillWorking: {
    label: l10n.t('Still Working'),
    icon: 'watch',
    hint: l10n.t('Record that the agent is still working'),
  },
});

/** What a person decides, and what they look at for that. */
const deciding = () => ({
  answer: {
    label: l10n.t('Answer…'),
    icon: 'comment',
    hint: l10n.t('Answer the question; the step continues with your answer'),
  },
  reviewChanges: {
    label: l10n.t('Review Changes'),
    icon: 'diff-multiple',
    hint: l10n.t('Show all changes since the task started'),
  },
  showOutput: { label: l10n.t('Show Output'), icon: 'output', hint: l10n.t('Show what the failed check printed') },
  approve: {
    label: l10n.t('Approve Step'),
    icon: 'thumbsup',
    hint: l10n.t('Accept the step and continue with the next one'),
  },
  acceptDespiteFailure: {
    label: l10n.t('Accept Despite Failure…'),
    icon: 'warning',
    hint: l10n.t('Accept the step although a check failed; the reason is recorded'),
  },
  reject: {
    label: l10n.t('Send Back with Note…'),
    icon: 'reply',
    hint: l10n.t('Have the agent do the step again; it sees your note'),
  },
  acknowledge: {
    label: l10n.t('Acknowledge Edit'),
    icon: 'check',
    hint: l10n.t('Confirm that you know about the change made outside Atlas'),
  },
  failTask: { label: l10n.t('Mark Task as Failed…'), icon: 'error', hint: l10n.t('End the task as failed') },
  abandonTask: {
    label: l10n.t('Abandon Task…'),
    icon: 'circle-slash',
    hint: l10n.t("Stop working on the task; your files don't change"),
  },
});

const texts = (): Readonly<Record<TaskAction, ActionText>> => ({ ...driving(), ...deciding() });

/** What an open action is called in the situation that a task is in. */
export function actionText({ action, recovery }: OpenAction, { state }: Pick<TaskRecord, 'state'>): ActionText {
  const own = texts()[action];
  if (action === 'runValidation' && state === 'awaiting_human')
    return { ...own, label: l10n.t('Run Again'), hint: l10n.t('Run the checks again in the same attempt') };
  if (action !== 'recover' || state !== 'recovering') return own;
  if (recovery === undefined)
    return { ...own, label: l10n.t('Recover Differently…'), hint: l10n.t('Choose something else than the plan') };
  return { ...own, label: titled(l10n.t(ACTION_LABELS[recovery])), hint: l10n.t('Apply the recovery plan') };
}

const SMALL = new Set(['the', 'for', 'from', 'a', 'an', 'of', 'to']);

/** As a button has it; texts of other languages stay as they are where they have no such words. */
function titled(label: string): string {
  return label
    .split(' ')
    .map((word, at) => (at > 0 && SMALL.has(word) ? word : `${word.charAt(0).toUpperCase()}${word.slice(1)}`))
    .join(' ');
}
