import { type CleanupItem } from '../../../core/task/cleanup';
import { AtlasError, unwrap } from '../../../core/shared/errors';
import { STATE_LABELS } from '../../../core/task/labels';
import { count } from '../../../core/shared/text';
import { formatDuration, parseDuration } from '../../../core/shared/time';
import { knownWorkspace, unreadableNotes } from '../../../service/tasks/taskChoice';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import { EXIT } from '../../render/output';
import type { AnswerData } from '../schemas';
import { table } from '../../render/table';
import { unreadableData } from '../task/taskAnswer';

/** `cleanup --hooks`: removes the hook files of tasks whose retention is over. */
export const cleanup: Handler = async (context, call) => {
  if (!call.flag('hooks'))
    throw new AtlasError('usage', 'Nothing to clean up was named.', {
      hint: 'For what can be cleaned up, run: atlas cleanup --help',
    });
  const atlas = await context.drive();
  const { config } = await atlas.configs.forWorktree(undefined);
  const given = call.text('retention');
  const ms = given === undefined ? undefined : unwrap(parseDuration(given));
  const items = atlas.cleanup.plan(
    ms === undefined ? config.retentionMs : { completed: ms, failed: ms, abandoned: ms },
  );
  if (call.flag('dryRun')) {
    const text =
      items.length === 0
        ? 'There is nothing to clean up.\n'
        : `${itemTable(context, items)}\nDry run: nothing was deleted.\n`;
    return { exit: EXIT.done, text, wanted: true, data: cleanupData(true, items, []) };
  }
  const { cleaned, failed } = await atlas.cleanup.run(items);
  const data = cleanupData(false, cleaned, failed);
  const kept = cleaned.length === 0 ? '' : ' task.json, task.log and artifacts were kept.';
  const text = `${cleaned.length === 0 ? '' : itemTable(context, cleaned)}Cleaned up ${count(cleaned.length, 'task')}.${kept}\n`;
  const notes = failed.map(({ item, message }) => `${item.workspace}/${item.id} was not cleaned up: ${message}`);
  if (failed.length === 0) return { exit: EXIT.done, text, data };
  const error = new AtlasError('write_failed', `${count(failed.length, 'task')} could not be cleaned up.`);
  return { exit: EXIT.failed, text, data, notes, error };
};

function itemTable({ streams }: CliContext, items: readonly CleanupItem[]): string {
  return table(
    [{ flexible: 'TASK' }, 'STATE', 'PAST RETENTION BY'],
    items.map(({ workspace, id, state, overdueMs }) => [
      `${workspace}/${id}`,
      STATE_LABELS[state],
      formatDuration(overdueMs),
    ]),
    streams.columns,
  );
}

function cleanupData(
  dry: boolean,
  cleaned: readonly CleanupItem[],
  failed: readonly { readonly item: CleanupItem; readonly message: string }[],
): AnswerData<'cleanup'> {
  return {
    dry_run: dry,
    cleaned: cleaned.map(({ workspace, id, state, updatedAt }) => ({
      workspace_id: workspace,
      task_id: id,
      state,
      updated_at: updatedAt,
    })),
    failed: failed.map(({ item, message }) => ({ workspace_id: item.workspace, task_id: item.id, message })),
  };
}

/** `workspace list`: all workspaces with their tasks. */
export const listWorkspaces: Handler = async (context) => {
  const atlas = await context.atlas();
  const open = new Map<string, number>();
  for (const { workspace } of atlas.catalog.open()) open.set(workspace, (open.get(workspace) ?? 0) + 1);
  const names = atlas.workspaces.names();
  const unreadable = new Map(names.map((name) => [name, atlas.catalog.unreadable(name)]));
  const workspaces = names.map((name) => {
    const read = atlas.workspaces.read(name);
    return {
      workspace_id: name,
      repo_path: read.ok ? (read.value.repo_path ?? null) : null,
      open_tasks: open.get(name) ?? 0,
      tasks: atlas.workspaces.taskIds(name).length,
      problem: read.ok ? null : read.error.message,
      unreadable_tasks: unreadableData(unreadable.get(name) ?? []),
    };
  });
  const data: AnswerData<'workspace list'> = { workspaces };
  const text =
    workspaces.length === 0
      ? 'No workspaces yet. Start a task in a repository to create one.\n'
      : table(
          [{ flexible: 'WORKSPACE' }, 'OPEN', 'TASKS', { flexible: 'FOLDER' }],
          workspaces.map((each) => [
            each.workspace_id,
            String(each.open_tasks),
            String(each.tasks),
            each.problem ?? each.repo_path ?? '',
          ]),
          context.streams.columns,
        );
  return { exit: EXIT.done, text, wanted: true, data, notes: unreadableNotes([...unreadable.values()].flat()) };
};

/** `workspace destroy`: removes a workspace with all its tasks, after asking. */
export const destroyWorkspace: Handler = async (context, call) => {
  context.humanOnly('destroy a workspace');
  const atlas = await context.drive();
  const name = unwrap(knownWorkspace(atlas.reader, call.operands[0] ?? ''));
  const tasks = atlas.workspaces.taskIds(name).length;
  const open = atlas.catalog.open(name).length;
  const what = `Destroy workspace "${name}" with its ${count(tasks, 'task')}, ${open} of them open? This can't be undone. Your repository is not changed.`;
  if (!(await context.confirm(what, call.flag('yes')))) throw new AtlasError('cancelled', 'Nothing was destroyed.');
  const destroyed = unwrap(atlas.cleanup.destroy(name));
  const data: AnswerData<'workspace destroy'> = { workspace_id: name, tasks: destroyed };
  return { exit: EXIT.done, text: `Destroyed workspace "${name}" with ${count(destroyed, 'task')}.\n`, data };
};
