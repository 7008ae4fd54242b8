import { defined } from '../shared/defined';
import { historyEvent } from '../history/historyEvent';
import { restoreMetadata, restoreSteps } from './frozenSteps';
import { type TaskRecord, type RecordedEvent, isTerminal } from './taskRecord';
import { type StepResult, type Task, type TaskStep, commandsOf, taskSchema } from './task';
import { toMs } from '../shared/time';
import { waitKind } from './waiting';

/** The status that task.json shows for a hook; the names are those of the Go ATLAS. */
export function taskStatusOf(hook: TaskRecord): string {
  switch (hook.state) {
    case 'initializing':
      return 'pending';
    case 'step_pending':
      return hook.history.some((event) => event.trigger === 'start_step') ? 'running' : 'pending';
    case 'step_running':
      return 'running';
    case 'step_validating':
      return 'validating';
    case 'awaiting_human': {
      const kind = waitKind(hook);
      if (kind === 'validation_failed') return 'validation_failed';
      return kind === 'interrupted' ? 'interrupted' : 'awaiting_approval';
    }
    case 'recovering':
      return 'interrupted';
    case 'completed':
    case 'failed':
    case 'abandoned':
      return hook.state;
  }
}

const ADVANCES: Readonly<Record<string, string>> = {
  step_complete: 'success',
  validate_pass: 'success',
  human_approve: 'success',
  skip_step: 'skipped',
};

/** Whether an event says something of a step's attempts or of its end. Most are checkpoints, which don't. */
function changesSteps({ trigger }: RecordedEvent): boolean {
  return trigger === 'start_step' || Object.hasOwn(ADVANCES, trigger);
}

interface StepFacts {
  attempts: number;
  startedAt: string | undefined;
  completedAt: string | undefined;
  result: string | undefined;
}

function foldHistory(task: Task, hook: TaskRecord): StepFacts[] {
  const facts = task.steps.map((step): StepFacts => ({
    attempts: step.attempts,
    startedAt: step.started_at,
    completedAt: step.completed_at,
    result: undefined,
  }));
  const own = facts.map(() => false);
  for (const event of hook.history.filter(changesSteps).map(historyEvent)) {
    const index = event.details.step_index;
    const fact = index === undefined ? undefined : facts[index];
    if (fact === undefined || index === undefined) continue;
    if (event.type === 'start_step') {
      // The history knows better than what task.json said before.
      if (own[index] !== true) fact.attempts = 0;
      if (own[index] !== true) fact.startedAt = event.timestamp;
      own[index] = true;
      if (!event.details.attempts_spent) fact.attempts += 1;
    }
    const result = ADVANCES[event.type];
    if (result !== undefined) {
      fact.completedAt = event.timestamp;
      fact.result = result;
    }
  }
  return facts;
}

function stepStatus(index: number, current: number, hook: TaskRecord, fact: StepFacts): string {
  if (index < current || hook.state === 'completed') return fact.result === 'skipped' ? 'skipped' : 'completed';
  if (index > current) return 'pending';
  switch (hook.state) {
    case 'failed':
      return 'failed';
    case 'step_running':
    case 'step_validating':
    case 'recovering':
      return 'running';
    case 'awaiting_human': {
      const kind = waitKind(hook);
      return kind === 'step_failed' || kind === 'validation_failed' || kind === 'attempts_spent' ? 'failed' : 'running';
    }
    case 'initializing':
    case 'step_pending':
    case 'abandoned':
      return 'pending';
  }
}

function currentIndex(task: Task, hook: TaskRecord): number {
  if (hook.state === 'completed') return task.steps.length;
  return hook.current_step?.step_index ?? Math.min(task.current_step, task.steps.length);
}

/** Whether a task that is in line with a hook is so with the next one too: it says nothing new of steps and state. */
export function keepsAlignment(before: TaskRecord, after: TaskRecord): boolean {
  return (
    before.state === after.state &&
    // What is waited for is told by the newest events.
    after.state !== 'awaiting_human' &&
    before.current_step?.step_index === after.current_step?.step_index &&
    !after.history.slice(before.history.length).some(changesSteps)
  );
}

/**
 * A task brought in line with its hook, which wins. A task as read that agrees comes back equal, to the order of its
 * fields: else it would be written again on each opening.
 */
export function alignTask(task: Task, hook: TaskRecord): Task {
  return taskSchema.parse(aligned(task, hook));
}

/** The same for showing it, unchecked and in no certain order of its fields. */
export function aligned(task: Task, hook: TaskRecord): Task {
  const current = currentIndex(task, hook);
  const facts = foldHistory(task, hook);
  const status = taskStatusOf(hook);
  const steps = restoreSteps(task, hook).map((step, index): TaskStep => {
    const fact = facts[index] ?? { attempts: 0, startedAt: undefined, completedAt: undefined, result: undefined };
    const done = index < current || hook.state === 'completed';
    const { started_at: _s, completed_at: _c, ...rest } = step;
    return {
      ...rest,
      status: stepStatus(index, current, hook, fact),
      attempts: fact.attempts,
      ...defined({ started_at: fact.startedAt }),
      ...(done && fact.completedAt !== undefined ? { completed_at: fact.completedAt } : {}),
    };
  });
  const changed = task.status !== status;
  const { completed_at: _completed, ...rest } = task;
  const over = isTerminal(hook.state);
  return {
    ...rest,
    status,
    current_step: current,
    steps,
    metadata: restoreMetadata(task, hook),
    step_results: resultsOf(task, steps, facts),
    transitions: changed
      ? [
          ...task.transitions,
          {
            from_status: task.status,
            to_status: status,
            timestamp: hook.updated_at,
            reason: hook.history.at(-1)?.trigger ?? '',
          },
        ]
      : task.transitions,
    updated_at: changed || task.current_step !== current ? hook.updated_at : task.updated_at,
    ...(over ? { completed_at: task.completed_at ?? hook.updated_at } : {}),
  };
}

function resultsOf(task: Task, steps: readonly TaskStep[], facts: readonly StepFacts[]): StepResult[] {
  const before = new Map(task.step_results.map((result) => [result.step_index, result]));
  return steps.flatMap((step, index): StepResult[] => {
    if (step.status !== 'completed' && step.status !== 'skipped') return [];
    const started = step.started_at;
    const completed = step.completed_at;
    const known = before.get(index);
    const fact = facts[index];
    if (known !== undefined && (fact?.result === undefined || known.completed_at === completed)) return [known];
    return [
      {
        step_index: index,
        step_name: step.name,
        status: fact?.result ?? 'success',
        ...defined({ started_at: started, completed_at: completed }),
        duration_ms:
          started === undefined || completed === undefined ? 0 : Math.max(0, toMs(completed) - toMs(started)),
      },
    ];
  });
}

/** The commands that decide a task's current step. */
export function currentCommands({ hook, task }: { readonly hook: TaskRecord; readonly task: Task }): readonly string[] {
  const index = hook.current_step?.step_index;
  const step = index === undefined ? undefined : alignTask(task, hook).steps[index];
  return step === undefined ? [] : commandsOf(step);
}
