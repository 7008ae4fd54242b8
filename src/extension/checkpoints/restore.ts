import * as vscode from 'vscode';
import { AtlasError, unwrap } from '../../core/shared/errors';
import { type TreePath, quotePath } from '../../core/snapshot/treePath';
import { blockedPaths } from '../../core/snapshot/restorePlan';
import type { StoredTask } from '../../core/task/storedTask';
import type { PreviewedRestore, Restored } from '../../service/snapshots/fileRestores';
import { chosen, taskFor } from '../shared/arguments';
import type { CommandHandler } from '../shared/context';
import { confirm } from '../shared/dialogs';
import { plain } from '../shared/messages';
import type { WindowTasks } from '../windowTasks';
import { checkpointWithFiles } from './checkpointArguments';
import { skippedText } from './restoreTexts';

/** Atlas: Restore Checkpoint. Shows what would change; restoring is a button of the preview. */
export const restoreCheckpoint: CommandHandler = async (context, argument) => {
  const { task, item } = await checkpointWithFiles(context, argument);
  context.panels.openDetails({ kind: 'restore', ...task.ref, checkpoint: item.id, paths: [] });
};

/** Atlas: Restore Files of Checkpoint. The same for some of those that differ. */
export const restoreFiles: CommandHandler = async (context, argument) => {
  const { task, item } = await checkpointWithFiles(context, argument);
  const { files } = await context.session.atlas.snapshots();
  const { changes } = unwrap(await files.diff(task, item, 'now'));
  if (changes.length === 0) {
    void vscode.window.showInformationMessage(
      vscode.l10n.t('No file differs from "{0}".', plain(item.description, 80)),
    );
    return;
  }
  const items = changes.map(({ path }) => ({ label: plain(quotePath(path), 400), path }));
  const picked = chosen(
    await vscode.window.showQuickPick(items, {
      title: vscode.l10n.t('Restore files from "{0}"', plain(item.description, 80)),
      placeHolder: vscode.l10n.t('Which files?'),
      canPickMany: true,
      ignoreFocusOut: true,
    }),
  );
  const paths: TreePath[] = picked.map(({ path }) => path);
  if (paths.length > 0) context.panels.openDetails({ kind: 'restore', ...task.ref, checkpoint: item.id, paths });
};

/** Atlas: Undo Restore. */
export const undoRestore: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument, ({ hook }) =>
    hook.history.some(({ trigger }) => trigger === 'restore'),
  );
  const restores = await context.session.atlas.snapshots();
  const previewed = unwrap(await restores.previewUndo(task));
  await carryOut(context.session, task, previewed);
};

/** Restores what a preview shows, and says what came of it. Asks first where somebody is at work on the files. */
export async function carryOut(session: WindowTasks, stored: StoredTask, previewed: PreviewedRestore): Promise<void> {
  const { runningStep } = previewed;
  if (runningStep !== undefined && session.view(stored.ref)?.diagnosis.kind !== 'quiet') {
    const question = vscode.l10n.t('Step "{0}" is running. Restore files all the same?', plain(runningStep, 64));
    const detail = vscode.l10n.t('An agent that works on the step would find other files than it left.');
    await confirm(question, detail, vscode.l10n.t('Restore'));
  }
  const restores = await session.atlas.snapshots();
  const restored = await restores.restore(stored, previewed);
  if (!restored.ok && restored.error.reason === 'changed')
    throw new AtlasError(
      'stale_caller',
      vscode.l10n.t('Files changed since the preview was made. Nothing was restored.'),
      {
        hint: vscode.l10n.t('Look at the preview again, then restore.'),
      },
    );
  const done = unwrap(restored);
  session.changed(stored.ref);
  void tell(stored, previewed, done);
}

async function tell(stored: StoredTask, previewed: PreviewedRestore, done: Restored): Promise<void> {
  const changed = done.written + done.removed;
  const name = plain(previewed.item.description, 80);
  const what = previewed.isUndo
    ? vscode.l10n.t('The restore was undone.')
    : changed === 1
      ? vscode.l10n.t('1 file was restored from "{0}".', name)
      : vscode.l10n.t('{0} files were restored from "{1}".', changed, name);
  const [first] = done.skipped;
  const left = done.skipped.length + blockedPaths(previewed.preview.paths).length;
  const skipped =
    left === 0
      ? ''
      : first === undefined
        ? ` ${vscode.l10n.t('{0} could not be and stay as they are.', left)}`
        : ` ${vscode.l10n.t('{0} stays as it is: {1}.', plain(quotePath(first.path)), skippedText(first.reason))}`;
  const undo = vscode.l10n.t('Undo Restore');
  const show = left === 0 ? vscode.window.showInformationMessage : vscode.window.showWarningMessage;
  const answer = await show(`${what}${skipped}`, undo);
  if (answer === undo) await vscode.commands.executeCommand('atlas.undoRestore', { kind: 'task', ref: stored.ref });
}
