import * as z from 'zod/mini';
import type { HookConfig } from './config';
import { type Hook, type HookEvent, SCHEMA_VERSION, isTerminal, listOf, optionalTimestamp, timestamp } from './hook';
import { waitKind } from './waiting';
import { STEP_TYPES, type StepType, type TaskTemplate, defaultStepType, isIdempotentByName } from './template';
import { toMs } from './time';

const looseRecord = z.pipe(
  z.optional(z.nullable(z.record(z.string(), z.unknown()))),
  z.transform((record) => record ?? {}),
);

/** A step of a task, with its commands frozen when the task started. */
export const taskStepSchema = z.looseObject({
  name: z.string(),
  type: z._default(z.string(), 'ai'),
  status: z._default(z.string(), 'pending'),
  started_at: optionalTimestamp,
  completed_at: optionalTimestamp,
  error: z.optional(z.string()),
  attempts: z._default(z.int(), 0),
  idempotent: z.optional(z.boolean()),
  validation: z.optional(listOf(z.string())),
  max_attempts: z.optional(z.int()),
});

/** The outcome of a step that is over. */
export const stepResultSchema = z.looseObject({
  step_index: z.int(),
  step_name: z.string(),
  status: z.string(),
  started_at: optionalTimestamp,
  completed_at: optionalTimestamp,
  duration_ms: z._default(z.number(), 0),
});

/** A change of a task's status. */
export const taskTransitionSchema = z.looseObject({
  from_status: z.string(),
  to_status: z.string(),
  timestamp,
  reason: z.optional(z.string()),
});

/** task.json: what a task is. Unknown fields are kept. */
export const taskSchema = z.looseObject({
  id: z.string(),
  workspace_id: z._default(z.string(), ''),
  template_id: z._default(z.string(), ''),
  description: z._default(z.string(), ''),
  status: z._default(z.string(), 'pending'),
  current_step: z._default(z.int(), 0),
  steps: listOf(taskStepSchema),
  step_results: listOf(stepResultSchema),
  transitions: listOf(taskTransitionSchema),
  created_at: timestamp,
  updated_at: timestamp,
  completed_at: optionalTimestamp,
  config: looseRecord,
  metadata: looseRecord,
  schema_version: z._default(z.union([z.string(), z.number()]), SCHEMA_VERSION),
});

/** What a task is: template, steps, outcomes. */
export type Task = z.infer<typeof taskSchema>;
/** A step of a task. */
export type TaskStep = z.infer<typeof taskStepSchema>;
/** The outcome of a step. */
export type StepResult = z.infer<typeof stepResultSchema>;

/** The bytes of task.json: two spaces, final newline. */
export function serializeTask(task: Task): string {
  return `${JSON.stringify(task, null, 2)}\n`;
}

/** What a new task is made from. */
export interface NewTask {
  readonly id: string;
  readonly workspaceId: string;
  readonly description: string;
  readonly template: TaskTemplate;
  readonly config: HookConfig;
  /** Real path of the worktree in which the task was started. */
  readonly worktree: string | undefined;
  readonly branch: string | undefined;
  readonly now: string;
}

/** A task that has not begun; its validation commands are frozen here. */
export function createTask(from: NewTask): Task {
  return {
    id: from.id,
    workspace_id: from.workspaceId,
    template_id: from.template.id,
    description: from.description,
    status: 'pending',
    current_step: 0,
    steps: from.template.steps.map((step) => ({
      name: step.name,
      type: step.type,
      status: 'pending',
      attempts: 0,
      idempotent: step.idempotent,
      validation: frozenCommands(step.type, step.validation, from.config),
      max_attempts: step.maxAttempts ?? from.config.maxStepAttempts,
    })),
    step_results: [],
    transitions: [],
    created_at: from.now,
    updated_at: from.now,
    config: {},
    metadata: {
      ...(from.worktree === undefined ? {} : { worktree: from.worktree }),
      ...(from.branch === undefined ? {} : { branch: from.branch }),
    },
    schema_version: SCHEMA_VERSION,
  };
}

function frozenCommands(type: StepType, own: readonly string[], config: HookConfig): string[] {
  if (own.length > 0) return [...own];
  return type === 'validation' ? [...config.validation.commands] : [];
}

/** The type of a step, for files of other writers decided by its name when it is unknown. */
export function stepTypeOf(step: TaskStep): StepType {
  const known = STEP_TYPES.find((type) => type === step.type);
  return known ?? defaultStepType(step.name);
}

/** Whether a step can be done twice without harm. */
export function isIdempotent(step: TaskStep): boolean {
  return step.idempotent ?? isIdempotentByName(step.name);
}

/** The validation commands that decide a step. */
export function commandsOf(step: TaskStep): readonly string[] {
  return step.validation ?? [];
}

/** The worktree in which a task was started, if its record says so. */
export function worktreeOf(task: Task): string | undefined {
  const worktree = task.metadata['worktree'];
  return typeof worktree === 'string' && worktree !== '' ? worktree : undefined;
}

/** The status that task.json shows for a hook; the names are those of the Go ATLAS. */
export function taskStatusOf(hook: Hook): string {
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

interface StepFacts {
  attempts: number;
  startedAt: string | undefined;
  completedAt: string | undefined;
  result: string | undefined;
}

function stepIndexOf(event: HookEvent): number | undefined {
  const index = event.details?.['step_index'];
  return typeof index === 'number' && Number.isInteger(index) ? index : undefined;
}

function foldHistory(task: Task, hook: Hook): StepFacts[] {
  const facts = task.steps.map((step): StepFacts => ({
    attempts: step.attempts,
    startedAt: step.started_at,
    completedAt: step.completed_at,
    result: undefined,
  }));
  const own = facts.map(() => false);
  for (const event of hook.history) {
    const index = stepIndexOf(event);
    const fact = index === undefined ? undefined : facts[index];
    if (fact === undefined || index === undefined) continue;
    if (event.trigger === 'start_step') {
      // The history knows better than what task.json said before.
      if (own[index] !== true) fact.attempts = 0;
      if (own[index] !== true) fact.startedAt = event.timestamp;
      own[index] = true;
      if (event.details?.['attempts_spent'] !== true) fact.attempts += 1;
    }
    const result = ADVANCES[event.trigger];
    if (result !== undefined) {
      fact.completedAt = event.timestamp;
      fact.result = result;
    }
  }
  return facts;
}

function stepStatus(index: number, current: number, hook: Hook, fact: StepFacts): string {
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

function currentIndex(task: Task, hook: Hook): number {
  if (hook.state === 'completed') return task.steps.length;
  return hook.current_step?.step_index ?? Math.min(task.current_step, task.steps.length);
}

/**
 * A task brought in line with its hook, which wins. A task as read that agrees comes back equal, to the order of its
 * fields: else it would be written again on each opening.
 */
export function alignTask(task: Task, hook: Hook): Task {
  return taskSchema.parse(aligned(task, hook));
}

function aligned(task: Task, hook: Hook): Task {
  const current = currentIndex(task, hook);
  const facts = foldHistory(task, hook);
  const status = taskStatusOf(hook);
  const steps = task.steps.map((step, index): TaskStep => {
    const fact = facts[index] ?? { attempts: 0, startedAt: undefined, completedAt: undefined, result: undefined };
    const done = index < current || hook.state === 'completed';
    const { started_at: _s, completed_at: _c, ...rest } = step;
    return {
      ...rest,
      status: stepStatus(index, current, hook, fact),
      attempts: fact.attempts,
      ...(fact.startedAt === undefined ? {} : { started_at: fact.startedAt }),
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
        ...(started === undefined ? {} : { started_at: started }),
        ...(completed === undefined ? {} : { completed_at: completed }),
        duration_ms:
          started === undefined || completed === undefined ? 0 : Math.max(0, toMs(completed) - toMs(started)),
      },
    ];
  });
}

/** What is wrong with a hook in its folder and task; empty when it is sound. */
export function hookDamage(hook: Hook, task: Task | undefined, folderId: string): string[] {
  const damage: string[] = [];
  if (hook.task_id !== folderId) {
    damage.push(`hook.json says it belongs to task ${JSON.stringify(hook.task_id)}, but lies in ${folderId}`);
  }
  const step = hook.current_step;
  if (step === undefined) return damage;
  if (step.attempt < 1) damage.push(`attempt ${step.attempt} of step ${JSON.stringify(step.step_name)} is below 1`);
  const inRange = step.step_index >= 0 && (task === undefined || step.step_index < task.steps.length);
  if (!inRange) {
    damage.push(`step index ${step.step_index} is outside the task's ${task?.steps.length ?? 0} steps`);
  }
  return damage;
}
