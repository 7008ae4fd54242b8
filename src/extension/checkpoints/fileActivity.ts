import * as vscode from 'vscode';
import { worktreeOf } from '../../core/task/task';
import { refKey, type TaskRef } from '../../core/task/taskRef';
import { insideWorktree } from '../../system/files/worktreePath';
import type { WindowTasks } from '../windowTasks';

/** Saves are collected this long (ms), so that "save all" is one change of the task. */
const COLLECT_MS = 2000;
const IGNORED = /(^|\/)(\.git|\.forge|node_modules)(\/|$)/u;

/** Notes which files are saved while a step runs, and that files change at all, which shows a live agent. */
export function watchFiles(session: WindowTasks): vscode.Disposable {
  const pending = new Map<string, { ref: TaskRef; files: Set<string> }>();
  let timer: NodeJS.Timeout | undefined;
  const watcher = vscode.workspace.createFileSystemWatcher('**/*');
  const changed = (uri: vscode.Uri): void => {
    for (const { worktree } of session.ownPlaces)
      if (pathIn(worktree, uri) !== undefined) session.sawFileChange(worktree);
  };
  const flush = (): void => {
    timer = undefined;
    const entries = [...pending.values()];
    pending.clear();
    void note(session, entries);
  };
  const saved = (uri: vscode.Uri): void => {
    if (uri.scheme !== 'file' || !vscode.workspace.isTrusted) return;
    for (const { ref, hook, task } of session.ownTasks()) {
      const worktree = worktreeOf(task);
      if (hook.state !== 'step_running' || worktree === undefined) continue;
      const path = pathIn(worktree, uri);
      if (path === undefined || hook.current_step?.files_touched?.includes(path) === true) continue;
      const entry = pending.get(refKey(ref)) ?? { ref, files: new Set<string>() };
      entry.files.add(path);
      pending.set(refKey(ref), entry);
      timer ??= setTimeout(flush, COLLECT_MS);
      // A file belongs to the work of one task: the one that was changed last.
      return;
    }
  };
  return vscode.Disposable.from(
    watcher,
    watcher.onDidChange(changed),
    watcher.onDidCreate(changed),
    watcher.onDidDelete(changed),
    vscode.workspace.onDidSaveTextDocument(({ uri }) => saved(uri)),
    { dispose: () => clearTimeout(timer) },
  );
}

function pathIn(worktree: string, uri: vscode.Uri): string | undefined {
  const path = insideWorktree(worktree, uri.fsPath);
  return path === undefined || IGNORED.test(path) ? undefined : path;
}

async function note(session: WindowTasks, entries: readonly { ref: TaskRef; files: Set<string> }[]): Promise<void> {
  for (const { ref, files } of entries) {
    const atlas = await session.atlas.drive();
    const result = await atlas.send(ref, { type: 'note', filesTouched: [...files] });
    if (result.ok) session.changed(ref);
    else session.atlas.ports.log.debug('Saved files were not noted.', { error: result.error.message });
  }
}
