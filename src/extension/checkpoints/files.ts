import { synopsisOf } from '../../service/tasks/advice';
import * as vscode from 'vscode';
import { AtlasError, unwrap } from '../../core/shared/errors';
import type { StepCheckpoint } from '../../core/task/taskRecord';
import type { StoredTask } from '../../core/task/storedTask';
import { plain } from '../shared/messages';
import { ageOf } from '../shared/ages';
import { checkpointFrom, chosen, taskFor } from '../shared/arguments';
import { type CommandContext, type CommandHandler, took } from '../shared/context';
import { askTarget } from '../shared/dialogs';
import { removed } from './checkpointDetails';
import { taskPanelTexts } from '../tasks/panel/taskPanelTexts';

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

/** The checkpoint that an argument names, or one that is asked for. */
export async function checkpointFor(
  context: CommandContext,
  argument: unknown,
): Promise<{ task: StoredTask; checkpoint: StepCheckpoint }> {
  const task = await taskFor(context.session, argument, ({ hook }) => hook.checkpoints.length > 0);
  const named = checkpointFrom(argument);
  const found = task.hook.checkpoints.find(({ checkpoint_id: id }) => id === named);
  if (found !== undefined) return { task, checkpoint: found };
  if (named !== undefined) throw removed(named).error;
  const now = context.session.atlas.ports.clock.now();
  const items = [...task.hook.checkpoints].reverse().map((checkpoint) => ({
    label: plain(checkpoint.description, 100),
    description: `${taskPanelTexts().markKind(checkpoint.trigger)} · ${checkpoint.step_name} · ${ageOf(checkpoint.created_at, now)}`,
    detail: checkpoint.checkpoint_id,
    checkpoint,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    placeHolder: vscode.l10n.t('Which checkpoint?'),
    matchOnDetail: true,
  });
  return { task, checkpoint: chosen(picked).checkpoint };
}

/** Atlas: Show Checkpoint. */
export const showCheckpoint: CommandHandler = async (context, argument) => {
  const { task, checkpoint } = await checkpointFor(context, argument);
  context.panels.openDetails({ kind: 'checkpoint', ...task.ref, checkpoint: checkpoint.checkpoint_id });
};
