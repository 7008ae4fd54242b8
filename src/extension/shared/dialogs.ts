import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { AtlasError } from '../../core/shared/errors';
import { chosen } from './arguments';
import { Cancelled, plain } from './messages';
import type { CommandContext } from './context';

/**
 * Asks in a dialog; anything but the button ends the command without a word.
 * @param keep the other button, where the editor's own "Cancel" would be misread
 */
export async function confirm(question: string, detail: string, title: string, keep?: string): Promise<void> {
  const button: vscode.MessageItem = { title };
  const others = keep === undefined ? [] : [{ title: keep, isCloseAffordance: true }];
  const answer = await vscode.window.showWarningMessage(question, { modal: true, detail }, button, ...others);
  if (answer !== button) throw new Cancelled();
}

/** Shows that something takes its time, and cancels it where a person says so. */
export async function withNotice<T>(
  title: string,
  run: (signal: AbortSignal, progress: vscode.Progress<{ message?: string; increment?: number }>) => Promise<T>,
): Promise<T> {
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  return vscode.window.withProgress(options, async (progress, token) => {
    const ending = new AbortController();
    token.onCancellationRequested(() => ending.abort());
    return run(ending.signal, progress);
  });
}

/** Asks where a JSON file is to be written; it is called so where nothing else is said. */
export async function askTarget({ session }: CommandContext, name: string): Promise<vscode.Uri> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri ?? vscode.Uri.file(session.atlas.ports.paths.root);
  const options = { defaultUri: vscode.Uri.joinPath(folder, name), filters: { JSON: ['json'] } };
  return chosen(await vscode.window.showSaveDialog(options));
}

/** The only one of some folders, or the one that is chosen. */
export async function oneFolder(all: readonly string[], placeHolder: string, none: AtlasError): Promise<string> {
  const folders = [...new Set(all)];
  const [only] = folders;
  if (only === undefined) throw none;
  if (folders.length === 1) return only;
  const items = folders.map((folder) => ({ label: plain(basename(folder)), description: plain(folder), folder }));
  return chosen(await vscode.window.showQuickPick(items, { placeHolder })).folder;
}
