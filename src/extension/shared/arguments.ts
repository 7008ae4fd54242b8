import * as vscode from 'vscode';
import { AtlasError, unwrap } from '../../core/shared/errors';
import { checkTaskId, checkWorkspaceName } from '../../core/shared/ids';
import type { StoredTask } from '../../core/task/storedTask';
import { resolveTask } from '../../core/task/resolveTask';
import type { TaskRef } from '../../core/task/taskRef';
import { Cancelled, plain } from './messages';
import type { WindowTasks } from '../windowTasks';
import { currentTask } from '../tasks/statusBar';
import { healthLabel, stateLabel } from './stateLook';
import { LOST_ROW } from './context';

/** What an argument that may be anything has under a name. */
export function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function asRef(value: unknown): TaskRef | undefined {
  const workspace = field(value, 'workspace');
  const id = field(value, 'id');
  if (typeof workspace !== 'string' || typeof id !== 'string') return undefined;
  return checkWorkspaceName(workspace).ok && checkTaskId(id).ok ? { workspace, id } : undefined;
}

/** The task that a command's argument names: a tree row, a reference, or nothing. Arguments come from anywhere. */
export function refFrom(argument: unknown): TaskRef | undefined {
  return asRef(field(argument, 'ref')) ?? asRef(argument);
}

/** The checkpoint id that an argument names. */
export function checkpointFrom(argument: unknown): string | undefined {
  const id = field(argument, 'kind') === 'checkpoint' ? field(argument, 'id') : field(argument, 'checkpointId');
  return typeof id === 'string' && /^ckpt-[0-9a-zA-Z-]{1,64}$/u.test(id) ? id : undefined;
}

/** The receipt id that an argument names. */
export function receiptFrom(argument: unknown): string | undefined {
  const id = field(argument, 'kind') === 'receipt' ? field(argument, 'id') : field(argument, 'receiptId');
  return typeof id === 'string' && checkTaskId(id).ok ? id : undefined;
}

/** The workspace that an argument names. */
export function workspaceFrom(argument: unknown): string | undefined {
  const name = field(argument, 'workspace');
  return typeof name === 'string' && checkWorkspaceName(name).ok ? name : undefined;
}

/** A quick pick or an input that was closed ends the command without a word. */
export function chosen<T>(value: T | undefined): T {
  if (value === undefined) throw new Cancelled();
  return value;
}

/**
 * The task that a command is about: its argument's, the only one that fits unless a row was meant, or one that is asked for.
 * @param fits which tasks the command can act on
 */
export async function taskFor(
  session: WindowTasks,
  argument: unknown,
  fits: (task: StoredTask) => boolean = () => true,
): Promise<StoredTask> {
  const named = refFrom(argument);
  if (named !== undefined) return unwrap(session.atlas.catalog.read(named));
  const tasks = session.ownTasks();
  const choice = resolveTask(tasks, { fits, among: 'nothing' });
  if (choice.kind === 'none') throw nothingFits(tasks);
  // The row that was pressed may have been another's.
  if (choice.kind === 'one' && argument !== LOST_ROW) return choice.task;
  const fitting = choice.kind === 'one' ? [choice.task] : choice.tasks;
  const current = currentTask(session);
  const items = fitting.map((task) => ({
    label: plain(task.task.description, 80),
    description: plain(`${stateLabel(task.hook.state)} · ${task.hook.current_step?.step_name ?? ''}`),
    detail: task.ref.id,
    picked: task.ref.id === current?.ref.id,
    task,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    placeHolder: vscode.l10n.t('Which task?'),
    matchOnDetail: true,
  });
  return chosen(picked).task;
}

/** As `taskFor`, for what changes a task: one that has moved on since its button was drawn says so before anything is asked. */
export async function taskToChange(
  session: WindowTasks,
  argument: unknown,
  fits: (task: StoredTask) => boolean,
): Promise<StoredTask> {
  const task = await taskFor(session, argument, fits);
  if (fits(task)) return task;
  const diagnosis = session.view(task.ref)?.diagnosis;
  const now =
    (diagnosis === undefined ? undefined : healthLabel(diagnosis, session.atlas.ports.clock.now())) ??
    stateLabel(task.hook.state);
  throw new AtlasError(
    'illegal_transition',
    vscode.l10n.t('"{0}" has moved on: {1}.', plain(task.task.description, 80), now),
    { hint: vscode.l10n.t('Its HOOK.md says what comes next.') },
  );
}

function nothingFits(tasks: readonly StoredTask[]): AtlasError {
  const [task] = tasks;
  if (task === undefined) {
    return new AtlasError('not_found', vscode.l10n.t('No open task in this window.'), {
      hint: vscode.l10n.t('Start one with "Atlas: Start Task".'),
    });
  }
  return new AtlasError('illegal_transition', vscode.l10n.t('No task allows this now.'), {
    hint: vscode.l10n.t('"{0}": {1}.', plain(task.task.description, 80), stateLabel(task.hook.state)),
  });
}
