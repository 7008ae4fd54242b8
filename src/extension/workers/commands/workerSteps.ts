import * as vscode from 'vscode';
import { AtlasError, unwrap } from '../../../core/shared/errors';
import { HANDOFF_REASONS, type HandoffReason, type SlotState } from '../../../core/worker/slotContent';
import { leaseOf } from '../../../core/worker/slotSteps';
import { plain } from '../../shared/messages';
import type { CommandHandler } from '../../shared/context';
import { confirm } from '../../shared/dialogs';
import { askInTurn, askOneText, pickQuestion, textQuestion } from '../../shared/questions';
import { type FoundWorker, workerFor } from './workerChoices';

/** The state of work that is under way; the lease of its present incarnation is what a person speaks for. */
function stateOf({ status }: FoundWorker): SlotState {
  const { state, damage, worker } = status;
  if (damage !== undefined) throw damage;
  if (state !== undefined) return state;
  throw new AtlasError('not_found', vscode.l10n.t('{0} has no task.', worker), {
    hint: vscode.l10n.t('Assign a task to it.'),
  });
}

const REASON_LABELS: Readonly<Record<HandoffReason, string>> = {
  context_limit: vscode.l10n.t("The context is full (doesn't count as an attempt)"),
  timeout: vscode.l10n.t('It took too long'),
  error: vscode.l10n.t('Something went wrong'),
};

/** Atlas: Hand Off Work. The next incarnation goes on where this one says. */
export const handOffWork: CommandHandler = async (context, argument) => {
  const { model } = await context.workers();
  const title = vscode.l10n.t('Hand Off Work');
  const found = await workerFor(model, argument, title, 'running');
  const state = stateOf(found);
  const answers: { reason: HandoffReason; point: string } = { reason: 'context_limit', point: '' };
  const items = HANDOFF_REASONS.map((value) => ({ label: value, description: REASON_LABELS[value], value }));
  const prompt = vscode.l10n.t('Where should the next process continue with {0}?', plain(state.taskId));
  const empty = vscode.l10n.t('Enter where to continue.');
  await askInTurn([
    pickQuestion({ title, placeholder: vscode.l10n.t('Why?'), items }, (reason) => (answers.reason = reason)),
    textQuestion(
      () => ({ title, prompt, value: answers.point, empty }),
      (point) => (answers.point = point),
    ),
  ]);
  unwrap(await found.looked.workers.steps.handoff(leaseOf(state), answers.reason, answers.point));
  await model.look();
};

/** Atlas: Complete Work and Atlas: Mark Work as Failed, for work that no process of ours is seen to do. */
export function endWork(how: 'complete' | 'fail'): CommandHandler {
  return async (context, argument) => {
    const { model } = await context.workers();
    const title = how === 'complete' ? vscode.l10n.t('Complete Work') : vscode.l10n.t('Mark Work as Failed');
    const found = await workerFor(model, argument, title, 'held');
    const state = stateOf(found);
    if (model.isAlive(found.status))
      throw new AtlasError(
        'illegal_transition',
        vscode.l10n.t('{0} is running and will report its own result.', state.worker),
        { hint: vscode.l10n.t('Wait for it, or end its process first.') },
      );
    const ended = how === 'complete' ? await complete(found, state) : await fail(found, state, title);
    await model.look();
    if (ended.length === 0) return;
    const left = plain(ended.join(', '), 300);
    await vscode.window.showWarningMessage(vscode.l10n.t("Some files of the folder can't be kept: {0}", left));
  };
}

/** Completes the work with what lies in its folder, once that was confirmed; gives what could not be kept. */
async function complete({ looked, status }: FoundWorker, state: SlotState): Promise<readonly string[]> {
  const detail = vscode.l10n.t(
    'The files in {0} are recorded as the result. A late report by the worker itself is refused.',
    status.folder,
  );
  const question = vscode.l10n.t('Is {0} complete?', plain(state.taskId));
  await confirm(question, detail, vscode.l10n.t('Complete'), vscode.l10n.t('Keep It Open'));
  return unwrap(await looked.workers.steps.ending.end(leaseOf(state), 'complete')).skipped;
}

async function fail({ looked }: FoundWorker, state: SlotState, title: string): Promise<readonly string[]> {
  const message = await askOneText({
    title,
    prompt: vscode.l10n.t('Why did {0} fail? The next attempt sees the reason.', plain(state.taskId)),
    value: '',
    empty: vscode.l10n.t('Enter a reason.'),
  });
  const error = { code: 'by_hand', message, recoverable: true };
  return unwrap(await looked.workers.steps.ending.end(leaseOf(state), 'fail', { error })).skipped;
}

/** Atlas: Clear Worker. What hung there stays in the history of its branch. */
export const clearWorker: CommandHandler = async (context, argument) => {
  const { model } = await context.workers();
  const { looked, status } = await workerFor(model, argument, vscode.l10n.t('Clear Worker'), 'clear');
  const detail = vscode.l10n.t('This empties {0}. The branch keeps its history.', status.folder);
  await confirm(vscode.l10n.t('Clear {0}?', status.worker), detail, vscode.l10n.t('Clear'));
  unwrap(await looked.workers.steps.clear(status.worker));
  await model.look();
};

/** Atlas: Copy Path. */
export const copyHookPath: CommandHandler = async (context, argument) => {
  const { model } = await context.workers();
  const { status } = await workerFor(model, argument, vscode.l10n.t('Copy Path'), undefined);
  await vscode.env.clipboard.writeText(status.folder);
  vscode.window.setStatusBarMessage(vscode.l10n.t('Copied the path of {0}.', status.worker), 4000);
};
