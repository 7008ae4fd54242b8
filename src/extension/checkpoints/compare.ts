import { createHash } from 'node:crypto';
import * as vscode from 'vscode';
import { type FileDrift, compareSnapshots } from '../../core/checkpoint/checkpoint';
import { AtlasError } from '../../core/shared/errors';
import { worktreeOf } from '../../core/task/task';
import type { FileSnapshot, StepCheckpoint } from '../../core/task/taskRecord';
import { takeSnapshots } from '../../store/snapshots/snapshots';
import { chosen, field } from '../shared/arguments';
import type { CommandContext, CommandHandler } from '../shared/context';
import { plain } from '../shared/messages';
import { checkpointFor } from './checkpointArguments';
import { compareWithNow, hasFiles, pathFrom } from './compareFiles';

/** So much of a commit's name is shown. */
const SHORT = 10;

const DRIFT_ICON: Readonly<Record<FileDrift['kind'], string>> = {
  changed: 'diff-modified',
  missing: 'diff-removed',
  new: 'diff-added',
  unchanged: 'check',
  unknown: 'question',
};

const driftLabels = (): Readonly<Record<FileDrift['kind'], string>> => ({
  changed: vscode.l10n.t('modified'),
  missing: vscode.l10n.t('deleted'),
  new: vscode.l10n.t('new'),
  unchanged: vscode.l10n.t('unchanged'),
  unknown: vscode.l10n.t('unknown'),
});

/**
 * Atlas: Compare Checkpoint with Current Files. All files that differ, in one editor, or the one that is named. Of a
 * checkpoint that kept no files, those that it has hashes of are listed; choosing one shows the difference.
 */
export const compareCheckpointWithNow: CommandHandler = async (context, argument) => {
  const { task, item } = await checkpointFor(context, argument);
  if (hasFiles(item) || item.checkpoint === undefined) {
    await compareWithNow(context, task, item, pathFrom(argument));
    return;
  }
  const { checkpoint } = item;
  const worktree = worktreeOf(task.task);
  const before = checkpoint.files_snapshot ?? [];
  if (worktree === undefined || before.length === 0) {
    throw new AtlasError(
      'not_found',
      vscode.l10n.t('The checkpoint "{0}" recorded no files.', plain(checkpoint.description, 80)),
      { hint: vscode.l10n.t('Use "Review Changes" to see what changed since the task started.') },
    );
  }
  const { files } = context.session.atlas.ports;
  const now = await takeSnapshots(
    files,
    worktree,
    before.map((file) => file.path),
  );
  const order: FileDrift['kind'][] = ['changed', 'missing', 'new', 'unknown', 'unchanged'];
  const drift = compareSnapshots(before, now).sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  const uriOf = (path: string): vscode.Uri => vscode.Uri.joinPath(vscode.Uri.file(worktree), path);
  const named = drift.find(({ path }) => path === field(argument, 'path'));
  if (named !== undefined) {
    await showDifference(context, checkpoint, uriOf(named.path), named);
    return;
  }
  const items = drift.map((file) => ({
    label: `$(${DRIFT_ICON[file.kind]}) ${plain(file.path, 300)}`,
    description: driftLabels()[file.kind],
    file,
  }));
  const differing = drift.filter(({ kind }) => kind !== 'unchanged').length;
  const picked = await vscode.window.showQuickPick(items, {
    title: vscode.l10n.t('"{0}" compared with the current files', plain(checkpoint.description, 80)),
    placeHolder: vscode.l10n.t('Changed files: {0} of {1}', differing, drift.length),
  });
  const { file } = chosen(picked);
  await showDifference(context, checkpoint, uriOf(file.path), file);
};

/**
 * Shows what a file was beside what it is. A checkpoint keeps no contents, only their hashes: what is on the left is the
 * file of its commit, which is called the checkpoint's only where the hash says that it was the same.
 */
async function showDifference(
  context: CommandContext,
  { checkpoint_id: id, git_commit: commit, files_snapshot: snapshots = [] }: StepCheckpoint,
  uri: vscode.Uri,
  { path, kind }: FileDrift,
): Promise<void> {
  const committed = commit === undefined ? undefined : (await context.git()).committed(uri, commit);
  const contents = committed === undefined ? undefined : await contentsOf(committed);
  const name = plain(path, 200);
  if (committed === undefined || commit === undefined || contents === undefined) {
    if (kind !== 'missing') await vscode.window.showTextDocument(uri);
    const text =
      kind === 'missing'
        ? vscode.l10n.t("{0} is gone, and checkpoints don't keep the contents of files.", name)
        : vscode.l10n.t(
            "No commit has {0} as it was, and checkpoints don't keep contents. This is the current file.",
            name,
          );
    void vscode.window.showInformationMessage(text);
    return;
  }
  const isCheckpoints = isSame(
    contents,
    snapshots.find((each) => each.path === path),
  );
  const left = isCheckpoints ? vscode.l10n.t('checkpoint') : vscode.l10n.t('commit {0}', commit.slice(0, SHORT));
  // The same two files in an open tab would be shown again under that tab's title, which is another checkpoint's.
  const before = committed.with({ fragment: id });
  if (kind === 'missing') await vscode.commands.executeCommand('vscode.open', before, {}, `${name} (${left})`);
  else await vscode.commands.executeCommand('vscode.diff', before, uri, `${name} (${left} ↔ ${vscode.l10n.t('now')})`);
  if (isCheckpoints) return;
  void vscode.window.showInformationMessage(
    vscode.l10n.t(
      "The checkpoint doesn't keep the contents of {0}. This compares with commit {1}, on which the checkpoint was recorded.",
      name,
      commit.slice(0, SHORT),
    ),
  );
}

/** A file of a commit; `undefined` where the commit has no such file. */
async function contentsOf(committed: vscode.Uri): Promise<Uint8Array | undefined> {
  try {
    return await vscode.workspace.fs.readFile(committed);
  } catch {
    return undefined;
  }
}

/** Whether contents are those that a checkpoint saw; what it has no hash of may have been anything. */
function isSame(contents: Uint8Array, snapshot: FileSnapshot | undefined): boolean {
  if (snapshot?.exists !== true || snapshot.sha256 === '' || contents.length !== snapshot.size) return false;
  // A snapshot keeps the beginning of the hash.
  return createHash('sha256').update(contents).digest('hex').startsWith(snapshot.sha256);
}
