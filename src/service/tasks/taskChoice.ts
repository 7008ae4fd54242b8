import { STATE_LABELS } from '../../core/task/labels';
import { type Result, fail, ok } from '../../core/shared/errors';
import { isTerminal } from '../../core/task/taskRecord';
import { checkTaskId, checkWorkspaceName } from '../../core/shared/ids';
import { count, oneLine } from '../../core/shared/text';
import { type FoundTask, resolveTask, taskNameOf } from '../../core/task/resolveTask';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import type { StoredTask } from '../../core/task/storedTask';
import type { AtlasReader, Place } from '../atlasReader';

/** By what a caller names the task it means. */
export interface TaskSelector {
  /** `<id>` or `<workspace>/<id>`, as it was typed. */
  readonly task?: string | undefined;
  readonly workspace?: string | undefined;
  /** `ATLAS_TASK`: what the surrounding agent works on. */
  readonly surrounding?: string | undefined;
  /** The folder that the caller is in. */
  readonly folder: string;
}

/** The task that was meant, and what the caller should know of the choice. */
export interface ChosenTask {
  readonly ref: TaskRef;
  /** For people; absent where there was nothing to choose. */
  readonly note: string | undefined;
}

const NAME_ONE = 'Choose one with --task.';
/** As many tasks as a message lists. */
const MAX_LISTED = 10;

/**
 * Finds the task that a caller means. Reading takes the one changed last of several, and the last finished one where
 * none is open; a change needs exactly one. Fails with `not_found`, `usage` (ambiguous) or what is wrong with the task.
 * @param has what the task has to have (a receipt, a checkpoint): finished tasks are then looked through too
 */
export async function chooseTask(
  atlas: AtlasReader,
  wish: TaskSelector,
  mode: 'read' | 'write',
  has?: { readonly what: string; readonly of: (task: StoredTask) => boolean },
): Promise<Result<ChosenTask>> {
  const surrounding = wish.workspace === undefined ? wish.surrounding : undefined;
  const named = wish.task ?? surrounding;
  if (named !== undefined) {
    const found = await namedTask(atlas, named, wish);
    if (!found.ok || wish.task !== undefined || has === undefined) return found;
    // What surrounds the caller says where it works; what it looks for may be in another task of that workspace.
    const read = atlas.catalog.read(found.value.ref);
    if (read.ok && has.of(read.value)) return found;
    return chooseTask(atlas, { ...wish, surrounding: undefined, workspace: found.value.ref.workspace }, mode, has);
  }
  const place = await placeOf(atlas, wish);
  if (!place.ok) return place;
  const { workspace, what } = place.value;
  const readable = workspace === undefined ? [] : atlas.catalog.openTasks(workspace);
  const choice = resolveTask(readable, { fits: has?.of, among: mode === 'read' ? 'recent' : 'nothing' });
  if (choice.kind === 'several') return severalTasks(choice.tasks, what);
  if (choice.kind === 'one' && choice.why === 'only') return ok({ ref: choice.task.ref, note: undefined });
  if (choice.kind === 'one') return ok({ ref: choice.task.ref, note: lastChanged(choice, what) });
  // A task that can't be read is not "no task": whoever asks has to hear of it.
  const [unreadable] = workspace === undefined || has !== undefined ? [] : atlas.catalog.unreadable(workspace);
  if (unreadable !== undefined) return ok({ ref: unreadable.ref, note: undefined });
  return noOpenTask(atlas, workspace, what, mode, has);
}

function lastChanged({ task, of }: FoundTask<StoredTask>, what: string): string {
  const toSee = of === 2 ? 'To see the other' : 'To see the others';
  return `${what} has ${of} open tasks. This is ${task.ref.id}, the most recently changed. ${toSee}, use --task.`;
}

function severalTasks(tasks: readonly StoredTask[], what: string): Result<ChosenTask> {
  const listed = tasks.slice(0, MAX_LISTED).map(({ ref, hook, task }) => {
    return `  ${ref.id}  ${STATE_LABELS[hook.state]}  ${oneLine(task.description, 60)}`;
  });
  const more = tasks.length > MAX_LISTED ? [`  and ${count(tasks.length - MAX_LISTED, 'more task')}`] : [];
  return fail('usage', [`${what} has ${tasks.length} open tasks:`, ...listed, ...more].join('\n'), { hint: NAME_ONE });
}

function noOpenTask(
  atlas: AtlasReader,
  workspace: string | undefined,
  what: string,
  mode: 'read' | 'write',
  has: { readonly what: string; readonly of: (task: StoredTask) => boolean } | undefined,
): Result<ChosenTask> {
  const start = 'Start one with: atlas start "<description>"';
  if (workspace === undefined) return fail('not_found', `${what} has no task yet.`, { hint: start });
  if (mode === 'read' || has !== undefined) {
    for (const ref of atlas.catalog.finished(workspace)) {
      const read = atlas.catalog.read(ref);
      if (!read.ok || (has !== undefined && !has.of(read.value))) continue;
      if (has !== undefined) return ok({ ref, note: undefined });
      return ok({
        ref,
        note: `${what} has no open task. This is ${ref.id}, the most recent one (${STATE_LABELS[read.value.hook.state]}).`,
      });
    }
  }
  if (has !== undefined)
    return fail('not_found', `No task of ${what} has ${has.what}.`, { hint: 'To see its status, run: atlas status' });
  return fail('not_found', `${what} has no open task.`, { hint: start });
}

interface FoundPlace {
  readonly workspace: string | undefined;
  /** For messages: "workspace x". */
  readonly what: string;
}

async function placeOf(atlas: AtlasReader, { workspace, folder }: TaskSelector): Promise<Result<FoundPlace>> {
  if (workspace !== undefined) {
    const known = knownWorkspace(atlas, workspace);
    return known.ok ? ok({ workspace, what: `Workspace "${workspace}"` }) : known;
  }
  const place: Place = await atlas.locate(folder);
  if (place.workspace !== undefined) return ok({ workspace: place.workspace, what: `Workspace "${place.workspace}"` });
  const what = `${place.repository === undefined ? 'Folder' : 'Repository'} ${place.repository?.main ?? place.worktree}`;
  return ok({ workspace: undefined, what });
}

/** Whether there is a workspace of that name; `not_found` or `invalid_name` where not. */
export function knownWorkspace(atlas: AtlasReader, name: string): Result<string> {
  const valid = checkWorkspaceName(name);
  if (!valid.ok) return valid;
  if (atlas.workspaces.names().includes(name)) return ok(name);
  return fail('not_found', `There is no workspace "${name}".`, {
    hint: 'List the workspaces with: atlas workspace list',
  });
}

async function namedTask(atlas: AtlasReader, named: string, wish: TaskSelector): Promise<Result<ChosenTask>> {
  const { id, workspace = wish.workspace } = taskNameOf(named);
  if (wish.workspace !== undefined && wish.workspace !== workspace) {
    return fail('usage', `--task names workspace "${workspace ?? ''}", but --workspace names another one.`, {
      hint: 'Omit one of them.',
    });
  }
  const valid = checkTaskId(id);
  if (!valid.ok) return valid;
  if (workspace !== undefined) {
    const known = knownWorkspace(atlas, workspace);
    return known.ok ? existing(atlas, [{ workspace, id }], named) : known;
  }
  const own = (await atlas.locate(wish.folder)).workspace;
  return existing(
    atlas,
    atlas.workspaces.names().map((name) => ({ workspace: name, id })),
    named,
    own,
  );
}

function existing(atlas: AtlasReader, refs: readonly TaskRef[], named: string, own?: string): Result<ChosenTask> {
  const { files, paths } = atlas.ports;
  const found = refs.filter((ref) => files.stat(paths.task(ref)) !== undefined).map((ref) => ({ ref }));
  const choice = resolveTask(found, { named: taskNameOf(named), workspace: own, among: 'nothing' });
  if (choice.kind === 'one') return ok({ ref: choice.task.ref, note: undefined });
  if (choice.kind === 'none') {
    return fail('not_found', `There is no task ${oneLine(named, 80)}.`, {
      hint: 'List the workspaces with: atlas workspace list',
    });
  }
  const listed = choice.tasks.slice(0, MAX_LISTED).map(({ ref }) => `  ${refKey(ref)}`);
  return fail('usage', [`${found.length} workspaces have a task ${named}:`, ...listed].join('\n'), {
    hint: 'Name the workspace too, with --workspace.',
  });
}

/** One line on each of a workspace's tasks that can't be read. */
export function unreadableNotes(unreadable: ReturnType<AtlasReader['catalog']['unreadable']>): string[] {
  const notes = unreadable
    .slice(0, MAX_LISTED)
    .map(({ error }) => `${error.message} To see what to do, run: atlas doctor`);
  const more = unreadable.length - MAX_LISTED;
  return more > 0 ? [...notes, `${count(more, 'more task')} can't be read.`] : notes;
}

/** The tasks of the caller's workspace that are open beside one. */
export function otherOpenTasks(atlas: AtlasReader, { workspace, id }: TaskRef): StoredTask[] {
  return atlas.catalog.openTasks(workspace).filter(({ ref, hook }) => ref.id !== id && !isTerminal(hook.state));
}
