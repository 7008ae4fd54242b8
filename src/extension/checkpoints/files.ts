import { synopsisOf } from '../../service/tasks/advice';
import * as vscode from 'vscode';
import { AtlasError, unwrap } from '../../core/shared/errors';
import { taskFor } from '../shared/arguments';
import { type CommandContext, type CommandHandler, took } from '../shared/context';
import { askTarget } from '../shared/dialogs';
import { checkpointFor } from './checkpointArguments';

/** Atlas: Open HOOK.md. */
export const openHookMd: CommandHandler = async (context, argument) => {
  const fromFile = argument instanceof vscode.Uri ? refOfFile(context, argument) : undefined;
  const task = await taskFor(context.session, fromFile ?? argument);
  context.panels.open(task.ref);
};

/** The task whose folder a HOOK.md lies in. */
function refOfFile(context: CommandContext, uri: vscode.Uri): { workspace: string; id: string } | undefined {
  const parts = uri.path.split('/');
  const [workspace, tasks, id, file] = parts.slice(-4);
  if (file !== 'HOOK.md' || tasks !== 'tasks' || workspace === undefined || id === undefined) return undefined;
  const ref = { workspace, id };
  const path = context.session.atlas.ports.paths.markdown(ref);
  return vscode.Uri.file(path).path === uri.path ? ref : undefined;
}

/** Atlas: Copy Agent Prompt. */
export const copyRecoverySynopsis: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument);
  const text = synopsisOf(context.session.atlas.ports, task);
  if (text === '')
    throw new AtlasError('illegal_transition', vscode.l10n.t('The task has ended. There is nothing to recover.'));
  await vscode.env.clipboard.writeText(text);
  vscode.window.setStatusBarMessage(vscode.l10n.t('Copied the agent prompt.'), 4000);
};

/** Atlas: Regenerate HOOK.md. */
export const regenerateHookMd: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument);
  const atlas = await context.session.atlas.drive();
  took(context, await atlas.regenerate(task.ref));
};

/** Atlas: Export Task. */
export const exportHook: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument);
  const exported = unwrap(context.session.atlas.export(task.ref));
  const target = await askTarget(context, `${task.ref.id}.hook.json`);
  await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(`${JSON.stringify(exported, null, 2)}\n`));
  await vscode.window.showTextDocument(target);
};

/** Atlas: Show Checkpoint. */
export const showCheckpoint: CommandHandler = async (context, argument) => {
  const { task, item } = await checkpointFor(context, argument);
  context.panels.openDetails({ kind: 'checkpoint', ...task.ref, checkpoint: item.id });
};
