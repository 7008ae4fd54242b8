import { section } from '../../core/shared/agentText';
import { isTerminal } from '../../core/task/taskRecord';
import { oneLine } from '../../core/shared/text';
import type { Reaction } from '../hosts/hostReply';
import type { LifecycleContext } from './lifecycleContext';

/** `pre-compact`: saves where the task stands, then says what the agent has to write down. */
export async function preCompact(occasion: LifecycleContext): Promise<Reaction> {
  if (occasion.check === undefined) await checkpoint(occasion);
  const prompts = await occasion.prompts();
  const notice = section('system-notice', prompts.preCompact());
  const reminder = occasion.kind.trigger ? [section('system-reminder', prompts.compact())] : [];
  return { text: [notice, ...reminder].join('\n\n'), blocks: false };
}

/** Made as one that somebody asked for: it is wanted in every state, and no setting turns it off. Waits for no `git status`. */
async function checkpoint(occasion: LifecycleContext): Promise<void> {
  const { task } = await occasion.task();
  if (task === undefined || isTerminal(task.hook.state) || task.hook.current_step === undefined) return;
  const cause = occasion.called.input.trigger;
  const description = `Before context compaction${cause === undefined ? '' : ` (${oneLine(cause, 20)})`}`;
  try {
    const atlas = await occasion.atlas.drive();
    const made = await atlas.send(task.ref, { type: 'checkpoint', trigger: 'manual', description });
    if (!made.ok) occasion.problem(`No checkpoint was recorded: ${made.error.message}`);
  } catch (error) {
    occasion.problem('No checkpoint was recorded', error);
  }
}
