import * as vscode from 'vscode';
import { worktreeOf } from '../../core/task/task';
import { insideWorktree } from '../../system/files/worktreePath';
import { isPullRequestCommand } from '../../git/hooks/pullRequestCommand';
import type { WindowTasks } from '../windowTasks';

/** Makes a checkpoint when a command that opens a pull request ended well in a terminal with shell integration. */
export function watchPullRequests(session: WindowTasks): vscode.Disposable {
  return vscode.window.onDidEndTerminalShellExecution((event) => {
    if (event.exitCode !== 0 || !vscode.workspace.isTrusted) return;
    if (!isPullRequestCommand(event.execution.commandLine.value)) return;
    void checkpointFor(session, event.execution.cwd?.fsPath);
  });
}

async function checkpointFor(session: WindowTasks, folder: string | undefined): Promise<void> {
  const tasks = session.ownTasks();
  const here = tasks.filter(({ task }) => {
    const worktree = worktreeOf(task);
    if (folder === undefined || worktree === undefined) return false;
    return folder === worktree || insideWorktree(worktree, folder) !== undefined;
  });
  const candidates = folder === undefined ? tasks : here;
  const task = candidates.find(({ hook }) => hook.state === 'step_running') ?? candidates[0];
  if (task === undefined) return;
  const { config } = await session.atlas.configs.forTask(task.task);
  if (!config.autoCheckpoint.onPr) return;
  const atlas = await session.atlas.drive();
  const result = await atlas.checkpoint(task.ref, 'Pull request created', { trigger: 'pr_created' });
  if (result.ok) session.changed(task.ref);
  else session.atlas.ports.log.warn('The checkpoint of a pull request failed.', { error: result.error.message });
}
