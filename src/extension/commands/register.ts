import * as vscode from 'vscode';
import { AtlasError } from '../../core/errors';
import { showFailure } from '../platform/messages';
import type { TextDocuments } from '../platform/textDocuments';
import { Cancelled } from './cancelled';
import type { CommandContext, CommandHandler } from './context';

/** Commands that only read, so that they work in an untrusted folder too. */
const READING = new Set([
  'openHookMd',
  'openReceipts',
  'verifyReceipt',
  'verifyAllReceipts',
  'showCheckpoint',
  'copyRecoverySynopsis',
  'showLog',
  'showMoreTasks',
  'sortTasks',
  'showAllWorkspaces',
  'showThisWindowsTasks',
  'showTaskActions',
  'showInboxItem',
  'showMoreInboxItems',
]);

/** What the commands do, by the module that has them: loaded when one of them is first called. */
const drive = async () => import('./drive');
const files = async () => import('./files');
const maintain = async () => import('./maintain');
const gitHooks = async () => import('./gitHooks');
const receipts = async () => import('./receipts');

/** Those of the inbox, whose module has them by the same names. */
const INBOX = [
  'addInboxItem',
  'claimInboxItem',
  'completeInboxItem',
  'cancelInboxItem',
  'showInboxItem',
  'showMoreInboxItems',
  'resumeSession',
] as const;

/** Every command by its name; its id is `atlas.<name>`. */
function commandTable(documents: TextDocuments): Readonly<Record<string, () => Promise<CommandHandler>>> {
  return {
    startTask: async () => (await import('./startTask')).startTask,
    checkpoint: async () => (await drive()).checkpoint,
    startStep: async () => (await drive()).startStep,
    submitStepOutput: async () => (await drive()).submitStepOutput,
    completeStep: async () => (await drive()).completeStep,
    approve: async () => (await drive()).approve,
    reject: async () => (await drive()).reject,
    resume: async () => (await drive()).resume,
    recover: async () => (await drive()).recover,
    abandonTask: async () => (await drive()).abandonTask,
    failTask: async () => (await drive()).failTask,
    stillWorking: async () => (await drive()).stillWorking,
    openHookMd: async () => (await files()).openHookMd,
    copyRecoverySynopsis: async () => (await files()).copyRecoverySynopsis,
    regenerateHookMd: async () => (await files()).regenerateHookMd,
    exportHook: async () => (await files()).exportHook,
    showCheckpoint: async () => (await files()).showCheckpoint(documents),
    compareCheckpointWithNow: async () => (await files()).compareCheckpointWithNow,
    runValidation: async () => (await import('./validate')).runValidation,
    openReceipts: async () => (await receipts()).openReceipts,
    verifyReceipt: async () => (await receipts()).verifyReceipt,
    verifyAllReceipts: async () => (await receipts()).verifyAllReceipts(documents),
    exportReceipts: async () => (await receipts()).exportReceipts,
    cleanUpHooks: async () => (await maintain()).cleanUpHooks,
    destroyWorkspace: async () => (await maintain()).destroyWorkspace,
    openConfiguration: async () => (await maintain()).openConfiguration,
    runDoctor: async () => (await import('./doctor')).runDoctor(documents),
    installGitHooks: async () => (await gitHooks()).installGitHooks(documents),
    removeGitHooks: async () => (await gitHooks()).removeGitHooks,
    installAtlasCommand: async () => (await import('./atlasCommand')).installAtlasCommand(documents),
    setUpAgent: async () => (await import('./setUpAgent')).setUpAgent(documents),
    showLog: async () => (await maintain()).showLog,
    sortTasks: async () => (await maintain()).sortTasks,
    showMoreTasks: async () => (await maintain()).showMoreTasks,
    showAllWorkspaces: async () => (await maintain()).showAllWorkspaces,
    showThisWindowsTasks: async () => (await maintain()).showThisWindowsTasks,
    showTaskActions: async () => (await import('./taskActions')).showTaskActions,
    ...Object.fromEntries(
      INBOX.map((name) => [name, async () => (await import('./inbox')).inboxCommands(documents)[name]]),
    ),
  };
}

/** Registers all commands. What a command throws is shown; a closed dialog is silent. */
export function registerCommands(context: CommandContext, documents: TextDocuments): vscode.Disposable[] {
  return Object.entries(commandTable(documents)).map(([name, load]) =>
    vscode.commands.registerCommand(`atlas.${name}`, async (argument: unknown) => {
      try {
        if (!vscode.workspace.isTrusted && !READING.has(name)) throw untrusted();
        const handler = await load();
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
