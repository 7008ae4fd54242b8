import type * as vscode from 'vscode';
import { watchFiles } from '../checkpoints/fileActivity';
import { watchPullRequests } from '../gitHooks/pullRequests';
import { ReceiptLenses } from '../receipts/codeLens';
import type { Verdicts } from '../receipts/verdicts';
import { linkIds } from '../tasks/terminalLinks';
import type { WindowTasks } from '../windowTasks';
import { watchConfig } from './configProblems';

/** What works in the user's own files and terminals, and needs the tasks to be known: a window begins without. */
export function openEditorParts(session: WindowTasks, verdicts: Verdicts, extension: vscode.ExtensionContext): void {
  extension.subscriptions.push(
    watchConfig(session),
    watchFiles(session),
    new ReceiptLenses(session, verdicts),
    linkIds(session),
    watchPullRequests(session),
  );
}
