import { l10n } from 'vscode';
import type { DriftKind } from '../../../core/checkpoint/checkpoint';
import type { CheckpointTrigger, TaskRecord } from '../../../core/task/taskRecord';
import type { OpenAction } from '../../../core/task/taskActions';
import type { WaitKind } from '../../../core/task/waiting';
import type { TaskPanelStrings } from '../../../protocol/taskPanel';
import { actionText } from '../actionTexts';
import { stateLabel } from '../../shared/stateLook';

const triggers = (): Readonly<Record<CheckpointTrigger, string>> => ({
  manual: l10n.t('Manual'),
  git_commit: l10n.t('Commit'),
  git_push: l10n.t('Push'),
  pr_created: l10n.t('Pull request'),
  validation: l10n.t('Validation'),
  step_complete: l10n.t('Step complete'),
  interval: l10n.t('Interval'),
});

const drifts = (): Readonly<Record<DriftKind, string>> => ({
  unchanged: l10n.t('unchanged'),
  changed: l10n.t('changed'),
  missing: l10n.t('missing'),
  new: l10n.t('new'),
  unknown: l10n.t('unknown'),
});

const waits = (): Readonly<Record<WaitKind, string>> => ({
  review: l10n.t('Your review is needed.'),
  question: l10n.t('The agent has a question.'),
  validation_failed: l10n.t('A check failed.'),
  step_failed: l10n.t('The agent gave up on the step.'),
  attempts_spent: l10n.t('All attempts at the step are used up.'),
  interrupted: l10n.t('The step was interrupted. Decide how it continues.'),
});

const strings = (): TaskPanelStrings => ({
  actions: l10n.t('Actions'),
  moreActions: l10n.t('More Actions'),
  timeline: l10n.t('Checkpoints'),
  timelineHelp: l10n.t('Use the arrow keys to move between checkpoints and Enter to show one.'),
  noCheckpoints: l10n.t('No checkpoint yet.'),
  gap: l10n.t('no checkpoint'),
  latest: l10n.t('Latest:'),
  files: l10n.t('Files since the last checkpoint'),
  noFiles: l10n.t('No checkpoint to compare with.'),
  document: l10n.t('HOOK.md'),
  notices: l10n.t('Notices'),
  updated: l10n.t('Updated'),
  openFile: l10n.t('Open file'),
  openSource: l10n.t('Open HOOK.md as text'),
  copySynopsis: l10n.t('Copy Agent Prompt'),
  copyPath: l10n.t('Copy Path'),
  dismiss: l10n.t('Dismiss'),
  working: l10n.t('Working…'),
  timedOut: l10n.t("The extension doesn't answer. If this continues, reload the window."),
});

/** Every text that the panel's model is made of, in the editor's language. */
export type TaskPanelTexts = ReturnType<typeof taskPanelTexts>;

/** The panel's texts in the editor's language. */
export function taskPanelTexts() {
  return {
    strings: strings(),
    state: stateLabel,
    action: (open: OpenAction, hook: TaskRecord) => {
      const { label, hint } = actionText(open, hook);
      return { label, hint };
    },
    trigger: (trigger: CheckpointTrigger) => triggers()[trigger],
    drift: (kind: DriftKind) => drifts()[kind],
    journalEdited: () => l10n.t('hook.json was edited outside Atlas. The next change records it.'),
    step: (name: string, number: number, total: number) => l10n.t('{0} ({1} of {2})', name, number, total),
    attempt: (attempt: number, max: number) => l10n.t('{0} of {1}', attempt, max),
    announcement: (state: string, step: string | undefined) =>
      step === undefined ? state : l10n.t('{0}: step {1}', state, step),
    edited: (times: number) =>
      times === 1
        ? l10n.t('hook.json was edited outside Atlas. The edit is recorded.')
        : l10n.t('hook.json was edited outside Atlas {0} times. The edits are recorded.', times),
    untrusted: () => l10n.t('Atlas is read-only in an untrusted folder. Trust the folder to continue.'),
    quiet: () => l10n.t('The agent is quiet.'),
    crashed: () => l10n.t('The work was interrupted.'),
    recovering: (reason: string) => (reason === '' ? l10n.t('The work was interrupted.') : reason),
    waiting: (kind: WaitKind, message: string) => [waits()[kind], message].filter((part) => part !== '').join(' '),
    accepted: (step: string, reason: string) =>
      l10n.t('Step {0} was accepted with a failed check. The reason: {1}', step, reason),
    mark: (trigger: string, description: string, step: string) =>
      l10n.t('{0}: {1} (step {2})', trigger, description, step),
    uncommitted: () => l10n.t('with uncommitted changes'),
    labels: {
      workspace: l10n.t('Workspace'),
      template: l10n.t('Template'),
      step: l10n.t('Step'),
      attempt: l10n.t('Attempt'),
      branch: l10n.t('Branch'),
      workingOn: l10n.t('Working on'),
    },
  };
}
