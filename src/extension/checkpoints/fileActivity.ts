import * as vscode from 'vscode';
import { worktreeOf } from '../../core/task/task';
import { refKey, type TaskRef } from '../../core/task/taskRef';
import { insideWorktree } from '../../system/files/worktreePath';
import type { WindowTasks } from '../windowTasks';

/** Saves are collected this long (ms), so that "save all" is one change of the task. */
const COLLECT_MS = 2000;
const IGNORED = /(^|\/)(\.git|\.forge|node_modules)(\/|$)/u;

/** Notes which files are saved while a step runs, and that files change at all, which shows a live agent. */
export class FileActivity implements vscode.Disposable {
  private readonly pending = new Map<string, { ref: TaskRef; files: Set<string> }>();
  private readonly subscriptions: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly session: WindowTasks) {
    const watcher = vscode.workspace.createFileSystemWatcher('**/*');
    const changed = (uri: vscode.Uri): void => {
      this.changed(uri);
    };
    this.subscriptions = [
      watcher,
      watcher.onDidChange(changed),
      watcher.onDidCreate(changed),
      watcher.onDidDelete(changed),
      vscode.workspace.onDidSaveTextDocument((document) => {
        this.saved(document.uri);
      }),
    ];
  }

  private changed(uri: vscode.Uri): void {
    for (const { worktree } of this.session.ownPlaces) {
      const path = insideWorktree(worktree, uri.fsPath);
      if (path !== undefined && !IGNORED.test(path)) this.session.sawFileChange(worktree);
    }
  }

  private saved(uri: vscode.Uri): void {
    if (uri.scheme !== 'file' || !vscode.workspace.isTrusted) return;
    for (const { ref, hook, task } of this.session.ownTasks()) {
      const worktree = worktreeOf(task);
      if (hook.state !== 'step_running' || worktree === undefined) continue;
      const path = insideWorktree(worktree, uri.fsPath);
      const known = hook.current_step?.files_touched ?? [];
      if (path === undefined || IGNORED.test(path) || known.includes(path)) continue;
      const entry = this.pending.get(refKey(ref)) ?? { ref, files: new Set<string>() };
      entry.files.add(path);
      this.pending.set(refKey(ref), entry);
      this.timer ??= setTimeout(() => void this.flush(), COLLECT_MS);
      // A file belongs to the work of one task: the one that was changed last.
      return;
    }
  }

  private async flush(): Promise<void> {
    this.timer = undefined;
    const entries = [...this.pending.values()];
    this.pending.clear();
    for (const { ref, files } of entries) {
      const atlas = await this.session.atlas.drive();
      const result = await atlas.send(ref, { type: 'note', filesTouched: [...files] });
      if (result.ok) this.session.changed(ref);
      else this.session.atlas.ports.log.debug('Saved files were not noted.', { error: result.error.message });
    }
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}
