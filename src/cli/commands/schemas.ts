import * as z from 'zod/mini';
import { FOREIGN_EDITS } from '../../core/task/foreignEdits';
import { TASK_STATES, RECOVERY_ACTIONS } from '../../core/task/taskRecord';
import { VERDICTS } from '../../core/receipt/receipt';
import { RESTORED_FILES, checkpoint, fileChange, listedCheckpoint } from './checkpoint/checkpointSchemas';
import { inboxItem } from './inbox/inboxSchemas';
import { LIFECYCLE_ANSWERS } from './lifecycle/lifecycleSchemas';
import { SESSION_ANSWERS, SESSION_SHARED } from './sessions/sessionSchemas';
import { VERIFY_ANSWERS, VERIFY_SHARED } from './verify/verifySchemas';
import { WORKER_ANSWERS, WORKER_SHARED } from './worker/workerSchemas';

/*
 * What `--json` prints, by command. The published schema is made from these, and the commands' answers are checked
 * against their types; nothing here is loaded when a command runs.
 */

const time = z.string();
const text = z.string();
const maybe = <T extends z.core.$ZodType>(type: T) => z.nullable(type);
const integer = z.int();

const task = z.strictObject({
  workspace_id: text,
  task_id: text,
  description: text,
  template_id: text,
  state: z.enum(TASK_STATES),
  /** The step under way or next; null when none is left. `index` counts from 0. */
  step: maybe(
    z.strictObject({
      name: text,
      index: integer,
      total: integer,
      attempt: integer,
      max_attempts: integer,
      working_on: maybe(text),
    }),
  ),
  updated_at: time,
  hook_path: text,
});

/** Of `checkpoint restore` and `checkpoint undo-restore`. */
const restoredFiles = z.strictObject({ task, ...RESTORED_FILES });

const verdict = z.enum(VERDICTS);
const verdictCounts = z.strictObject({
  valid: integer,
  valid_short: integer,
  invalid: integer,
  unsigned: integer,
  unknown_key: integer,
});

const bundledReceipt = z.strictObject({
  receipt_id: text,
  step_name: text,
  attempt: maybe(integer),
  command: text,
  exit_code: integer,
  verdict,
  /** Whether it proves that its command passed. */
  proves_pass: z.boolean(),
  scheme: maybe(text),
  key_path: maybe(text),
  public_key: maybe(text),
  failed_check: maybe(text),
  checks: z.array(
    z.strictObject({
      check: text,
      passed: z.boolean(),
      message: text,
      expected: z.optional(text),
      found: z.optional(text),
      differences: z.optional(z.array(z.strictObject({ field: text, expected: text, found: text }))),
    }),
  ),
});

const receipt = z.extend(bundledReceipt, {
  duration: text,
  completed_at: time,
  /** Whether the files are still those that it was made on; null where that can't be said. */
  current: maybe(z.boolean()),
  /** Files that differ since. */
  changed_files: z.array(text),
  /** Why a human accepted the step although this check had failed. */
  accepted_despite: maybe(text),
});

/** What to do now, as HOOK.md says it, and the command to type for it. */
const next = { next: text, next_command: maybe(text) };
const changed = { task, changed: z.boolean(), ...next };

/** Of a step that begins: the checks that the repository has, where the step declares none and is there to validate. */
const begun = { to_do: text, offered_checks: z.array(z.strictObject({ command: text, source: text })) };
/** The same of the next step, with `--start-next`. */
const startedNext = { to_do: z.optional(begun.to_do), offered_checks: z.optional(begun.offered_checks) };

const plan = z.strictObject({
  action: z.enum(RECOVERY_ACTIONS),
  rule: text,
  reason: text,
  checkpoint_id: maybe(text),
  considered: z.array(z.strictObject({ rule: text, matched: z.boolean(), why: text })),
});

/** A task that can't be read: damaged, say, or made by a newer version of Atlas. */
const unreadableTask = z.strictObject({ task_id: text, code: text, message: text });

const status = {
  task,
  health: z.strictObject({
    kind: z.enum(['over', 'waiting', 'recovering', 'working', 'recent', 'quiet', 'agent_left', 'crashed']),
    /** Of a crash. */
    cause: maybe(text),
    /** Since when it has been quiet, or the last sign of life before a crash. */
    since: maybe(time),
  }),
  waiting: maybe(z.strictObject({ kind: text, message: maybe(text), since: time })),
  recovery: maybe(z.strictObject({ action: text, reason: text, crash_type: text })),
  last_checkpoint: maybe(checkpoint),
  checkpoints: integer,
  receipts: verdictCounts,
  /** How the commands ended of which the receipts are. */
  results: z.strictObject({ passed: integer, failed: integer }),
  /** Edits of hook.json from outside that no human has acknowledged; `at` is when the last one was found. */
  foreign_edits: maybe(z.strictObject({ count: integer, kind: z.enum(FOREIGN_EDITS), at: time })),
  ...next,
  other_open_tasks: z.array(z.strictObject({ task_id: text, state: z.enum(TASK_STATES), description: text })),
  unreadable_tasks: z.array(unreadableTask),
  /** Sessions of the repository that wait for the user or were interrupted, the most urgent first. */
  sessions: z.array(SESSION_SHARED['session data']),
};

const validated = z.strictObject({
  receipt_id: text,
  command: text,
  exit_code: integer,
  duration: text,
  stdout_path: text,
  stderr_path: text,
});

const hookReport = {
  hooks_folder: text,
  changed: z.boolean(),
  manager: maybe(text),
  hooks: z.array(z.strictObject({ name: text, path: text, state: text, problem: maybe(text) })),
  instructions: z.array(text),
};

const finding = z.strictObject({
  area: text,
  level: z.enum(['ok', 'fixed', 'problem']),
  subject: text,
  message: text,
  hint: maybe(text),
});

const ended = { workspace_id: text, item: inboxItem, changed: z.boolean() };

/** What each command's answer holds beside `success`, `command` and `notes`. */
export const ANSWERS = {
  start: z.strictObject({
    ...changed,
    git_hooks: z.enum(['installed', 'present', 'absent', 'not_possible']),
    /** The checks that its steps declare. */
    commands: z.array(text),
    /** The built-in templates that the repository's own one stands in for. */
    replaces_templates: z.array(text),
  }),
  status: z.strictObject(status),
  'hook status': z.strictObject(status),
  'step start': z.strictObject({ ...changed, ...begun }),
  'step note': z.strictObject(changed),
  'step output': z.strictObject(changed),
  'step complete': z.strictObject({ ...changed, ...startedNext }),
  'step ask': z.strictObject(changed),
  'step fail': z.strictObject(changed),
  validate: z.strictObject({
    ...changed,
    ...startedNext,
    passed: z.boolean(),
    reason: maybe(text),
    receipts: z.array(validated),
  }),
  approve: z.strictObject(changed),
  answer: z.strictObject(changed),
  reject: z.strictObject(changed),
  fail: z.strictObject(changed),
  abandon: z.strictObject(changed),
  acknowledge: z.strictObject(changed),
  /** With `--with`, the agent that was started, and the session that was handed over; else what changed. */
  resume: z.partial(
    z.strictObject({ ...changed, to_do: text, with: text, session_id: maybe(text), exit_code: integer }),
  ),
  recover: z.strictObject({
    task,
    changed: z.boolean(),
    ...next,
    dry_run: z.boolean(),
    diagnosis: text,
    plan,
    files: z.array(z.strictObject({ path: text, kind: text })),
  }),
  /** `task` is null only where `--auto` found nothing to do. */
  checkpoint: z.strictObject({ ...changed, task: maybe(task), checkpoint_id: maybe(text) }),
  'checkpoint list': z.strictObject({ task, checkpoints: z.array(listedCheckpoint) }),
  'checkpoint show': z.strictObject({
    task,
    checkpoint: listedCheckpoint,
    compared_with: maybe(text),
    changes: z.array(fileChange),
    left_out: z.array(z.strictObject({ path: text, reason: text, size: maybe(integer) })),
    /** Where a path was named: `text` of a text file, else `base64`. */
    file: maybe(
      z.strictObject({
        path: text,
        kind: z.enum(['file', 'link']),
        executable: z.boolean(),
        size: integer,
        text: maybe(text),
        base64: maybe(text),
      }),
    ),
  }),
  /** `to` is null for the current files; `unknown`: paths that can't be compared. */
  'checkpoint diff': z.strictObject({
    task,
    from: text,
    to: maybe(text),
    changes: z.array(fileChange),
    unknown: z.array(text),
  }),
  'checkpoint restore': restoredFiles,
  'checkpoint undo-restore': restoredFiles,
  'checkpoint capture': z.strictObject({ task, captured: z.array(text) }),
  run: z.strictObject({
    task,
    exit_code: maybe(integer),
    signal: maybe(text),
    meant: z.enum(['nothing_open', 'crashed', 'human_asked']),
  }),
  'hook checkpoints': z.strictObject({ task, checkpoints: z.array(checkpoint) }),
  'hook show': z.strictObject({ task, markdown: text }),
  'hook regenerate': z.strictObject({ task, hook_path: text }),
  'hook export': z.strictObject({ exported_at: time, hook: z.looseObject({}), task: z.looseObject({}) }),
  'hook verify-receipt': z.strictObject({ task, receipt }),
  'hook synopsis': z.strictObject({ synopsis: text, sessions: z.array(SESSION_SHARED['session data']) }),
  'hook install': z.strictObject(hookReport),
  'hook uninstall': z.strictObject(hookReport),
  'spool drain': z.strictObject({
    turned: integer,
    checkpoints: integer,
    kept: z.array(z.strictObject({ name: text, why: text })),
  }),
  'receipts list': z.strictObject({ task, summary: verdictCounts, receipts: z.array(receipt) }),
  'receipts export': z.strictObject({ task, receipts: integer, path: maybe(text), bundle: maybe(z.looseObject({})) }),
  'receipts verify': z.strictObject({
    task: z.strictObject({ workspace_id: text, task_id: text, description: text }),
    keys: z.strictObject({ source: z.enum(['bundle', 'file']), key_ids: z.array(text) }),
    summary: verdictCounts,
    receipts: z.array(bundledReceipt),
  }),
  'inbox add': z.strictObject({ workspace_id: text, item: inboxItem }),
  /** `workspace_id` is null where the folder has none yet. */
  'inbox list': z.strictObject({
    workspace_id: maybe(text),
    pending: integer,
    processing: integer,
    finished: integer,
    items: z.array(inboxItem),
    problems: z.array(z.strictObject({ path: text, code: text, message: text })),
  }),
  /** `item` is null where nothing is pending; `own`: it was the caller's already, and is not finished. */
  'inbox next': z.strictObject({ workspace_id: maybe(text), item: maybe(inboxItem), own: z.boolean() }),
  'inbox complete': z.strictObject(ended),
  'inbox cancel': z.strictObject(ended),
  cleanup: z.strictObject({
    dry_run: z.boolean(),
    cleaned: z.array(z.strictObject({ workspace_id: text, task_id: text, state: text, updated_at: time })),
    failed: z.array(z.strictObject({ workspace_id: text, task_id: text, message: text })),
  }),
  'workspace list': z.strictObject({
    workspaces: z.array(
      z.strictObject({
        workspace_id: text,
        repo_path: maybe(text),
        open_tasks: integer,
        tasks: integer,
        problem: maybe(text),
        unreadable_tasks: z.array(unreadableTask),
      }),
    ),
  }),
  'workspace destroy': z.strictObject({ workspace_id: text, tasks: integer }),
  doctor: z.strictObject({ root: text, problems: integer, fixed: integer, findings: z.array(finding) }),
  completion: z.strictObject({ shell: text, script: text }),
  mcp: z.strictObject({}),
  ...LIFECYCLE_ANSWERS,
  ...WORKER_ANSWERS,
  ...SESSION_ANSWERS,
  ...VERIFY_ANSWERS,
} as const;

/** What JSON says of a task. */
export type TaskData = z.infer<typeof task>;
/** What JSON says of a checkpoint. */
export type CheckpointData = z.infer<typeof checkpoint>;
/** What JSON says of a checkpoint or restore point with its files. */
export type ListedCheckpointData = z.infer<typeof listedCheckpoint>;
/** What JSON says of a receipt. */
export type ReceiptData = z.infer<typeof receipt>;
/** What JSON says of a receipt in a bundle. */
export type BundledReceiptData = z.infer<typeof bundledReceipt>;
/** What JSON says of an item of an inbox. */
export type InboxItemData = z.infer<typeof inboxItem>;
/** How many receipts have which verdict. */
export type VerdictCounts = z.infer<typeof verdictCounts>;
/** A command's answer. */
export type AnswerData<K extends keyof typeof ANSWERS> = z.infer<(typeof ANSWERS)[K]>;

const error = z.strictObject({ code: text, message: text, hint: z.optional(text) });

/** What several answers hold; each is a definition of its own in the published schema, beside those named as a command. */
export const SHARED = {
  'task data': task,
  'checkpoint data': checkpoint,
  'listed checkpoint data': listedCheckpoint,
  'file change data': fileChange,
  'receipt data': receipt,
  'bundled receipt data': bundledReceipt,
  'verdict counts': verdictCounts,
  'inbox item data': inboxItem,
  'plan data': plan,
  ...WORKER_SHARED,
  ...SESSION_SHARED,
  ...VERIFY_SHARED,
};

/** The document that `--json` prints for a command: its answer, with an error too where what it found is a failure. */
export function answerSchema(command: keyof typeof ANSWERS): z.core.$ZodType {
  const answer = ANSWERS[command];
  return z.extend(answer, {
    success: z.boolean(),
    command: z.literal(command),
    error: z.optional(error),
    notes: z.array(text),
  });
}

/** The document that `--json` prints where a command came to no answer; `command` is empty where none was named. */
export const errorSchema = z.strictObject({ success: z.literal(false), command: text, error });
