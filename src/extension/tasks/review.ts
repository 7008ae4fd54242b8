import { join } from 'node:path';
import * as vscode from 'vscode';
import { failedChecks } from '../../core/task/acceptedFailure';
import { AtlasError, unwrap } from '../../core/shared/errors';
import type { StoredTask } from '../../core/task/storedTask';
import { worktreeOf } from '../../core/task/task';
import { taskChanges } from '../../service/checkpoints/taskChanges';
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
  const shown = files.slice(0, MAX_FILES).map(({ path, change }) => {
    const uri = vscode.Uri.file(join(worktree, path));
    const before = change === 'added' ? undefined : context.git.committed(uri, commit);
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
  await vscode.window.showTextDocument(vscode.Uri.file(await outputOf(context.session, task)), { preview: true });
};

/** The file with what the failed check that ran last printed: its output, and where there is none its errors. */
async function outputOf(
  { atlas }: { readonly atlas: Parameters<CommandHandler>[0]['session']['atlas'] },
  task: StoredTask,
): Promise<string> {
  const failed = failedChecks(task.hook).at(-1);
  const { files } = await atlas.receipts();
  for (const stream of ['stdout', 'stderr'] as const) {
    if (failed === undefined || !files.isKept(task.ref, failed.receipt_id, stream)) continue;
    const path = unwrap(files.outputPath(task.ref, failed.receipt_id, stream));
    if ((atlas.ports.files.stat(path)?.size ?? 0) > 0 || stream === 'stderr') return path;
  }
  throw new AtlasError('not_found', vscode.l10n.t("The output wasn't kept."), {
    hint: vscode.l10n.t('Run the check again with "Run Again".'),
  });
}
