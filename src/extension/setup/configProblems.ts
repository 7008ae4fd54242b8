import * as vscode from 'vscode';
import type { ConfigIssue } from '../../core/config/configIssue';
import { repositoryConfigPath } from '../../store/config/configFile';
import { templateFolder } from '../../store/paths';
import type { WindowTasks } from '../windowTasks';

/** Shows what is wrong in the configuration files where it stands, and takes up their changes at once. */
export function watchConfig(session: WindowTasks): vscode.Disposable {
  const diagnostics = vscode.languages.createDiagnosticCollection('atlas');
  const logged = new Set<string>();
  const { paths, log } = session.atlas.ports;
  const root = vscode.Uri.file(paths.root);
  const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(root, 'config.yaml'));
  const look = (): void => void session.look();
  const show = (issues: readonly ConfigIssue[]): void => {
    diagnostics.clear();
    for (const file of new Set(issues.map((issue) => issue.file))) {
      const own = issues.filter((issue) => issue.file === file);
      diagnostics.set(vscode.Uri.file(file), own.map(toDiagnostic));
    }
    for (const { file, position, message } of issues) {
      const line = `${file}:${position.line}: ${message}`;
      if (!logged.has(line)) log.warn(`Ignored: ${line}`);
      logged.add(line);
    }
  };
  show(session.configIssues);
  return vscode.Disposable.from(
    diagnostics,
    watcher,
    watcher.onDidChange(look),
    watcher.onDidCreate(look),
    watcher.onDidDelete(look),
    session.onDidReadConfig(show),
    vscode.workspace.onDidSaveTextDocument(({ uri }) => {
      const worktrees = session.ownPlaces.map(({ worktree }) => worktree);
      const files = [paths.config, ...worktrees.map(repositoryConfigPath)];
      const saved = uri.toString();
      const isOurs =
        files.some((file) => vscode.Uri.file(file).toString() === saved) ||
        worktrees.some((worktree) => saved.startsWith(`${vscode.Uri.file(templateFolder(worktree)).toString()}/`));
      if (isOurs) void session.look();
    }),
  );
}

/** Marks the rest of the line: that is where the setting stands. */
function toDiagnostic({ position: { line, column }, message }: ConfigIssue): vscode.Diagnostic {
  const range = new vscode.Range(line - 1, column - 1, line - 1, Number.MAX_SAFE_INTEGER);
  const diagnostic = new vscode.Diagnostic(range, message, vscode.DiagnosticSeverity.Warning);
  diagnostic.source = 'Atlas';
  return diagnostic;
}
