import * as z from 'zod/mini';
import { listOf, optionalListOf, optionalText, optionalTimestamp, timestamp } from './fields';
import { worktreeStateSchema } from './worktreeState';

/** The version that this program writes; a file of a newer major version is read only. */
export const SCHEMA_VERSION = '1.0';

/** All positions of a task, in the order in which a task meets them. */
export const TASK_STATES = [
  'initializing',
  'step_pending',
  'step_running',
  'step_validating',
  'awaiting_human',
  'recovering',
  'completed',
  'failed',
  'abandoned',
] as const;

/** Where a task stands. */
export type TaskState = (typeof TASK_STATES)[number];

/** The states that nothing leaves. */
export const TERMINAL_STATES = ['completed', 'failed', 'abandoned'] as const satisfies readonly TaskState[];

/** A state that nothing leaves. */
export type TerminalState = (typeof TERMINAL_STATES)[number];

/** Whether a task in this state is over. */
export function isTerminal(state: TaskState): state is TerminalState {
  return (TERMINAL_STATES as readonly TaskState[]).includes(state);
}

/** The states in which somebody is at work, so that silence or a death means a crash. */
export function isInFlight(state: TaskState): boolean {
  return state === 'initializing' || state === 'step_running' || state === 'step_validating';
}

/** What can cause a checkpoint. */
export const CHECKPOINT_TRIGGERS = [
  'manual',
  'git_commit',
  'git_push',
  'pr_created',
  'validation',
  'step_complete',
  'interval',
] as const;

/** What caused a checkpoint. */
export type CheckpointTrigger = (typeof CHECKPOINT_TRIGGERS)[number];

/** The actions that a recovery plan can name. */
export const RECOVERY_ACTIONS = [
  'retry_step',
  'retry_from_checkpoint',
  'retry_validation',
  'skip_step',
  'manual',
  'await_human',
] as const;

/** What a recovery plan says to do. */
export type RecoveryAction = (typeof RECOVERY_ACTIONS)[number];

const details = z.optional(z.nullable(z.record(z.string(), z.unknown())));

/** A file as it was when a checkpoint was made; `path` is relative to the repository, with `/`. */
export const fileSnapshotSchema = z.looseObject({
  path: z.string(),
  size: z.number(),
  mod_time: z.string(),
  sha256: z.string(),
  exists: z.boolean(),
});

/** A snapshot of progress within a step. */
export const stepCheckpointSchema = z.looseObject({
  checkpoint_id: z.string(),
  created_at: timestamp,
  step_name: z.string(),
  step_index: z.number(),
  attempt: z.optional(z.number()),
  description: z.string(),
  trigger: z.enum(CHECKPOINT_TRIGGERS),
  git_branch: z._default(z.string(), ''),
  git_commit: optionalText,
  git_dirty: z.optional(z.boolean()),
  artifacts: optionalListOf(z.string()),
  files_snapshot: optionalListOf(fileSnapshotSchema),
});

/** The step that is under way, or that comes next: then `started_at` is absent until its first attempt starts. */
export const stepContextSchema = z.looseObject({
  step_name: z.string(),
  step_index: z.int(),
  started_at: optionalTimestamp,
  prompt: optionalText,
  attempt: z.int(),
  max_attempts: z.int(),
  working_on: optionalText,
  files_touched: optionalListOf(z.string()),
  last_output: optionalText,
  current_checkpoint_id: optionalText,
});

/** One line of the append-only history. `from_state` is empty for the first. */
export const recordedEventSchema = z.looseObject({
  timestamp,
  from_state: z.union([z.enum(TASK_STATES), z.literal('')]),
  to_state: z.enum(TASK_STATES),
  trigger: z.string(),
  step_name: optionalText,
  details,
});

/** What was found out about a crash and what to do about it. */
export const recoveryContextSchema = z.looseObject({
  detected_at: timestamp,
  crash_type: z.string(),
  last_known_state: z.enum(TASK_STATES),
  was_validating: z._default(z.boolean(), false),
  validation_cmd: optionalText,
  partial_output: optionalText,
  recommended_action: z.string(),
  reason: z._default(z.string(), ''),
  last_checkpoint_id: optionalText,
  details,
});

/** Proof that a validation command ran; see the receipts specification. */
export const validationReceiptSchema = z.looseObject({
  receipt_id: z.string(),
  step_name: z.string(),
  attempt: z.optional(z.int()),
  command: z.string(),
  exit_code: z.int(),
  started_at: timestamp,
  completed_at: timestamp,
  duration: z._default(z.string(), ''),
  stdout_hash: z._default(z.string(), ''),
  stderr_hash: z._default(z.string(), ''),
  key_path: optionalText,
  signature: z._default(z.string(), ''),
});

/** The id of a task; a path that ends in one, as the Go ATLAS writes, reads as its last part. */
const taskIdFromFile = z.pipe(
  z.string(),
  z.transform((text) => text.split(/[\\/]/u).pop() ?? text),
);

/** hook.json: where a task stands. Unknown fields are kept. */
export const taskRecordSchema = z.looseObject({
  version: z._default(z.string(), SCHEMA_VERSION),
  task_id: taskIdFromFile,
  workspace_id: z._default(z.string(), ''),
  created_at: timestamp,
  updated_at: timestamp,
  state: z.enum(TASK_STATES),
  current_step: z.pipe(
    z.optional(z.nullable(stepContextSchema)),
    z.transform((step) => step ?? undefined),
  ),
  history: listOf(recordedEventSchema),
  recovery: z.pipe(
    z.optional(z.nullable(recoveryContextSchema)),
    z.transform((recovery) => recovery ?? undefined),
  ),
  checkpoints: listOf(stepCheckpointSchema),
  receipts: listOf(validationReceiptSchema),
  /** What the worktree was like when Atlas last looked at it; another writer's nonsense there is no damage to the task. */
  worktree_state: z.pipe(
    z.optional(z.unknown()),
    z.transform((state) => worktreeStateSchema.safeParse(state).data),
  ),
  schema_version: z._default(z.string(), SCHEMA_VERSION),
});

/** The durable state of a task. */
export type TaskRecord = z.infer<typeof taskRecordSchema>;
/** The step under way or next. */
export type StepContext = z.infer<typeof stepContextSchema>;
/** A checkpoint. */
export type StepCheckpoint = z.infer<typeof stepCheckpointSchema>;
/** A file's state at a checkpoint. */
export type FileSnapshot = z.infer<typeof fileSnapshotSchema>;
/** A line of history. */
export type RecordedEvent = z.infer<typeof recordedEventSchema>;
/** What is known about a crash. */
export type RecoveryContext = z.infer<typeof recoveryContextSchema>;
/** A validation receipt. */
export type ValidationReceipt = z.infer<typeof validationReceiptSchema>;

/** The lists that only grow at their end, but for the dropping of old checkpoints; an item never changes. */
const LIST_KEYS: ReadonlySet<string> = new Set(['history', 'checkpoints', 'receipts']);

/** A part of hook.json's text: as it stands, or the items of a list, to be joined by a comma and a line feed. */
export type RecordPart = string | { readonly key: string; readonly items: readonly object[] };

/** JSON with two spaces, at a depth. A text in JSON has no line feed of its own. */
function indented(value: unknown, indent: string): string | undefined {
  const text = JSON.stringify(value, null, 2) as string | undefined;
  return text?.replaceAll('\n', `\n${indent}`);
}

/** The text of hook.json in parts: the documented keys in the schema's order, then unknown ones. */
export function recordParts(hook: TaskRecord): RecordPart[] {
  const ordered: Record<string, unknown> = {};
  for (const key of Object.keys(taskRecordSchema.shape)) if (hook[key] !== undefined) ordered[key] = hook[key];
  for (const [key, value] of Object.entries(hook)) if (!Object.hasOwn(ordered, key)) ordered[key] = value;
  const parts: RecordPart[] = [];
  let text = '{';
  let separator = '\n';
  for (const [key, value] of Object.entries(ordered)) {
    const isList = LIST_KEYS.has(key) && Array.isArray(value) && value.length > 0;
    const plain = isList ? '[\n' : indented(value, '  ');
    if (plain === undefined) continue;
    text += `${separator}  ${JSON.stringify(key)}: ${plain}`;
    separator = ',\n';
    if (!isList) continue;
    parts.push(text, { key, items: value as readonly object[] });
    text = '\n  ]';
  }
  return [...parts, `${text}\n}\n`];
}

/** An item of a list of hook.json: an event of the history, of which there may be thousands, in one line. */
export function listItemText(key: string, item: object): string {
  return `    ${key === 'history' ? JSON.stringify(item) : (indented(item, '    ') ?? '')}`;
}

/** The text of hook.json: valid JSON, two spaces, one event of the history a line, final newline. */
export function serializeRecord(hook: TaskRecord): string {
  return recordParts(hook)
    .map((part) =>
      typeof part === 'string' ? part : part.items.map((item) => listItemText(part.key, item)).join(',\n'),
    )
    .join('');
}
