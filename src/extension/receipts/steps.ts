import { commandsOf } from '../../core/task';
import { alignTask } from '../../core/taskAlignment';
import type { StoredTask } from '../../storage/stored';

/** The commands that decide a task's current step. */
export function commandsOfStep({ hook, task }: StoredTask): readonly string[] {
  const index = hook.current_step?.step_index;
  const step = index === undefined ? undefined : alignTask(task, hook).steps[index];
  return step === undefined ? [] : commandsOf(step);
}
