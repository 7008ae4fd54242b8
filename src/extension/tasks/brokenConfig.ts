import * as vscode from 'vscode';
import type { Result } from '../../core/shared/errors';
import { count } from '../../core/shared/text';
import type { Atlas, StartTask } from '../../service/atlas';
import { refusedIssues } from '../../service/tasks/configIssues';
import type { ConfigIssue } from '../../core/config/configIssue';
import type { Updated } from '../../core/task/storedTask';
import { plain } from '../shared/messages';

/** How many mistakes the question lists. */
const LISTED = 10;

/**
 * Starts a task. Where its configuration has mistakes, that is refused, and a human chooses: fix the first one, or start
 * the task without what the mistakes concern. `undefined`: nothing was started.
 */
export async function startOrAsk(atlas: Atlas, start: StartTask): Promise<Result<Updated> | undefined> {
  const started = await atlas.startTask(start);
  const issues = started.ok ? [] : refusedIssues(started.error);
  const [first] = issues;
  if (first === undefined) return started;
  const open = vscode.l10n.t('Open File');
  const ignore = vscode.l10n.t('Start Without Them');
  const question = vscode.l10n.t(
    'The configuration has {0}. The task might miss checks.',
    count(issues.length, 'problem'),
  );
  const answer = await vscode.window.showWarningMessage(
    question,
    { modal: true, detail: detailOf(issues) },
    open,
    ignore,
  );
  if (answer === ignore) return atlas.startTask({ ...start, ignoreConfig: true });
  if (answer === open) await openAt(first);
  return undefined;
}

function detailOf(issues: readonly ConfigIssue[]): string {
  const lines = issues
    .slice(0, LISTED)
    .map(({ file, position, message }) => `${plain(file, 300)}:${position.line}: ${plain(message, 300)}`);
  const rest = issues.length > LISTED ? [vscode.l10n.t('… and {0} more', issues.length - LISTED)] : [];
  return [vscode.l10n.t('If you start the task anyway, these are ignored:'), '', ...lines, ...rest].join('\n');
}

async function openAt({ file, position }: ConfigIssue): Promise<void> {
  const at = new vscode.Position(position.line - 1, position.column - 1);
  await vscode.window.showTextDocument(vscode.Uri.file(file), { selection: new vscode.Range(at, at) });
}
