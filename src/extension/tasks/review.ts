import { join } from 'node:path';
import * as vscode from 'vscode';
import { failedChecks } from '../../core/task/acceptedFailure';
import { AtlasError } from '../../core/shared/errors';
import { worktreeOf } from '../../core/task/task';
import { taskChanges } from '../../service/checkpoints/taskChanges';
import { keptOutputPath } from '../receipts/keptOutput';
import { taskFor } from '../shared/arguments';
import type { CommandHandler } from '../shared/context';
import { plain } from '../shared/messages';

/** How long git may take to list the changes, in ms: a person waits for it. */
const LISTING_MS = 20_000;
/** More files than these no editor shows well. */
const MAX_FILES = 500;

/** Atlas: Review Changes. All files that differ from the commit at which the task started, in one editor. */
export const reviewChanges: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument, (each) => worktreeOf(each.task) !== undefined);
  const changes = await taskChanges(context.session.atlas.ports, task, LISTING_MS);
  if (changes === undefined) throw nothingToCompare();
  const { commit, worktree, files } = changes;
  if (files.length === 0) {
    void vscode.window.showInformationMessage(
      vscode.l10n.t('"{0}" has changed no files since it started.', plain(task.task.description, 80)),
    );
    return;
  }
  const git = await context.git();
  const shown = files.slice(0, MAX_FILES).map(({ path, change }) => {
    const uri = vscode.Uri.file(join(worktree, path));
    const before = change === 'added' ? undefined : git.committed(uri, commit);
    return [uri, before, change === 'deleted' ? undefined : uri] as const;
  });
  const title = vscode.l10n.t('Changes of "{0}"', plain(task.task.description, 60));
  await vscode.commands.executeCommand('vscode.changes', title, shown);
  if (files.length > MAX_FILES) {
    void vscode.window.showWarningMessage(
      vscode.l10n.t('The first {0} of {1} changed files are shown.', MAX_FILES, files.length),
    );
  }
};

function nothingToCompare(): AtlasError {
  return new AtlasError('not_found', vscode.l10n.t("Git can't list the changes of this task."), {
    hint: vscode.l10n.t('Its worktree or the commit at which it started may be gone.'),
  });
}

/** Atlas: Show Output of Failed Check. */
export const showOutput: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument, ({ hook }) => failedChecks(hook).length > 0);
  const failed = failedChecks(task.hook).at(-1);
  const { atlas } = context.session;
  const path = failed === undefined ? undefined : await keptOutputPath(atlas, task.ref, failed.receipt_id);
  if (path === undefined) {
    throw new AtlasError('not_found', vscode.l10n.t("The output wasn't kept."), {
      hint: vscode.l10n.t('Run the check again with "Run Again".'),
    });
  }
  await vscode.window.showTextDocument(vscode.Uri.file(path), { preview: true });
};
