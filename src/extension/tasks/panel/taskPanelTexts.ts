import { l10n } from 'vscode';
import type { DriftKind } from '../../../core/checkpoint/checkpoint';
import type { CheckpointTrigger, RecoveryAction } from '../../../core/task/taskRecord';
import type { TaskAction } from '../../../core/task/taskActions';
import type { TaskPanelStrings } from '../../../protocol/taskPanel';
import { recoveryLabel, stateLabel } from '../../shared/stateLook';

/** A button's label and what it does. */
interface ActionText {
  readonly label: string;
  readonly hint: string;
}

const actions = (): Readonly<Record<TaskAction, ActionText>> => ({
  startStep: { label: l10n.t('Start Step'), hint: l10n.t('Start the step that is ready') },
  completeStep: { label: l10n.t('Complete Step'), hint: l10n.t('Mark the step done and continue with the next one') },
  runValidation: { label: l10n.t('Run Validation'), hint: l10n.t("Run the step's checks; they pass or fail it") },
  submitStepOutput: { label: l10n.t('Submit Step Output…'), hint: l10n.t('Submit the step for validation') },
  approve: { label: l10n.t('Approve Step'), hint: l10n.t('Accept the step and continue with the next one') },
  reject: { label: l10n.t('Reject Step…'), hint: l10n.t('Send the step back, to be done again') },
  resume: { label: l10n.t('Resume Task'), hint: l10n.t('Continue the same attempt') },
  recover: { label: l10n.t('Recover Task…'), hint: l10n.t('Check for an interruption and show the recovery plan') },
  checkpoint: { label: l10n.t('Record Checkpoint…'), hint: l10n.t('Record the current progress') },
  acknowledge: {
    label: l10n.t('Acknowledge Edit'),
    hint: l10n.t('Confirm that you know about the change made outside Atlas'),
  },
  failTask: { label: l10n.t('Mark Task as Failed…'), hint: l10n.t('End the task as failed') },
  abandonTask: { label: l10n.t('Abandon Task…'), hint: l10n.t("Stop working on the task; your files don't change") },
});

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

function recovery(name: RecoveryAction, computed: boolean): ActionText {
  const what = recoveryLabel(name);
  return computed
    ? { label: l10n.t('Recover: {0}', what), hint: l10n.t('Apply the recovery plan') }
    : { label: l10n.t('Instead: {0}', what), hint: l10n.t('Recover differently than the plan') };
}

const strings = (): TaskPanelStrings => ({
  actions: l10n.t('Actions'),
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
    action: (action: TaskAction) => actions()[action],
    recovery,
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
    waiting: (message: string) =>
      message === '' ? l10n.t('The task is waiting for you.') : l10n.t('The task is waiting for you: {0}', message),
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
