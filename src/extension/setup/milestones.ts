import type * as vscode from 'vscode';
import type { TaskRecord } from '../../core/task/taskRecord';
import { setContext } from '../shared/contextKeys';
import type { WindowTasks } from '../windowTasks';

/** What the walkthrough asks for, and how it shows in a task that it was done, by a person, an agent or the command. */
const MILESTONES = {
  'atlas.hasStartedTask': () => true,
  'atlas.hasStartedStep': ({ history }: TaskRecord) => history.some(({ trigger }) => trigger === 'start_step'),
  'atlas.hasCheckpoint': ({ checkpoints }: TaskRecord) => checkpoints.length > 0,
  'atlas.hasRecovered': ({ history }: TaskRecord) => history.some(({ trigger }) => trigger === 'crash_detected'),
} as const;

/** Ticks the steps of the walkthrough that this window's tasks show to be done, until all are. */
export function watchMilestones(session: WindowTasks): vscode.Disposable {
  const open = new Set(Object.keys(MILESTONES) as (keyof typeof MILESTONES)[]);
  const subscription = session.onDidChange((changed) => {
    const tasks = session.ownTasks().filter(({ ref }) => changed === undefined || changed.id === ref.id);
    for (const key of [...open]) {
      if (!tasks.some(({ hook }) => MILESTONES[key](hook))) continue;
      setContext(key, true);
      open.delete(key);
    }
    if (open.size === 0) subscription.dispose();
  });
  return subscription;
}
