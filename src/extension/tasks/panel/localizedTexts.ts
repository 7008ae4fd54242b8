import { l10n } from 'vscode';
import type { DriftKind } from '../../../core/checkpoint/checkpoint';
import type { CheckpointTrigger, HookState, RecoveryAction } from '../../../core/task/taskRecord';
import type { HookPanelActionName } from '../../../protocol/hookPanel';
import type { JournalStanding } from './hookPanelSource';
import type { ActionText, HookPanelTexts } from './hookPanelTexts';

const states = (): Readonly<Record<HookState, string>> => ({
  initializing: l10n.t('Setting up'),
  step_pending: l10n.t('Step pending'),
  step_running: l10n.t('Step running'),
  step_validating: l10n.t('Validating'),
  awaiting_human: l10n.t('Waiting for you'),
  recovering: l10n.t('Recovering'),
  completed: l10n.t('Completed'),
  failed: l10n.t('Failed'),
  abandoned: l10n.t('Abandoned'),
});

const actions = (): Readonly<Record<HookPanelActionName, ActionText>> => ({
  startStep: { label: l10n.t('Start Step'), hint: l10n.t('Begin the pending step') },
  completeStep: { label: l10n.t('Complete Step'), hint: l10n.t('Record that the step is done and go on to the next') },
  runValidation: { label: l10n.t('Run Validation'), hint: l10n.t("Run the step's commands; they decide it") },
  submitStepOutput: { label: l10n.t('Submit Step Output…'), hint: l10n.t('Submit the step for validation') },
  approve: { label: l10n.t('Approve Step'), hint: l10n.t('Accept the step and go on to the next') },
  reject: { label: l10n.t('Reject Step…'), hint: l10n.t('Have the step done again') },
  resume: { label: l10n.t('Resume Task'), hint: l10n.t('Let the same attempt go on') },
  recover: { label: l10n.t('Recover Task…'), hint: l10n.t('Look for an interruption and say what to do about it') },
  checkpoint: { label: l10n.t('Record Checkpoint…'), hint: l10n.t('Save where the work stands') },
  acknowledge: {
    label: l10n.t('Acknowledge Edit'),
    hint: l10n.t('Confirm that you know of the change that was made outside Atlas'),
  },
  failTask: { label: l10n.t('Mark Task as Failed…'), hint: l10n.t('End the task as failed') },
  abandonTask: { label: l10n.t('Abandon Task…'), hint: l10n.t('Give the task up; its files stay as they are') },
});

const recoveries = (): Readonly<Record<RecoveryAction, string>> => ({
  retry_step: l10n.t('do the step again'),
  retry_from_checkpoint: l10n.t('go on from the checkpoint'),
  retry_validation: l10n.t('validate again'),
  skip_step: l10n.t('take the step as done'),
  manual: l10n.t('decide by hand'),
  await_human: l10n.t('wait for you'),
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
  unknown: l10n.t('not known'),
});

const journals = (): Readonly<Record<Exclude<JournalStanding, 'sound'>, string>> => ({
  edited: l10n.t('hook.json was edited by something other than Atlas; the next change records that.'),
  rolled_back: l10n.t('hook.json is an older version of itself; what happened since may be missing here.'),
  behind: l10n.t('The last change is recorded but not yet in hook.json; the next change writes it.'),
  read_only: l10n.t('This task was written by a newer Atlas and can only be read.'),
});

function recovery(name: RecoveryAction, computed: boolean): ActionText {
  const what = recoveries()[name];
  return computed
    ? { label: l10n.t('Recover: {0}', what), hint: l10n.t('Apply the computed plan') }
    : { label: l10n.t('Instead: {0}', what), hint: l10n.t('Recover in another way than the computed one') };
}

const strings = (): HookPanelTexts['strings'] => ({
  actions: l10n.t('Actions'),
  timeline: l10n.t('Checkpoints'),
  timelineHelp: l10n.t('Use the arrow keys to move between checkpoints and Enter to show one.'),
  noCheckpoints: l10n.t('No checkpoint yet.'),
  gap: l10n.t('no checkpoint'),
  latest: l10n.t('Latest:'),
  files: l10n.t('Files since the last checkpoint'),
  noFiles: l10n.t('Nothing to compare with.'),
  document: l10n.t('HOOK.md'),
  notices: l10n.t('Notices'),
  updated: l10n.t('Updated'),
  openFile: l10n.t('Open file'),
  openSource: l10n.t('Open HOOK.md as text'),
  copySynopsis: l10n.t('Copy Agent Prompt'),
  copyPath: l10n.t('Copy Path'),
  dismiss: l10n.t('Dismiss'),
  working: l10n.t('Working…'),
  timedOut: l10n.t('The extension does not answer. Reload the window if it stays so.'),
});

/** The panel's texts in the editor's language. */
export function localizedTexts(): HookPanelTexts {
  return {
    strings: strings(),
    state: (state) => states()[state],
    action: (action) => actions()[action],
    recovery,
    trigger: (trigger) => triggers()[trigger],
    drift: (kind) => drifts()[kind],
    journal: (standing) => journals()[standing],
    step: (name, number, total) => l10n.t('{0} ({1} of {2})', name, number, total),
    attempt: (attempt, max) => l10n.t('{0} of {1}', attempt, max),
    announcement: (state, step) => (step === undefined ? state : l10n.t('{0}: step {1}', state, step)),
    edited: (times) =>
      times === 1
        ? l10n.t('hook.json was edited by something other than Atlas; the edit is recorded.')
        : l10n.t('hook.json was edited by something other than Atlas {0} times; the edits are recorded.', times),
    untrusted: () => l10n.t('In an untrusted folder Atlas only reads. Trust the folder to go on.'),
    quiet: () => l10n.t('The agent shows no sign of life.'),
    crashed: () => l10n.t('The work was interrupted.'),
    recovering: (reason) => (reason === '' ? l10n.t('The work was interrupted.') : reason),
    waiting: (message) =>
      message === '' ? l10n.t('The task waits for you.') : l10n.t('The task waits for you: {0}', message),
    mark: (trigger, description, step) => l10n.t('{0}: {1} (step {2})', trigger, description, step),
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
