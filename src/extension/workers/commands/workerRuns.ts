import * as vscode from 'vscode';
import { AtlasError, unwrap } from '../../../core/shared/errors';
import { oneLine } from '../../../core/shared/text';
import type { SlotPlan } from '../../../core/worker/slotSteps';
import { plain } from '../../shared/messages';
import type { WorkersWindow } from '../workersWindow';
import type { CommandHandler } from '../../shared/context';
import { askOneText } from '../../shared/questions';
import { type FoundWorker, confirm, workerFor } from './workerChoices';

const COMMAND_KEY = 'atlas.workerCommand';
const MAX_COMMAND = 4000;

/** Atlas: Run Worker. In a terminal, by the `atlas` command that all terminals of the editor have. */
export const runWorker: CommandHandler = async (context, argument) => {
  const window = await context.workers();
  const found = await workerFor(window.model, argument, vscode.l10n.t('Run Worker'), 'run');
  const plan = unwrap(await found.looked.workers.steps.plan(found.status.worker));
  if (plan.action === 'run' || plan.action === 'resume' || plan.action === 'restart') {
    await runInTerminal(window, found, false);
    return;
  }
  const message = vscode.l10n.t("{0} can't run now: {1}", found.status.worker, plan.reason);
  throw new AtlasError('illegal_transition', message, { hint: vscode.l10n.t('Run "Atlas: Recover Worker".') });
};

async function runInTerminal(
  { memory }: WorkersWindow,
  { looked, status }: FoundWorker,
  ownerIsGone: boolean,
): Promise<void> {
  const command = await askOneText({
    title: vscode.l10n.t('Run Worker {0}', status.worker),
    prompt: vscode.l10n.t("Which command does the work? FORGE_HOOK names the worker's folder."),
    value: memory.get<string>(COMMAND_KEY, ''),
    empty: vscode.l10n.t('Enter a command.'),
  });
  await memory.update(COMMAND_KEY, command);
  const terminal = vscode.window.createTerminal({
    name: vscode.l10n.t('Worker {0}', status.worker),
    cwd: looked.repository.main,
    iconPath: new vscode.ThemeIcon('play-circle'),
  });
  terminal.show();
  terminal.sendText(runLine(status.worker, command, ownerIsGone), true);
}

/** The line that runs a worker. Its name was checked: nothing in it means anything to a shell. The command is a person's. */
export function runLine(worker: string, command: string, ownerIsGone: boolean): string {
  return [
    'atlas worker run',
    worker,
    ...(ownerIsGone ? ['--owner-is-gone'] : []),
    '--',
    oneLine(command, MAX_COMMAND),
  ].join(' ');
}

/** Atlas: Recover Worker. Makes its folder again, shows the plan, and goes on where that is wanted. */
export const recoverWorker: CommandHandler = async (context, argument) => {
  const window = await context.workers();
  const found = await workerFor(window.model, argument, vscode.l10n.t('Recover Worker'), 'recover');
  const { looked, status } = found;
  const { worker } = status;
  const restored = unwrap(await looked.workers.steps.restore(worker));
  if (restored.added) await window.model.look();
  if (status.damage !== undefined) throw status.damage;
  const again = restored.added ? vscode.l10n.t('The folder was restored.') : '';
  if (status.state === undefined) {
    void vscode.window.showInformationMessage([vscode.l10n.t('{0} has no task.', worker), again].join(' '));
    return;
  }
  await follow(window, found, again, unwrap(await looked.workers.steps.plan(worker)), false);
};

/** Shows a plan, and does what a person chooses. */
async function follow(
  window: WorkersWindow,
  found: FoundWorker,
  again: string,
  plan: SlotPlan,
  ownerIsGone: boolean,
): Promise<void> {
  const { looked, status } = found;
  const detail = plain([plan.reason, again].join(' '), 500);
  switch (plan.action) {
    case 'nothing':
      void vscode.window.showInformationMessage(
        vscode.l10n.t('Nothing to recover for {0}. {1}', status.worker, detail),
      );
      return;
    case 'ask': {
      const question = vscode.l10n.t(
        'Is the process that worked on {0} gone?',
        plain(status.state?.taskId ?? status.worker),
      );
      await confirm(question, detail, vscode.l10n.t('It Is Gone'));
      await follow(window, found, '', unwrap(await looked.workers.steps.plan(status.worker, true)), true);
      return;
    }
    case 'give_up': {
      const question = vscode.l10n.t('Give up on {0}?', plain(status.state?.taskId ?? status.worker));
      await confirm(question, detail, vscode.l10n.t('Mark as Failed'));
      // Whoever asks for work that was tried too often has it marked, and is told so.
      const claimed = await looked.workers.claim({ worker: status.worker, ownerIsGone });
      await window.model.look();
      if (!claimed.ok) throw claimed.error;
      return;
    }
    case 'run':
    case 'resume':
    case 'restart':
      await confirm(planQuestions(status.worker)[plan.action], detail, vscode.l10n.t('Run Worker'));
      await runInTerminal(window, found, ownerIsGone);
  }
}

const planQuestions = (worker: string) => ({
  run: vscode.l10n.t("Start {0}'s task?", worker),
  resume: vscode.l10n.t("Continue {0}'s task?", worker),
  restart: vscode.l10n.t("Restart {0}'s task?", worker),
});
