import * as vscode from 'vscode';
import { AtlasError } from '../../core/shared/errors';
import { Cancelled, showFailure } from './messages';
import { type CommandContext, type CommandHandler, LOST_ROW } from './context';

/** Commands that only read, so that they work in an untrusted folder too. */
const READING = new Set([
  'openHookMd',
  'openReceipts',
  'verifyReceipt',
  'verifyAllReceipts',
  'showCheckpoint',
  'showCheckpointFile',
  'compareCheckpointWithPrevious',
  'copyRecoverySynopsis',
  'showLog',
  'showMoreTasks',
  'sortTasks',
  'showOnlyNeedsYou',
  'showAllTasks',
  'showOutput',
  'showAllWorkspaces',
  'showThisWindowsTasks',
  'showTaskActions',
  'showInboxItem',
  'showMoreInboxItems',
]);

type Load = () => Promise<CommandHandler>;

/** Commands by the names that the module which has them gives them; it is loaded when one of them is first called. */
function family<N extends string>(
  load: () => Promise<Readonly<Record<NoInfer<N>, CommandHandler>>>,
  ...names: readonly N[]
): Record<string, Load> {
  return Object.fromEntries(names.map((name) => [name, async () => (await load())[name]]));
}

const drive = async () => import('../tasks/drive');
const files = async () => import('../checkpoints/files');
const compareFiles = async () => import('../checkpoints/compareFiles');
const receipts = async () => import('../receipts/receipts');
const maintain = async () => import('../tasks/maintain');
const inbox = async () => (await import('../inbox/inbox')).INBOX_COMMANDS;
const sessions = async () => (await import('../sessions/sessionCommands')).SESSION_COMMANDS;
const workers = async () => (await import('../workers/commands/workers')).WORKER_COMMANDS;

/** Every command by its name; its id is `atlas.<name>`. */
const COMMANDS: Readonly<Record<string, Load>> = {
  ...family(async () => import('../tasks/startTask'), 'startTask'),
  ...family(drive, 'checkpoint', 'startStep', 'submitStepOutput', 'completeStep', 'approve', 'reject', 'resume'),
  ...family(drive, 'acceptDespiteFailure', 'answer'),
  ...family(async () => import('../tasks/startAgent'), 'startAgent'),
  ...family(async () => import('../tasks/review'), 'reviewChanges', 'showOutput'),
  ...family(drive, 'recover', 'acknowledge', 'abandonTask', 'failTask', 'stillWorking'),
  ...family(files, 'openHookMd', 'copyRecoverySynopsis', 'regenerateHookMd', 'exportHook'),
  ...family(files, 'showCheckpoint'),
  ...family(async () => import('../checkpoints/compare'), 'compareCheckpointWithNow'),
  ...family(compareFiles, 'compareCheckpointWithPrevious', 'showCheckpointFile'),
  ...family(async () => import('../checkpoints/restore'), 'restoreCheckpoint', 'restoreFiles', 'undoRestore'),
  ...family(async () => import('../receipts/validate'), 'runValidation'),
  ...family(receipts, 'openReceipts', 'verifyReceipt', 'exportReceipts', 'verifyAllReceipts'),
  ...family(async () => import('../receipts/verifyCommit'), 'verifyCommit'),
  ...family(maintain, 'cleanUpHooks', 'destroyWorkspace', 'openConfiguration', 'showLog', 'sortTasks'),
  ...family(maintain, 'showMoreTasks', 'showAllWorkspaces', 'showThisWindowsTasks'),
  ...family(maintain, 'showOnlyNeedsYou', 'showAllTasks'),
  ...family(async () => import('../setup/doctor'), 'runDoctor'),
  ...family(async () => import('../gitHooks/gitHooks'), 'installGitHooks', 'removeGitHooks'),
  ...family(async () => import('../setup/atlasCommand'), 'installAtlasCommand'),
  ...family(async () => import('../agents/setUpAgent'), 'setUpAgent'),
  ...family(async () => import('../tasks/taskActions'), 'showTaskActions'),
  ...family(inbox, 'addInboxItem', 'claimInboxItem', 'completeInboxItem', 'cancelInboxItem', 'showInboxItem'),
  ...family(inbox, 'showMoreInboxItems', 'resumeSession'),
  ...family(sessions, 'resumeSessionWith', 'showSessionHookMd', 'useSessionTemplate', 'forgetSession'),
  ...family(sessions, 'stopObservingSessions', 'showMoreSessions'),
  ...family(workers, 'addWorkerTask', 'slingTask', 'runWorker', 'recoverWorker', 'handOffWork', 'completeWork'),
  ...family(workers, 'failWork', 'clearWorker', 'createConvoy', 'showWorker', 'copyHookPath', 'refreshWorkers'),
  ...family(workers, 'showMoreWorkers', 'syncWorkers', 'repairWorkers'),
};

/** Registers all commands. What a command throws is shown; a closed dialog is silent. */
export function registerCommands(context: CommandContext): vscode.Disposable[] {
  return Object.entries(COMMANDS).map(([name, load]) =>
    vscode.commands.registerCommand(`atlas.${name}`, async (...given: unknown[]) => {
      // An editor that draws a list again passes nothing for its rows; the palette and keys don't even pass that.
      const argument = given.length > 0 && given[0] === undefined ? LOST_ROW : given[0];
      try {
        if (!vscode.workspace.isTrusted && !READING.has(name)) throw untrusted();
        const handler = await load();
        await handler(context, argument);
      } catch (error) {
        // Not awaited: a message that stays until somebody dismisses it would keep the button that led to it busy.
        if (!(error instanceof Cancelled)) void showFailure(error, context.log);
      }
    }),
  );
}

function untrusted(): AtlasError {
  return new AtlasError('human_only', vscode.l10n.t('Atlas is read-only in an untrusted folder.'), {
    hint: vscode.l10n.t('Trust the folder to continue.'),
  });
}
