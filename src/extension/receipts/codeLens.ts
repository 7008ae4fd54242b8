import * as path from 'node:path';
import * as vscode from 'vscode';
import type { TaskRef } from '../../core/task/taskRef';
import type { BoundCommands } from '../shared/boundCommands';
import { affects, setting } from '../shared/config';
import type { Verdicts } from './verdicts';
import type { WindowTasks } from '../windowTasks';

const FILES: vscode.DocumentSelector = [
  { scheme: 'file', pattern: '**/tasks/*/hook.json' },
  { scheme: 'file', pattern: '**/tasks/*/HOOK.md' },
];
/** "Verify Receipt" at each receipt and "Show Checkpoint" at each checkpoint of hook.json and HOOK.md. */
export class ReceiptLenses implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];
  private commands: BoundCommands | undefined;
  readonly onDidChangeCodeLenses = this.changes.event;

  constructor(
    private readonly session: WindowTasks,
    private readonly verdicts: Verdicts,
  ) {
    const changed = (): void => this.changes.fire();
    this.subscriptions = [
      vscode.languages.registerCodeLensProvider(FILES, this),
      verdicts.onDidChange(changed),
      session.onDidChange(changed),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (affects(event, 'codeLens.enabled')) changed();
      }),
    ];
  }

  async provideCodeLenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const ref = setting('codeLens.enabled') ? this.refOf(document.uri) : undefined;
    const read = ref === undefined ? undefined : this.session.atlas.catalog.read(ref);
    if (read?.ok !== true) return [];
    // Loaded with the first of these files that is opened: a window begins without.
    const [{ lensesOf }, { BoundCommands }] = await Promise.all([
      import('./lenses'),
      import('../shared/boundCommands'),
    ]);
    this.commands ??= new BoundCommands();
    return lensesOf(document, read.value, this.verdicts.of(read.value), this.commands);
  }

  /** The task whose file this is; a copy elsewhere is nobody's. */
  private refOf(uri: vscode.Uri): TaskRef | undefined {
    const { paths } = this.session.atlas.ports;
    const [workspace, tasks, id, name, ...rest] = path.relative(paths.workspaces, uri.fsPath).split(path.sep);
    if (workspace === undefined || tasks !== 'tasks' || id === undefined || rest.length > 0) return undefined;
    return name === 'hook.json' || name === 'HOOK.md' ? { workspace, id } : undefined;
  }

  dispose(): void {
    this.changes.dispose();
    this.commands?.dispose();
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}
