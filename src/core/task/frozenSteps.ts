import { defined } from '../shared/defined';
import { type EventOf, historyEvent } from '../history/historyEvent';
import type { TaskRecord } from './taskRecord';
import { type Task, type TaskStep, commandsOf, stepTypeOf, worktreeOf } from './task';

/** What of a step is settled when the task starts: whoever changes it later in task.json changes nothing. */
interface FrozenStep {
  readonly name: string;
  readonly type: string;
  readonly validation: readonly string[];
}

/** What the first event of the history records: the steps, and where their commands run. */
export function freezeTask(task: Task): Readonly<Record<string, unknown>> {
  const worktree = worktreeOf(task);
  return {
    steps: task.steps.map((step): FrozenStep => ({
      name: step.name,
      type: stepTypeOf(step),
      validation: [...commandsOf(step)],
    })),
    ...defined({ worktree }),
  };
}

function asFrozen(value: unknown): FrozenStep | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { name, type, validation } = value as Readonly<Record<string, unknown>>;
  if (typeof name !== 'string' || typeof type !== 'string' || !Array.isArray(validation)) return undefined;
  return { name, type, validation: validation.filter((command): command is string => typeof command === 'string') };
}

function settledAtStart(hook: TaskRecord): EventOf<'init'>['details'] | undefined {
  const first = hook.history.find(({ trigger }) => trigger === 'init');
  return first === undefined ? undefined : (historyEvent(first) as EventOf<'init'>).details;
}

/**
 * The steps of a task with what was settled at its start put back: as many, in the same order. As they are where the
 * history doesn't say.
 */
export function restoreSteps(task: Task, hook: TaskRecord): TaskStep[] {
  const recorded = settledAtStart(hook)?.steps ?? [];
  if (recorded.length === 0) return task.steps;
  return recorded.flatMap((value, index): TaskStep[] => {
    const settled = asFrozen(value);
    const step = task.steps[index];
    if (settled === undefined) return step === undefined ? [] : [step];
    if (step !== undefined && isAs(step, settled)) return [step];
    const kept = step ?? { status: 'pending', attempts: 0 };
    return [{ ...kept, name: settled.name, type: settled.type, validation: [...settled.validation] }];
  });
}

/** A task's metadata with the worktree in which it was started put back. */
export function restoreMetadata(task: Task, hook: TaskRecord): Task['metadata'] {
  const worktree = settledAtStart(hook)?.worktree;
  return worktree !== undefined && task.metadata['worktree'] !== worktree
    ? { ...task.metadata, worktree }
    : task.metadata;
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
