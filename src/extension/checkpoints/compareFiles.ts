import { join } from 'node:path';
import * as vscode from 'vscode';
import { type ListedCheckpoint, checkpointBefore, snapshotOf } from '../../core/snapshot/snapshotEntry';
import { type TreePath, quotePath } from '../../core/snapshot/treePath';
import { AtlasError, unwrap } from '../../core/shared/errors';
import { worktreeOf } from '../../core/task/task';
import type { StoredTask } from '../../core/task/storedTask';
import type { SnapshotChange } from '../../snapshots/storage/contents';
import { field } from '../shared/arguments';
import type { CommandContext, CommandHandler } from '../shared/context';
import { plain } from '../shared/messages';
import { checkpointWithFiles } from './checkpointArguments';
import { snapshotUri } from './snapshotUris';

/** More files than these no editor shows well. */
const MAX_FILES = 500;

/** One side of a comparison: a checkpoint, or the files as they are. */
type Side = ListedCheckpoint | 'now';

/** A current file that can be named by a text; others can be looked at in the checkpoint only. */
function currentUri(task: StoredTask, path: TreePath): vscode.Uri | undefined {
  const worktree = worktreeOf(task.task);
  const text = Buffer.from(path, 'latin1').toString('utf8');
  const isText = Buffer.from(text, 'utf8').toString('latin1') === path;
  return worktree === undefined || !isText ? undefined : vscode.Uri.file(join(worktree, text));
}

function uriOf(task: StoredTask, side: Side, path: TreePath): vscode.Uri | undefined {
  if (side === 'now') return currentUri(task, path);
  return snapshotUri({ ref: task.ref, checkpoint: side.id, path }, currentUri(task, path));
}

/** The pair of files that the editor compares: what a path was and is; absent where it wasn't or isn't there. */
function pairOf(
  task: StoredTask,
  [from, to]: readonly [Side, Side],
  { path, kind }: SnapshotChange,
): [vscode.Uri, vscode.Uri | undefined, vscode.Uri | undefined] {
  const before = kind === 'added' ? undefined : uriOf(task, from, path);
  const after = kind === 'removed' ? undefined : uriOf(task, to, path);
  return [currentUri(task, path) ?? before ?? after ?? vscode.Uri.file(quotePath(path)), before, after];
}

/** Shows how all files differ in one editor, or one file in an editor of its own. */
async function showChanges(
  context: CommandContext,
  task: StoredTask,
  sides: readonly [ListedCheckpoint, Side],
  only?: TreePath,
): Promise<void> {
  const [from, to] = sides;
  const { files } = await context.session.atlas.snapshots();
  const { changes } = unwrap(await files.diff(task, from, to));
  const name = plain(from.description, 60);
  const title =
    to === 'now' ? vscode.l10n.t('"{0}" ↔ now', name) : vscode.l10n.t('"{0}" ↔ "{1}"', name, plain(to.description, 60));
  const chosen = only === undefined ? changes : changes.filter(({ path }) => path === only);
  if (chosen.length === 0) {
    void vscode.window.showInformationMessage(
      only === undefined
        ? vscode.l10n.t('No file differs: {0}.', title)
        : vscode.l10n.t("{0} doesn't differ: {1}.", plain(quotePath(only)), title),
    );
    return;
  }
  const [first] = chosen;
  if (only !== undefined && first !== undefined) {
    await showPair(task, sides, first, title);
    return;
  }
  const shown = chosen.slice(0, MAX_FILES).map((change) => pairOf(task, sides, change));
  await vscode.commands.executeCommand('vscode.changes', title, shown);
  if (chosen.length > MAX_FILES) {
    void vscode.window.showWarningMessage(
      vscode.l10n.t('The first {0} of {1} changed files are shown.', MAX_FILES, chosen.length),
    );
  }
}

async function showPair(
  task: StoredTask,
  sides: readonly [Side, Side],
  change: SnapshotChange,
  title: string,
): Promise<void> {
  const [, before, after] = pairOf(task, sides, change);
  const name = `${plain(quotePath(change.path), 200)} (${title})`;
  if (before !== undefined && after !== undefined)
    await vscode.commands.executeCommand('vscode.diff', before, after, name);
  else await vscode.commands.executeCommand('vscode.open', before ?? after, {}, name);
}

/** The path that an argument names, one character a byte. */
export function pathFrom(argument: unknown): TreePath | undefined {
  const path = field(argument, 'treePath');
  return typeof path === 'string' ? path : undefined;
}

/** Compares a checkpoint that has files with the current ones. */
export async function compareWithNow(
  context: CommandContext,
  task: StoredTask,
  item: ListedCheckpoint,
  path: TreePath | undefined,
): Promise<void> {
  await showChanges(context, task, [item, 'now'], path);
}

/** Atlas: Compare Checkpoint with Previous. */
export const compareCheckpointWithPrevious: CommandHandler = async (context, argument) => {
  const { task, item } = await checkpointWithFiles(context, argument);
  const { files } = await context.session.atlas.snapshots();
  const before = checkpointBefore(
    files.list(task),
    item.id,
    item.trigger === 'auto' ? 'with restore points' : undefined,
  );
  if (before === undefined)
    throw new AtlasError(
      'not_found',
      vscode.l10n.t('"{0}" is the first checkpoint that keeps files.', plain(item.description, 80)),
      {
        hint: vscode.l10n.t('Compare it with the current files instead.'),
      },
    );
  await showChanges(context, task, [before, item], pathFrom(argument));
};

/** Atlas: Show File of Checkpoint. One file as it was. */
export const showCheckpointFile: CommandHandler = async (context, argument) => {
  const { task, item } = await checkpointWithFiles(context, argument);
  const { files } = await context.session.atlas.snapshots();
  const named = pathFrom(argument);
  const path = named ?? (await askFile(unwrap(await files.files(item)).map((each) => each.path)));
  if (path === undefined) return;
  const uri = uriOf(task, item, path) ?? vscode.Uri.file(quotePath(path));
  const name = vscode.l10n.t('{0} ({1})', plain(quotePath(path), 200), plain(item.description, 60));
  await vscode.commands.executeCommand('vscode.open', uri, {}, name);
};

async function askFile(paths: readonly TreePath[]): Promise<TreePath | undefined> {
  const items = paths.map((path) => ({ label: plain(quotePath(path), 400), path }));
  const picked = await vscode.window.showQuickPick(items, { placeHolder: vscode.l10n.t('Which file?') });
  return picked?.path;
}

/** Whether a checkpoint can be compared by its files. */
export function hasFiles(item: ListedCheckpoint): boolean {
  return snapshotOf(item) !== undefined;
}
