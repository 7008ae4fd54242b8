import * as vscode from 'vscode';
import type { CleanupItem } from '../../core/task/cleanup';
import { AtlasError, unwrap } from '../../core/shared/errors';
import { formatDuration } from '../../core/shared/time';
import { ensureFolder } from '../../system/files/atomicFile';
import type { TaskOrder } from './tree/tasksTree';
import { chosen, workspaceFrom } from '../shared/arguments';
import type { CommandHandler } from '../shared/context';
import { confirm, withNotice } from '../shared/dialogs';

/** Atlas: Delete Old Task Files. Shows what would go, asks, and says what went. */
export const cleanUpHooks: CommandHandler = async (context) => {
  const { cleanup, configs } = await context.session.atlas.drive();
  const { config } = await configs.forWorktree(undefined);
  const items = cleanup.plan(config.retentionMs);
  if (items.length === 0) {
    await vscode.window.showInformationMessage(vscode.l10n.t('No task files are old enough to delete.'));
    return;
  }
  const question = vscode.l10n.t('Delete the files of old tasks ({0})?', items.length);
  await confirm(question, listItems(items), vscode.l10n.t('Delete'));
  const result = await withNotice(vscode.l10n.t('Deleting old task files'), async (signal) =>
    cleanup.run(items, () => signal.aborted),
  );
  for (const { item, message } of result.failed) context.log.warn(`${item.id} was not cleaned.`, { error: message });
  (await context.tree()).refresh();
  await vscode.window.showInformationMessage(
    vscode.l10n.t(
      'Tasks whose files were deleted: {0}. Failed: {1}. task.json, task.log and artifacts are kept.',
      result.cleaned.length,
      result.failed.length,
    ),
  );
};

function listItems(items: readonly CleanupItem[]): string {
  const shown = items
    .slice(0, 15)
    .map((item) => `${item.workspace}/${item.id}: ${item.state}, ${formatDuration(item.overdueMs)} over`);
  return [...shown, ...(items.length > shown.length ? ['…'] : [])].join('\n');
}

/** Atlas: Delete All Tasks of Workspace. */
export const destroyWorkspace: CommandHandler = async (context, argument) => {
  const { workspaces, cleanup } = await context.session.atlas.drive();
  const name =
    workspaceFrom(argument) ??
    chosen(await vscode.window.showQuickPick(workspaces.names(), { placeHolder: vscode.l10n.t('Which workspace?') }));
  const tasks = workspaces.taskIds(name).length;
  const open = context.session.atlas.catalog.open(name).length;
  const detail = vscode.l10n.t(
    "Unfinished tasks: {0}. All records are deleted, and you can't undo this. Your repository doesn't change.",
    open,
  );
  const question = vscode.l10n.t('Delete all tasks of the workspace "{0}" ({1})?', name, tasks);
  await confirm(question, detail, vscode.l10n.t('Delete Tasks', tasks));
  unwrap(cleanup.destroy(name));
  await context.session.locatePlaces();
  await context.session.look();
};

const CONFIG_TEMPLATE = `# Settings of Atlas, for the editor, the atlas command and git hooks alike.
# Remove a "#" to change a setting; what is missing has the value shown.
hooks:
  # max_checkpoints: 50
  # checkpoint_interval: 5m      # 0 turns periodic checkpoints off
  # stale_threshold: 5m
  # max_step_attempts: 3
  # auto_checkpoint:
  #   on_commit: true
  #   on_push: true
  #   on_pr: true
  #   on_validation: true
  #   on_step_complete: true
  # validation:
  #   commands: []
  #   timeout: 10m
  # signing:
  #   scheme: hd                # or ed25519
  # retention:
  #   completed: 30d
  #   failed: 14d
  #   abandoned: 7d
  # memory_folder: .atlas/memory # of agents: in the repository, or an absolute path
`;

/** Atlas: Open Configuration. */
export const openConfiguration: CommandHandler = async (context) => {
  const { paths, files } = context.session.atlas.ports;
  ensureFolder(files, paths.root);
  if (files.stat(paths.config) === undefined) files.write(paths.config, CONFIG_TEMPLATE, { exclusive: true });
  await vscode.window.showTextDocument(vscode.Uri.file(paths.config));
};

/** Atlas: Show Log. */
export const showLog: CommandHandler = async (context) => {
  context.log.channel.show();
  return Promise.resolve();
};

/** Atlas: Sort Tasks. */
export const sortTasks: CommandHandler = async (context) => {
  const items: (vscode.QuickPickItem & { order: TaskOrder })[] = [
    { label: vscode.l10n.t('What needs you first'), order: 'urgency' },
    { label: vscode.l10n.t('Last changed'), order: 'updated' },
    { label: vscode.l10n.t('Newest'), order: 'created' },
    { label: vscode.l10n.t('Title'), order: 'title' },
  ];
  const { order } = chosen(await vscode.window.showQuickPick(items));
  (await context.tree()).sortBy(order);
};

/** Shows one page more of the finished tasks. */
export const showMoreTasks: CommandHandler = async (context, argument) => {
  const workspace = workspaceFrom(argument);
  if (workspace === undefined) throw new AtlasError('usage', vscode.l10n.t('Choose the row in the Tasks tree.'));
  (await context.tree()).showMore(workspace);
};

/** Shows only the tasks that need a person. */
export const showOnlyNeedsYou: CommandHandler = async ({ tree }) => {
  (await tree()).showOnlyNeedsYou(true);
};

/** Shows the tasks that need nobody, too. */
export const showAllTasks: CommandHandler = async ({ tree }) => {
  (await tree()).showOnlyNeedsYou(false);
};

/** Shows the tasks of every workspace in the store. */
export const showAllWorkspaces: CommandHandler = async ({ tree }) => {
  (await tree()).showAll(true);
};

/** Shows the tasks of this window's folders. */
export const showThisWindowsTasks: CommandHandler = async ({ tree }) => {
  (await tree()).showAll(false);
};
