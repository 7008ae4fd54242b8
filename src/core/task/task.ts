import { defined } from '../shared/defined';
import * as z from 'zod/mini';
import type { TaskConfig } from '../config/config';
import { listOf, optionalTimestamp, timestamp } from './fields';
import { type TaskRecord, SCHEMA_VERSION } from './taskRecord';
import {
  STEP_TYPES,
  type StepType,
  type TaskTemplate,
  defaultStepType,
  isIdempotentByName,
} from './templates/template';

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
  /** What the step must deliver, and how one knows that it has; where the project's template says. */
  goal: z.optional(z.string()),
  done_when: z.optional(z.string()),
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
  readonly config: TaskConfig;
  /** Real path of the worktree in which the task was started. */
  readonly worktree: string | undefined;
  readonly branch: string | undefined;
  /** The commit that the work is based on. */
  readonly commit?: string | undefined;
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
      ...defined({ goal: step.goal, done_when: step.doneWhen }),
    })),
    step_results: [],
    transitions: [],
    created_at: from.now,
    updated_at: from.now,
    config: {},
    metadata: {
      ...defined({ worktree: from.worktree, branch: from.branch, base_commit: from.commit }),
    },
    schema_version: SCHEMA_VERSION,
  };
}

function frozenCommands(type: StepType, own: readonly string[], config: TaskConfig): string[] {
  if (own.length > 0) return [...own];
  return type === 'validation' ? [...config.validation.commands] : [];
}

/** The type of a step, for files of other writers decided by its name when it is unknown. */
export function stepTypeOf(step: TaskStep): StepType {
  const known = STEP_TYPES.find((type) => type === step.type);
  return known ?? defaultStepType(step.name);
}

/** Whether a step is a human's decision: nothing that is made or run ends it. */
export function isHumanStep(step: TaskStep | undefined): boolean {
  return step !== undefined && stepTypeOf(step) === 'human';
}

/** Whether a step can be done twice without harm. */
export function isIdempotent(step: TaskStep): boolean {
  return step.idempotent ?? isIdempotentByName(step.name);
}

/** The validation commands that decide a step. */
export function commandsOf(step: TaskStep): readonly string[] {
  return step.validation ?? [];
}

/** Every validation command that a task declares, each once, in the order of its steps. */
export function declaredCommands(task: Task): string[] {
  return [...new Set(task.steps.flatMap(commandsOf))];
}

/** The worktree in which a task was started, if its record says so. */
export function worktreeOf(task: Task): string | undefined {
  const worktree = task.metadata['worktree'];
  return typeof worktree === 'string' && worktree !== '' ? worktree : undefined;
}

/** The commit that was checked out when a task started, if its record says so; task.json is anybody's to edit. */
export function baseCommitOf({ metadata }: Task): string | undefined {
  const commit = metadata['base_commit'];
  return typeof commit === 'string' && /^[0-9a-f]{40,64}$/u.test(commit) ? commit : undefined;
}

/** The branch that was checked out when a task started, if its record says so. */
export function startBranchOf({ metadata }: Task): string {
  const { branch } = metadata;
  return typeof branch === 'string' ? branch : '';
}

/** What is wrong with a hook in its folder and task; empty when it is sound. */
export function recordDamage(hook: TaskRecord, task: Task | undefined, folderId: string): string[] {
  const damage: string[] = [];
  if (hook.task_id !== folderId) {
    damage.push(`hook.json names task ${JSON.stringify(hook.task_id)}, but is in the folder of ${folderId}`);
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
