import * as vscode from 'vscode';
import { affects } from '../shared/config';
import type { WindowTasks } from '../windowTasks';

/** The folders that this window has open. */
export function openFolders(): string[] {
  return (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
}

/** What happens to the window that the session has to know: focus, folders, trust, settings. */
export function watchWindow(session: WindowTasks, startGit: () => Promise<void>): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.window.onDidChangeWindowState(({ focused }) => {
      if (focused) void session.look();
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(({ added, removed }) => {
      for (const folder of added) void session.addRoot(folder.uri.fsPath);
      for (const folder of removed) void session.removeRoot(folder.uri.fsPath);
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void session.start(openFolders()).then(startGit)),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (affects(event, 'home')) void offerReload();
    }),
  );
}

/** Another store means other tasks everywhere: a new extension host starts with nothing of the old one. */
async function offerReload(): Promise<void> {
  const reload = vscode.l10n.t('Reload Window');
  const answer = await vscode.window.showInformationMessage(
    vscode.l10n.t('Reload the window to use the new store.'),
    reload,
  );
  if (answer === reload) await vscode.commands.executeCommand('workbench.action.reloadWindow');
}
