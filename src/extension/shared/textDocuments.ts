import * as vscode from 'vscode';

const SCHEME = 'atlas-text';

/** Read-only texts that are shown in an editor and belong to no file. */
export class TextDocuments implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly changes = new vscode.EventEmitter<vscode.Uri>();
  // Before the registration, which looks for it once.
  readonly onDidChange = this.changes.event;
  private readonly subscriptions = [
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
    vscode.workspace.onDidCloseTextDocument((document) => {
      if (document.uri.scheme === SCHEME) this.texts.delete(document.uri.path);
    }),
  ];
  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.path) ?? '';
  }

  /** Opens a text under a name; the same name shows in the same editor. */
  async show(name: string, text: string): Promise<void> {
    const uri = this.hold(name, text);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
  }

  /** Keeps a text under a name until its editor is closed, and gives what opens it. */
  hold(name: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${name}` });
    this.texts.set(uri.path, text);
    this.changes.fire(uri);
    return uri;
  }

  dispose(): void {
    this.changes.dispose();
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}
