import type { Hook } from './hook';
import { type Task, type TaskStep, commandsOf, stepTypeOf } from './task';

/** What of a step is settled when the task starts: whoever changes it later in task.json changes nothing. */
interface FrozenStep {
  readonly name: string;
  readonly type: string;
  readonly validation: readonly string[];
}

/** The steps as the first event of the history records them. */
export function freezeSteps(task: Task): FrozenStep[] {
  return task.steps.map((step) => ({ name: step.name, type: stepTypeOf(step), validation: [...commandsOf(step)] }));
}

function asFrozen(value: unknown): FrozenStep | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { name, type, validation } = value as Readonly<Record<string, unknown>>;
  if (typeof name !== 'string' || typeof type !== 'string' || !Array.isArray(validation)) return undefined;
  return { name, type, validation: validation.filter((command): command is string => typeof command === 'string') };
}

/** The steps of a task with what was settled at its start put back; as they are where the history doesn't say. */
export function restoreFrozen(task: Task, hook: Hook): TaskStep[] {
  const recorded = hook.history.find(({ trigger }) => trigger === 'init')?.details?.['steps'];
  if (!Array.isArray(recorded)) return task.steps;
  const frozen = recorded.map(asFrozen);
  return task.steps.map((step, index) => {
    const settled = frozen[index];
    if (settled === undefined || isAs(step, settled)) return step;
    return { ...step, name: settled.name, type: settled.type, validation: [...settled.validation] };
  });
}

function isAs(step: TaskStep, frozen: FrozenStep): boolean {
  const commands = commandsOf(step);
  return (
    step.name === frozen.name &&
    stepTypeOf(step) === frozen.type &&
    commands.length === frozen.validation.length &&
    commands.every((command, index) => command === frozen.validation[index])
  );
}
