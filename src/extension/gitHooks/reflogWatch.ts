import path from 'node:path';
import * as vscode from 'vscode';
import type { Repository } from '../../core/shared/ports';
import type { WindowTasks } from '../windowTasks';

/**
 * Watches the reflogs of this window's repositories. git writes them with every commit and push, whoever made it, so
 * that these are seen within a moment, and also while the Git extension is disabled.
 */
export class ReflogWatch implements vscode.Disposable {
  private readonly watched = new Map<string, vscode.Disposable>();
  private readonly subscription: vscode.Disposable;

  constructor(
    private readonly session: WindowTasks,
    private readonly noticed: () => void,
  ) {
    this.subscription = session.onDidChangePlaces(() => {
      this.update();
    });
    this.update();
  }

  private update(): void {
    const repositories = this.session.ownPlaces.flatMap(({ repository }) => repository ?? []);
    const wanted = new Map(repositories.map((repository) => [repository.gitDir, repository]));
    for (const [gitDir, watcher] of this.watched) {
      if (wanted.has(gitDir)) continue;
      watcher.dispose();
      this.watched.delete(gitDir);
    }
    for (const [gitDir, repository] of wanted) {
      if (!this.watched.has(gitDir)) this.watched.set(gitDir, this.watch(repository));
    }
  }

  private watch({ gitDir, commonDir }: Repository): vscode.Disposable {
    const patterns = [
      new vscode.RelativePattern(vscode.Uri.file(path.join(gitDir, 'logs')), 'HEAD'),
      new vscode.RelativePattern(vscode.Uri.file(path.join(commonDir, 'logs', 'refs', 'remotes')), '**'),
    ];
    return vscode.Disposable.from(
      ...patterns.flatMap((pattern) => {
        const watcher = vscode.workspace.createFileSystemWatcher(pattern);
        return [watcher, watcher.onDidChange(this.noticed), watcher.onDidCreate(this.noticed)];
      }),
    );
  }

  dispose(): void {
    this.subscription.dispose();
    for (const watcher of this.watched.values()) watcher.dispose();
  }
}
