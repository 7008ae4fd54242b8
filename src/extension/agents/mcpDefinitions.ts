import * as vscode from 'vscode';
import { plain } from '../shared/messages';
import type { ServerProgram } from './serverProgram';

/** What is looked at of the window. */
export type WindowFolders = Pick<typeof vscode.workspace, 'isTrusted' | 'workspaceFolders'>;

/** Says to the editor how to start `atlas mcp` for each of its folders; none in a window that isn't trusted. */
export class McpDefinitions
  implements vscode.McpServerDefinitionProvider<vscode.McpStdioServerDefinition>, vscode.Disposable
{
  private readonly changes = new vscode.EventEmitter<void>();
  readonly onDidChangeMcpServerDefinitions = this.changes.event;
  private readonly subscriptions = [
    vscode.workspace.onDidGrantWorkspaceTrust(() => this.changes.fire()),
    vscode.workspace.onDidChangeWorkspaceFolders(() => this.changes.fire()),
  ];

  constructor(
    private readonly program: ServerProgram,
    private readonly window: WindowFolders = vscode.workspace,
  ) {}

  provideMcpServerDefinitions(): vscode.McpStdioServerDefinition[] {
    if (!this.window.isTrusted) return [];
    const folders = (this.window.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === 'file');
    const labels = labelsOf(folders.map(({ name }) => plain(name, 60)));
    return folders.map((folder, index) => this.definition(labels[index] ?? 'Atlas', folder.uri));
  }

  private definition(label: string, folder: vscode.Uri): vscode.McpStdioServerDefinition {
    const { command, args, env, version } = this.program;
    const definition = new vscode.McpStdioServerDefinition(label, command, [...args], { ...env }, version);
    definition.cwd = folder;
    return definition;
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.changes.dispose();
  }
}

/** The editor knows a server by its label, so that no two are alike. */
function labelsOf(names: readonly string[]): string[] {
  if (names.length === 1) return ['Atlas'];
  return names.map((name, index) => {
    const before = names.slice(0, index).filter((other) => other === name).length;
    return before === 0 ? `Atlas (${name})` : `Atlas (${name}, ${before + 1})`;
  });
}
