import { l10n } from 'vscode';

/** A length of time (ms) as it stands before "earlier". */
function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 1) return l10n.t('less than 1 s');
  if (seconds < 60) return l10n.t('{0} s', seconds);
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return l10n.t('{0} min', minutes);
  const hours = Math.round(minutes / 60);
  return hours < 48 ? l10n.t('{0} h', hours) : l10n.t('{0} d', Math.round(hours / 24));
}

/** Stands for the time in a sentence; the view shows it in the reader's own zone. */
const TIME = '{time}';

const causes = (): Readonly<Record<string, string>> => ({
  agent_killed: l10n.t('The agent was killed at {0}.', TIME),
  agent_failed: l10n.t('The agent ended with an error at {0}.', TIME),
  validation_died: l10n.t('The running check was killed at {0}.', TIME),
  window_died: l10n.t('The window crashed at {0}.', TIME),
  window_closed: l10n.t('The window was closed at {0}, and nobody continued the work.', TIME),
  machine_slept: l10n.t('The machine slept, and the agent failed at {0}.', TIME),
  machine_rebooted: l10n.t('The machine was restarted. The last sign of life was at {0}.', TIME),
  silence: l10n.t('There has been no activity since {0}.', TIME),
  requested: l10n.t('A recovery was requested. The last sign of life was at {0}.', TIME),
});

/** The sentences of a task that was interrupted. */
const interruption = () => ({
  cause: (cause: string, isTimed: boolean) =>
    isTimed
      ? (causes()[cause] ?? l10n.t('The work was interrupted. The last sign of life was at {0}.', TIME))
      : l10n.t('The work was interrupted.'),
  noCheckpoint: () => l10n.t('No checkpoint was recorded.'),
  lastCheckpoint: (earlier: number) =>
    earlier < 0
      ? l10n.t('A checkpoint was recorded after that.')
      : l10n.t('Last checkpoint {0} earlier.', duration(earlier)),
  changedSince: (files: number, hasCheckpoint: boolean) => {
    if (!hasCheckpoint) return files === 1 ? l10n.t('1 file changed.') : l10n.t('{0} files changed.', files);
    if (files === 0) return l10n.t('No file changed since.');
    return files === 1 ? l10n.t('1 file changed since.') : l10n.t('{0} files changed since.', files);
  },
  agentsError: () => l10n.t("The agent's error:"),
});

/** The sentences of a task that waits for a person. */
const waiting = () => ({
  question: () => l10n.t('The agent has a question. The step continues with your answer.'),
  questionLabel: () => l10n.t('The question:'),
  review: (step: string) => l10n.t('Your review is needed at step {0}.', step),
  checks: (ran: number, failed: number) => {
    if (ran === 0) return l10n.t('No check has run.');
    if (failed > 0) return l10n.t('Checks that failed: {0} of {1}.', failed, ran);
    return ran === 1 ? l10n.t('The check passed.') : l10n.t('All {0} checks passed.', ran);
  },
  unproven: (count: number) =>
    count === 1 ? l10n.t('1 receipt is not valid.') : l10n.t('{0} receipts are not valid.', count),
  outdated: () => l10n.t('Files have changed since the checks ran.'),
  summary: () => l10n.t("The agent's summary:"),
  checkFailed: (step: string) => l10n.t('A check of step {0} failed.', step),
  exited: (command: string, code: number) => l10n.t('{0} failed with exit code {1}.', command, code),
  gaveUp: (step: string) => l10n.t('The agent gave up on step {0}.', step),
  spent: (step: string, attempts: number) =>
    attempts === 1
      ? l10n.t('The only attempt at step {0} is used up.', step)
      : l10n.t('All {0} attempts at step {1} are used up.', attempts, step),
  interrupted: (step: string) => l10n.t('Step {0} was interrupted. Decide how it continues.', step),
  decide: (step: string) => l10n.t('Decide how step {0} continues.', step),
  reason: () => l10n.t('The reason:'),
});

/** All sentences that say what is needed and why, in the editor's language. */
export function needTexts() {
  return {
    ...interruption(),
    ...waiting(),
    setup: () => l10n.t('The task is being set up.'),
    ready: (step: string) => l10n.t('Step {0} is ready. Start an agent, or start the step yourself.', step),
    yours: (step: string) => l10n.t('Step {0} is yours: a review or a decision. Start it when you are ready.', step),
    sentBack: (step: string) => l10n.t('Step {0} was sent back and is ready to start again.', step),
    note: () => l10n.t('Your note:'),
    running: (step: string) => l10n.t('Step {0} is running. Nothing is needed from you.', step),
    workingOn: () => l10n.t('Working on:'),
    submitted: (step: string) => l10n.t('The work on step {0} is submitted. Run its checks to continue.', step),
    validating: (step: string) => l10n.t('The checks of step {0} are running.', step),
    quiet: () => l10n.t('The agent has shown no sign of life since {0}.', TIME),
    quietAdvice: () => l10n.t("Resume the step with another agent, or record that it's still working."),
    left: (step: string) => l10n.t("The agent exited, and step {0} isn't complete.", step),
    completed: () => l10n.t('The task is complete.'),
    failed: () => l10n.t('The task failed.'),
    failedSilently: () => l10n.t('The task failed. No reason was recorded.'),
    abandoned: () => l10n.t('The task was abandoned. Your files were left as they are.'),
  };
}

/** All sentences that say what is needed and why. */
export type NeedTexts = ReturnType<typeof needTexts>;
