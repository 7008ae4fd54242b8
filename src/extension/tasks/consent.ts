import * as vscode from 'vscode';
import { wholeCommand } from '../../core/shared/wholeCommand';
import type { Atlas } from '../../service/atlas';
import type { StoredTask } from '../../core/task/storedTask';

/** More lines or characters than these are shown in an editor: a dialog would push its own buttons out of sight. */
const MAX_LINES = 20;
const MAX_CHARACTERS = 3000;

/**
 * Shows a person all of the commands that nobody has allowed yet, one a line, and asks; true also where there are none.
 * Nothing is remembered here.
 * @param commands those that are meant, where that isn't all that the task declares
 */
export async function isAllowed(
  atlas: Atlas,
  task: StoredTask,
  question: { readonly ask: string; readonly yes: string },
  commands?: readonly string[],
): Promise<boolean> {
  const unknown = await atlas.unallowed(task, commands);
  if (unknown.length === 0) return true;
  const lines = unknown.map(wholeCommand);
  const text = lines.join('\n');
  if (lines.length <= MAX_LINES && text.length <= MAX_CHARACTERS) {
    const answer = await vscode.window.showWarningMessage(question.ask, { modal: true, detail: text }, question.yes);
    return answer === question.yes;
  }
  const document = await vscode.workspace.openTextDocument({ content: `${text}\n`, language: 'shellscript' });
  await vscode.window.showTextDocument(document);
  return (await vscode.window.showWarningMessage(question.ask, question.yes)) === question.yes;
}
