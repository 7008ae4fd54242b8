import * as vscode from 'vscode';
import type { CommandHandler } from '../../shared/context';
import { workerFor } from './workerChoices';

/** Atlas: Show Worker. How it stands, what its branch holds, and what can be done with it. */
export const showWorker: CommandHandler = async (context, argument) => {
  const { model } = await context.workers();
  const { looked, status } = await workerFor(model, argument, vscode.l10n.t('Show Worker'), undefined);
  context.panels.openDetails({ kind: 'worker', repository: looked.repository.main, worker: status.worker });
};
