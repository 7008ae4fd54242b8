import * as vscode from 'vscode';
import type { WindowTasks } from '../windowTasks';

/**
 * Tells of a crash, a human needed and a failed validation: each once, with the one next step first. What is said comes
 * with the first task that needs it: most windows begin without one.
 */
export function watchTasks(session: WindowTasks, memory: vscode.Memento): vscode.Disposable {
  const load = async () => import('./notices');
  return vscode.Disposable.from(
    session.onDidFindCrash((task) => void load().then((notices) => notices.tellOfCrash(session, memory, task))),
    session.onDidChange(() => {
      const waiting = session.ownTasks().filter(({ hook }) => hook.state === 'awaiting_human');
      if (waiting.length === 0) return;
      void load().then((notices) => waiting.forEach((task) => notices.tellOfWaiting(session, memory, task)));
    }),
  );
}
