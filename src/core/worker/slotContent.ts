import * as z from 'zod/mini';
import { type Result, fail, ok } from '../shared/errors';
import { listOf, optionalTimestamp, timestamp } from '../task/fields';
import { SCHEMA_VERSION } from '../task/taskRecord';
import { checkTaskId } from '../shared/ids';
import { processIdentitySchema } from '../recovery/liveness';
import { measureJson } from './limits';
import { checkWorker } from './names';
import { versionShape } from './versionVector';

/** Where the work on a hook can be. */
export const SLOT_STATUSES = ['PENDING', 'IN_PROGRESS', 'COMPLETE', 'FAILED'] as const;
/** One of them. */
export type SlotStatus = (typeof SLOT_STATUSES)[number];

/** Why a worker gave its work to the next incarnation. */
export const HANDOFF_REASONS = ['context_limit', 'timeout', 'error'] as const;
/** One of them. */
export type HandoffReason = (typeof HANDOFF_REASONS)[number];

/** The most tools that a context names: a worker with more chooses worse. */
export const MAX_TOOLS = 5;
/** The most earlier attempts that a context tells of. */
export const MAX_PREVIOUS = 3;
const MAX_LABEL = 200;
const MAX_TEXT = 16_384;

const label = z.string().check(z.minLength(1), z.maxLength(MAX_LABEL));
const text = z.string().check(z.maxLength(MAX_TEXT));

/** The id of a task. */
export const taskId = z.string().check(z.refine((id) => checkTaskId(id).ok, 'not a valid task ID'));
/** The name of a worker. */
export const workerName = z.string().check(z.refine((name) => checkWorker(name).ok, 'not a valid worker name'));

const definitionShape = {
  id: taskId,
  type: label,
  input: z._default(z.looseObject({}), {}),
  /** When the work has to be done. */
  timeout: optionalTimestamp,
  convoyId: z.optional(taskId),
  blockedBy: z.optional(listOf(taskId)),
  discoveredFrom: z.optional(taskId),
};

/** A task as the ledger has it: what is to be done, by nobody yet. */
export const taskDefinitionSchema = z.looseObject(definitionShape);

/** task.json: a task on a worker's hook. */
export const slotTaskSchema = z.looseObject({ ...definitionShape, assigned: timestamp });

const errorSchema = z.looseObject({ code: label, message: text, recoverable: z.boolean() });

/** An attempt before this one that failed. */
const attemptSchema = z.looseObject({ claim: versionShape.claim, worker: workerName, error: z.optional(errorSchema) });

/** context.json: what the worker needs for this task, and nothing else. */
export const slotContextSchema = z.looseObject({
  task: slotTaskSchema,
  tools: z.array(label).check(z.maxLength(MAX_TOOLS)),
  previousAttempts: z.optional(z.array(attemptSchema).check(z.maxLength(MAX_PREVIOUS))),
});

/** SHA-256 in hex. */
export const hashSchema = z.string().check(z.regex(/^[0-9a-f]{64}$/u));

/** result.json: what came of the work. */
export const slotResultSchema = z.looseObject({
  taskId,
  status: z.enum(['COMPLETE', 'FAILED']),
  output: z.optional(z.looseObject({})),
  error: z.optional(errorSchema),
  evidence: z.looseObject({ inputHash: hashSchema, outputHash: hashSchema, timestamp }),
  discoveredTasks: z.optional(listOf(taskDefinitionSchema)),
});

/** status.json: where the work stands. */
export const slotStatusSchema = z.looseObject({
  status: z.enum(SLOT_STATUSES),
  taskId,
  worker: workerName,
  ...versionShape,
  /** How often the work was begun, or gone on with after a crash. */
  attempts: z.int().check(z.gte(0)),
  updatedAt: timestamp,
  /** The process that works on it, where it is known: one that lives as long as the work does. */
  owner: z.optional(z.looseObject({ ...processIdentitySchema.shape })),
  /** The clone of the repository that has it: the others leave it alone. */
  clone: z.optional(label),
  handoffReason: z.optional(z.enum(HANDOFF_REASONS)),
  /** Where the next incarnation goes on, in the words of the one before. */
  resumePoint: z.optional(text),
  schema_version: z._default(z.union([z.string(), z.number()]), SCHEMA_VERSION),
});

/** What is to be done, by nobody yet. */
export type TaskDefinition = z.infer<typeof taskDefinitionSchema>;
/** A task on a worker's hook. */
export type SlotTask = z.infer<typeof slotTaskSchema>;
/** All that a worker is told. */
export type SlotContext = z.infer<typeof slotContextSchema>;
/** What came of the work. */
export type SlotResult = z.infer<typeof slotResultSchema>;
/** Why work failed. */
export type SlotError = z.infer<typeof errorSchema>;
/** Where the work on a hook stands. */
export type SlotState = z.infer<typeof slotStatusSchema>;

/** Whether nothing is left to do. */
export function isOver(status: SlotStatus): status is 'COMPLETE' | 'FAILED' {
  return status === 'COMPLETE' || status === 'FAILED';
}

/** The text of a file of a hook: two spaces, final newline. */
export function serializeContent(content: TaskDefinition | SlotContext | SlotResult | SlotState): string {
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** What somebody hands in, by its schema; fails with `usage` and the field that is wrong. */
export function checkInput<T>(schema: z.ZodMiniType<T>, input: unknown, what: string): Result<T> {
  const { problem } = measureJson(input);
  if (problem !== undefined) return fail('usage', `This is not valid as ${what}: ${problem}.`);
  const parsed = schema.safeParse(input);
  if (parsed.success) return ok(parsed.data);
  const [issue] = parsed.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? '' : `, field "${issue.path.map(String).join('.')}"`;
  return fail('usage', `This is not valid as ${what}${where}: ${issue?.message ?? 'unknown shape'}`);
}

/** A context from a task and what its caller adds. Fails with `usage` where it names too many tools. */
export function buildContext(
  task: SlotTask,
  tools: readonly string[],
  previous: SlotContext['previousAttempts'] = [],
  more: Readonly<Record<string, unknown>> = {},
): Result<SlotContext> {
  if (tools.length > MAX_TOOLS)
    return fail('usage', `The context names ${tools.length} tools. A worker may use at most ${MAX_TOOLS}.`, {
      hint: 'Name only the tools that this task needs, or split the task.',
    });
  const previousAttempts = previous.slice(-MAX_PREVIOUS);
  const context = { ...more, task, tools, ...(previousAttempts.length === 0 ? {} : { previousAttempts }) };
  return checkInput(slotContextSchema, context, 'the context of a task');
}
