import { AtlasError, unwrap } from '../../../core/shared/errors';
import { count, oneLine } from '../../../core/shared/text';
import { roughAge, toMs } from '../../../core/shared/time';
import { snapshotOf } from '../../../core/snapshot/snapshotEntry';
import { type PlanReason, type PlannedPath, blockedPaths, changingPaths } from '../../../core/snapshot/restorePlan';
import { type TreePath, isWithin, quotePath } from '../../../core/snapshot/treePath';
import type { StoredTask } from '../../../core/task/storedTask';
import type { CheckpointFiles } from '../../../service/snapshots/checkpointFiles';
import type { PreviewedRestore, Restored } from '../../../service/snapshots/fileRestores';
import type { Call } from '../../parse/call';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import { type Answer, EXIT } from '../../render/output';
import type { AnswerData } from '../schemas';
import { taskData, taskToRead } from '../task/taskAnswer';
import { pathsOf } from './paths';

const HUMANS = 'restore files from a checkpoint';
const INSTEAD = 'You can compare: atlas checkpoint diff';

/** `checkpoint restore`: makes files what they were, after showing which. */
export const restore: Handler = async (context, call) => {
  if (!call.flag('dryRun')) context.humanOnly(HUMANS, INSTEAD);
  const { stored } = await taskToRead(context, call);
  const restores = await (await context.atlas()).snapshots();
  const item = unwrap(restores.files.find(stored, call.operands[0] ?? ''));
  const paths = await pathsOf(context, call, stored, call.rest);
  const previewed = unwrap(await restores.preview(stored, item, paths));
  await refuseUnknown(restores.files, previewed, paths);
  return carryOut(context, call, stored, previewed);
};

/** `checkpoint undo-restore`: brings back what the last restore replaced. */
export const undoRestore: Handler = async (context, call) => {
  if (!call.flag('dryRun')) context.humanOnly(HUMANS, INSTEAD);
  const { stored } = await taskToRead(context, call);
  const restores = await (await context.atlas()).snapshots();
  return carryOut(context, call, stored, unwrap(await restores.previewUndo(stored)));
};

/** A path that is neither in the checkpoint nor among the files that differ was mistyped. */
async function refuseUnknown(
  files: CheckpointFiles,
  { item, preview }: PreviewedRestore,
  paths: readonly TreePath[],
): Promise<void> {
  if (paths.length === 0) return;
  const then = unwrap(await files.files(item, paths)).map(({ path }) => path);
  const known = [...then, ...preview.paths.map(({ path }) => path)];
  const odd = paths.find((path) => !known.some((each) => isWithin(each, [path])));
  if (odd === undefined) return;
  throw new AtlasError('not_found', `${item.id} has no file ${quotePath(odd)}, and there is none now.`, {
    hint: `List what differs: atlas checkpoint diff ${item.id} --name-only`,
  });
}

async function carryOut(
  context: CliContext,
  call: Call,
  stored: StoredTask,
  previewed: PreviewedRestore,
): Promise<Answer> {
  const atlas = await context.atlas();
  const changing = changingPaths(previewed.preview.paths);
  const common = { task: taskData(atlas, stored), checkpoint_id: previewed.item.id, paths: pathsData(previewed) };
  const none = { written: 0, removed: 0, skipped: [], undone_by: null };
  const plan = planText(previewed, atlas.ports.clock.now());
  if (call.flag('dryRun')) {
    const data: AnswerData<'checkpoint restore'> = { ...common, ...none, dry_run: true };
    return { exit: EXIT.done, text: `${plan}Dry run: nothing was changed.\n`, wanted: true, data };
  }
  if (changing.length === 0) {
    const data: AnswerData<'checkpoint restore'> = { ...common, ...none, dry_run: false };
    return { exit: EXIT.done, text: `${plan}Nothing was changed.\n`, data };
  }
  if (!call.flag('yes') && context.interactive) context.streams.err(plan);
  const what = previewed.isUndo ? 'Undo the restore' : 'Restore';
  if (!(await context.confirm(`${what}: change ${count(changing.length, 'path')}?`, call.flag('yes'))))
    throw new AtlasError('cancelled', 'Nothing was restored.');
  const restored = unwrap(await (await atlas.snapshots()).restore(stored, previewed));
  const data: AnswerData<'checkpoint restore'> = {
    ...common,
    dry_run: false,
    written: restored.written,
    removed: restored.removed,
    skipped: restored.skipped.map(({ path, reason }) => ({ path: quotePath(path), reason })),
    undone_by: restored.undoneBy.checkpoint_id,
  };
  const notes = restored.task.ok ? [] : [`The restore is not in the task's history: ${restored.task.error.message}`];
  return { exit: EXIT.done, text: doneText(previewed, restored), data, notes };
}

function pathsData({ preview }: PreviewedRestore): AnswerData<'checkpoint restore'>['paths'] {
  return preview.paths.map(({ path, action, reason, by, recent }) => ({
    path: quotePath(path),
    action,
    reason: reason ?? null,
    by: by === undefined ? null : quotePath(by),
    recent,
  }));
}

/** Why a path stays as it is, to follow it. */
const REASONS: Readonly<Record<PlanReason, string>> = {
  ignored_then: 'was ignored by git then',
  ignored_now: 'is ignored by git now',
  left_out_then: 'was left out of the checkpoint',
  not_checked_out_then: 'was not checked out then',
  in_the_way: 'something that the restore would not keep is in the way',
  repository: 'belongs to another repository',
  link_above: 'a folder above it is a link',
  special: 'is not a file',
  unsafe_name: 'has a name that must not be written',
  unreadable: "can't be read, so it could not be brought back",
  changed: 'changed while this was planned',
};

const ACTIONS: Readonly<Record<PlannedPath['action'], string>> = {
  write: 'write',
  remove: 'remove',
  mode: 'permissions',
  keep: 'keep',
  blocked: 'blocked',
};

function pathLine({ path, action, reason, by, recent, exists }: PlannedPath): string {
  const why =
    reason === undefined ? '' : ` (${REASONS[reason]}${by === undefined || by === path ? '' : `: ${quotePath(by)}`})`;
  const fresh = recent && exists ? ' (changed within the last minute)' : '';
  return `  ${(action === 'write' && !exists ? 'create' : ACTIONS[action]).padEnd(11)} ${quotePath(path)}${why}${why === '' ? fresh : ''}`;
}

/** What would change, and what to know before it does. */
function planText({ item, preview, isUndo, runningStep, inHand }: PreviewedRestore, now: number): string {
  const changing = changingPaths(preview.paths);
  const blocked = blockedPaths(preview.paths);
  const kept = preview.paths.filter(({ action }) => action === 'keep');
  const name = isUndo ? 'Undoing the last restore' : `Restoring ${item.id}`;
  const of = `"${oneLine(item.description, 100)}", ${roughAge(toMs(item.createdAt), now)}`;
  const section = (title: string, paths: readonly PlannedPath[]): string[] =>
    paths.length === 0 ? [] : [title, ...paths.map(pathLine)];
  const head = snapshotOf(item)?.head;
  return [
    changing.length === 0
      ? `${name} (${of}) would change nothing: the files are those of the checkpoint${blocked.length === 0 ? '' : ', but for these'}.`
      : `${name} (${of}) would change ${count(changing.length, 'path')}:`,
    ...changing.map(pathLine),
    ...section(`${count(blocked.length, 'path')} can't be restored:`, blocked),
    ...section(
      `${count(kept.length, 'path')} would stay although the checkpoint doesn't have ${kept.length === 1 ? 'it' : 'them'}:`,
      kept,
    ),
    ...(runningStep === undefined
      ? []
      : [`Step "${oneLine(runningStep, 64)}" is running: whoever works on it would find other files.`]),
    ...(inHand.length === 0
      ? []
      : [`An agent is working on ${inHand.slice(0, 10).map(quotePath).join(', ')} right now.`]),
    ...(preview.headDiffers
      ? [`HEAD is at another commit than then (${head?.slice(0, 12) ?? ''}). HEAD, branch and index stay as they are.`]
      : []),
    ...(preview.operation === undefined ? [] : [`A ${preview.operation} is in progress in this worktree.`]),
    '',
  ].join('\n');
}

function doneText({ item, isUndo }: PreviewedRestore, { written, removed, skipped }: Restored): string {
  const what = isUndo ? 'The restore was undone' : `The files of ${item.id} were restored`;
  const left = skipped.map(
    ({ path, reason }) => `  ${quotePath(path)} (${reason === 'denied' ? 'the system refused it' : REASONS[reason]})`,
  );
  return [
    `${what}: ${count(written, 'file')} written, ${count(removed, 'file')} removed. HEAD, branch and index are as they were.`,
    ...(left.length === 0 ? [] : ['Left as they are:', ...left]),
    'To undo it, run: atlas checkpoint undo-restore',
    '',
  ].join('\n');
}
