import * as vscode from 'vscode';

/** Called by the editor once; composes the extension and owns what must be disposed. */
export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Atlas', { log: true });
  context.subscriptions.push(log);
  log.info('activated');
}
