import { defined } from '../../core/shared/defined';
import { discardingCommand } from '../../core/snapshot/discardingCommand';
import { isTerminal } from '../../core/task/taskRecord';
import type { StoredTask } from '../../core/task/storedTask';
import { NOTHING, type Reaction } from '../hosts/hostReply';
import type { HostName } from '../hosts/hosts';
import type { LifecycleContext } from './lifecycleContext';

/** How long a command that throws work away waits until the files are captured, in ms. */
const HOLD_MS = 2000;

/**
 * Has the files captured as they are now, by another process, as a restore point of the task.
 * @param session the session that begins: what files it begins with is noted too
 */
export async function markFiles(
  { atlas, check }: Pick<LifecycleContext, 'atlas' | 'check'>,
  { ref, hook, task }: StoredTask,
  event: 'session_started' | 'turn_started' | 'turn_ended',
  session?: string,
): Promise<void> {
  if (check !== undefined || isTerminal(hook.state) || atlas.ports.recorded === undefined) return;
  const { config } = await atlas.configs.forTask(task);
  const mayCapture = config.snapshots.enabled;
  atlas.ports.recorded(ref, { event, checkpoints: [], mayCapture, ...defined({ session }) });
}

/** `turn-start`: has the files captured as an agent begins to answer. Nobody waits for it. */
export async function turnStart(occasion: LifecycleContext): Promise<Reaction> {
  const { task } = await occasion.task();
  if (task !== undefined) await markFiles(occasion, task, 'turn_started');
  return NOTHING;
}

/**
 * `before-discard`: has the files captured before a command throws work away. A host that is named holds the command
 * until this is answered; any other runs it meanwhile, so that what is captured may be what the command left.
 */
export async function beforeDiscard(occasion: LifecycleContext, host: HostName | undefined): Promise<Reaction> {
  const { atlas, called, check, now } = occasion;
  const name = discardingCommand(called.input.command ?? '');
  const { task } = name === undefined ? { task: undefined } : await occasion.task();
  if (name === undefined || task === undefined || check !== undefined || isTerminal(task.hook.state)) return NOTHING;
  const { config } = await atlas.configs.forTask(task.task);
  if (config.snapshots.enabled)
    await atlas.ports.heldCapture?.(task.ref, { name, until: host === undefined ? now : now + HOLD_MS });
  return NOTHING;
}
