import * as vscode from 'vscode';
import { AtlasError } from '../../core/errors';
import { showFailure } from '../platform/messages';
import type { TextDocuments } from '../platform/textDocuments';
import { Cancelled } from './arguments';
import type { CommandContext, CommandHandler } from './context';
import * as drive from './drive';
import * as files from './files';
import * as maintain from './maintain';
import { startTask } from './startTask';
import { showTaskActions } from './taskActions';

/** Commands that only read, so that they work in an untrusted folder too. */
const READING = new Set([
  'openHookMd',
  'showCheckpoint',
  'copyRecoverySynopsis',
  'showLog',
  'showMoreTasks',
  'sortTasks',
  'showAllWorkspaces',
  'showThisWindowsTasks',
  'showTaskActions',
]);

/** Every command by its name; its id is `atlas.<name>`. */
function commandTable(documents: TextDocuments): Readonly<Record<string, CommandHandler>> {
  return {
    startTask,
    checkpoint: drive.checkpoint,
    startStep: drive.startStep,
    submitStepOutput: drive.submitStepOutput,
    completeStep: drive.completeStep,
    approve: drive.approve,
    reject: drive.reject,
    resume: drive.resume,
    recover: drive.recover,
    abandonTask: drive.abandonTask,
    failTask: drive.failTask,
    stillWorking: drive.stillWorking,
    openHookMd: files.openHookMd,
    copyRecoverySynopsis: files.copyRecoverySynopsis,
    regenerateHookMd: files.regenerateHookMd,
    exportHook: files.exportHook,
    showCheckpoint: files.showCheckpoint(documents),
    compareCheckpointWithNow: files.compareCheckpointWithNow,
    cleanUpHooks: maintain.cleanUpHooks,
    destroyWorkspace: maintain.destroyWorkspace,
    openConfiguration: maintain.openConfiguration,
    runDoctor: maintain.runDoctor(documents),
    showLog: maintain.showLog,
    sortTasks: maintain.sortTasks,
    showMoreTasks: maintain.showMoreTasks,
    showAllWorkspaces: maintain.showAllWorkspaces,
    showThisWindowsTasks: maintain.showThisWindowsTasks,
    showTaskActions,
  };
}

/** Registers all commands. What a command throws is shown; a closed dialog is silent. */
export function registerCommands(context: CommandContext, documents: TextDocuments): vscode.Disposable[] {
  return Object.entries(commandTable(documents)).map(([name, handler]) =>
    vscode.commands.registerCommand(`atlas.${name}`, async (argument: unknown) => {
      try {
        if (!vscode.workspace.isTrusted && !READING.has(name)) throw untrusted();
        await handler(context, argument);
      } catch (error) {
        if (!(error instanceof Cancelled)) await showFailure(error, context.log);
      }
    }),
  );
}

function untrusted(): AtlasError {
  return new AtlasError('human_only', vscode.l10n.t('In an untrusted folder Atlas only reads.'), {
    mend: vscode.l10n.t('Trust the folder to go on.'),
  });
}
