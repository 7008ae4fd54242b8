import { l10n } from 'vscode';
import type { TaskRecord, TaskState } from '../../../core/task/taskRecord';
import type { OpenAction } from '../../../core/task/taskActions';
import type { PanelFile, PanelStep, StepMark, TaskPanelStrings } from '../../../protocol/taskPanel';
import { actionText } from '../actionTexts';
import { stateLabel } from '../../shared/stateLook';

const marks = (): Readonly<Record<StepMark['kind'], string>> => ({
  manual: l10n.t('Checkpoint'),
  git_commit: l10n.t('Commit'),
  git_push: l10n.t('Push'),
  pr_created: l10n.t('Pull request'),
  validation: l10n.t('Checks passed'),
  step_complete: l10n.t('Step complete'),
  interval: l10n.t('Periodic checkpoint'),
  failure: l10n.t('Failed check'),
  wait: l10n.t('Waited for you'),
  interruption: l10n.t('Interruption'),
});

const looks = (): Readonly<Record<PanelStep['look'], string>> => ({
  done: l10n.t('done'),
  skipped: l10n.t('done before an interruption'),
  accepted: l10n.t('accepted with a failed check'),
  running: l10n.t('running'),
  waiting: l10n.t('waiting for you'),
  interrupted: l10n.t('interrupted'),
  failed: l10n.t('failed'),
  ready: l10n.t('ready'),
  pending: l10n.t('not started'),
});

const changeLabels = (): Readonly<Record<PanelFile['kind'], string>> => ({
  modified: l10n.t('modified'),
  added: l10n.t('new'),
  deleted: l10n.t('deleted'),
  unknown: l10n.t('same as at the start'),
});

const strings = (): TaskPanelStrings => ({
  now: l10n.t('What To Do Now'),
  moreActions: l10n.t('More Actions'),
  steps: l10n.t('Steps'),
  stepsHelp: l10n.t('Use the arrow keys to move between checkpoints and Enter to show one.'),
  noCheckpoints: l10n.t('No checkpoint yet.'),
  latest: l10n.t('Latest:'),
  changes: l10n.t('Changes'),
  reviewChanges: l10n.t('Review Changes'),
  reviewHint: l10n.t('Show all changes since the task started'),
  checks: l10n.t('Checks'),
  noChecks: l10n.t('No check has run yet.'),
  agentSaid: l10n.t('Agent:'),
  output: l10n.t('Output'),
  showReceipt: l10n.t('Show Receipt'),
  activity: l10n.t('Activity'),
  earlier: l10n.t('Show Earlier'),
  document: l10n.t('What the agent reads (HOOK.md)'),
  notices: l10n.t('Notices'),
  openFile: l10n.t('Open file'),
  openSource: l10n.t('Open as Text'),
  copySynopsis: l10n.t('Copy Agent Prompt'),
  copyPath: l10n.t('Copy Path'),
  dismiss: l10n.t('Dismiss'),
  working: l10n.t('Working…'),
  timedOut: l10n.t("The extension doesn't answer. If this continues, reload the window."),
});

/** Every text that the panel's model is made of, in the editor's language. */
export type TaskPanelTexts = ReturnType<typeof taskPanelTexts>;

/** Stands for a time; the view shows it. */
const TIME = '{time}';

/** What is said of steps and their marks. */
const steps = () => ({
  step: (name: string, number: number, total: number) => l10n.t('{0} ({1} of {2})', name, number, total),
  stepLook: (look: PanelStep['look']) => looks()[look],
  attempt: (attempt: number) => l10n.t('attempt {0}', attempt),
  markKind: (kind: StepMark['kind']) => marks()[kind],
  mark: (kind: string, description: string) => (description === '' ? kind : l10n.t('{0}: {1}', kind, description)),
  lastOf: (periodic: number) => l10n.t('The last of {0} periodic checkpoints', periodic),
  earlierMarks: (count: number) => l10n.t('{0} earlier', count),
  uncommitted: () => l10n.t('with uncommitted changes'),
});

/** What is said of files. */
const files = () => ({
  change: (kind: PanelFile['kind']) => changeLabels()[kind],
  recent: () => l10n.t('changed after the last checkpoint'),
  changed: (count: number, added: number, removed: number) => {
    if (count === 0) return l10n.t('No file has changed since the task started.');
    const said =
      count === 1
        ? l10n.t('1 file has changed since the task started')
        : l10n.t('{0} files have changed since the task started', count);
    // Large and binary files count no lines.
    return added + removed === 0 ? `${said}.` : l10n.t('{0}: +{1} −{2} lines.', said, added, removed);
  },
  changedSince: (count: number) => {
    if (count === 0) return l10n.t('No file has changed since the last checkpoint ({0}).', TIME);
    return count === 1
      ? l10n.t('1 file has changed since the last checkpoint ({0}).', TIME)
      : l10n.t('{0} files have changed since the last checkpoint ({1}).', count, TIME);
  },
  moreFiles: (count: number) => l10n.t('{0} more', count),
});

/** The panel's texts in the editor's language. */
export function taskPanelTexts() {
  return {
    ...steps(),
    ...files(),
    strings: strings(),
    state: (state: TaskState) => stateLabel(state),
    both: (state: string, more: string) => `${state} · ${more}`,
    wait: (label: string) => l10n.t(label),
    quiet: () => l10n.t('Quiet'),
    left: () => l10n.t('Agent exited'),
    action: (open: OpenAction, hook: TaskRecord) => {
      const { label, hint } = actionText(open, hook);
      return { label, hint };
    },
    journalEdited: () => l10n.t('hook.json was edited outside Atlas. The next change records it.'),
    announcement: (state: string, step: string | undefined) =>
      step === undefined ? state : l10n.t('{0}: step {1}', state, step),
    edited: (times: number) =>
      times === 1
        ? l10n.t('hook.json was edited outside Atlas. The edit is recorded.')
        : l10n.t('hook.json was edited outside Atlas {0} times. The edits are recorded.', times),
    untrusted: () => l10n.t('Atlas is read-only in an untrusted folder. Trust the folder to continue.'),
    accepted: (step: string, reason: string) =>
      l10n.t('Step {0} was accepted with a failed check. The reason: {1}', step, reason),
    acceptedCheck: () => l10n.t('accepted despite the failure'),
    columns: {
      result: l10n.t('Result'),
      receipt: l10n.t('Receipt'),
      files: l10n.t('Files'),
      duration: l10n.t('Duration'),
    },
    labels: {
      template: l10n.t('Template'),
      branch: l10n.t('Branch'),
      repository: l10n.t('Repository'),
    },
  };
}
