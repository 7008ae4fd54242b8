import * as vscode from 'vscode';
import type { Logger } from '../../core/shared/ports';
import { repositoryConfigPath } from '../../store/config/configFile';
import { templateFolder } from '../../store/paths';
import type { WindowTasks } from '../windowTasks';

/** Shows what is wrong in the configuration files where it stands, and takes up their changes at once. */
export class ConfigProblems implements vscode.Disposable {
  private readonly diagnostics = vscode.languages.createDiagnosticCollection('atlas');
  private readonly logged = new Set<string>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(session: WindowTasks, log: Logger) {
    const root = vscode.Uri.file(session.atlas.ports.paths.root);
    const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(root, 'config.yaml'));
    const look = (): void => void session.look();
    this.subscriptions = [
      watcher,
      watcher.onDidChange(look),
      watcher.onDidCreate(look),
      watcher.onDidDelete(look),
      session.onDidReadConfig((issues) => {
        this.diagnostics.clear();
        for (const file of new Set(issues.map((issue) => issue.file))) {
          const own = issues.filter((issue) => issue.file === file);
          this.diagnostics.set(
            vscode.Uri.file(file),
            own.map(({ position, message }) => toDiagnostic(position, message)),
          );
        }
        for (const issue of issues) this.logOnce(log, `${issue.file}:${issue.position.line}: ${issue.message}`);
      }),
      vscode.workspace.onDidSaveTextDocument(({ uri }) => {
        const files = [
          session.atlas.ports.paths.config,
          ...session.ownPlaces.map(({ worktree }) => repositoryConfigPath(worktree)),
        ];
        const folders = session.ownPlaces.map(({ worktree }) => templateFolder(worktree));
        const saved = uri.toString();
        const isOurs =
          files.some((file) => vscode.Uri.file(file).toString() === saved) ||
          folders.some((folder) => saved.startsWith(`${vscode.Uri.file(folder).toString()}/`));
        if (isOurs) void session.look();
      }),
    ];
  }

  private logOnce(log: Logger, line: string): void {
    if (this.logged.has(line)) return;
    this.logged.add(line);
    log.warn(`Ignored: ${line}`);
  }

  dispose(): void {
    this.diagnostics.dispose();
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}

/** Marks the rest of the line: that is where the setting stands. */
function toDiagnostic({ line, column }: { line: number; column: number }, message: string): vscode.Diagnostic {
  const range = new vscode.Range(line - 1, column - 1, line - 1, Number.MAX_SAFE_INTEGER);
  const diagnostic = new vscode.Diagnostic(range, message, vscode.DiagnosticSeverity.Warning);
  diagnostic.source = 'Atlas';
  return diagnostic;
}
