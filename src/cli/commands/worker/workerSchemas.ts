import * as z from 'zod/mini';
import { HANDOFF_REASONS, SLOT_STATUSES } from '../../../core/worker/slotContent';
import { TASK_STATUSES } from '../../../core/worker/ledger';
import { REPAIR_ACTIONS } from '../../../core/worker/repair';

/* What `--json` prints for the commands of workers. What files of a hook hold is as it stands there. */

const text = z.string();
const integer = z.int();
const maybe = <T extends z.core.$ZodType>(type: T) => z.nullable(type);
const file = z.looseObject({});

const plan = z.strictObject({
  action: z.enum(['run', 'resume', 'restart', 'give_up', 'nothing', 'ask']),
  reason: text,
});

const worker = z.strictObject({
  worker: text,
  folder: text,
  commit: maybe(text),
  /** null where nothing hangs on the hook, or nobody can say. */
  status: maybe(z.enum(SLOT_STATUSES)),
  task_id: maybe(text),
  type: maybe(text),
  claim: maybe(integer),
  incarnation: maybe(integer),
  attempts: maybe(integer),
  updated_at: maybe(text),
  timeout: maybe(text),
  handoff_reason: maybe(z.enum(HANDOFF_REASONS)),
  resume_point: maybe(text),
  plan: maybe(plan),
  stale: maybe(z.enum(['deadline', 'owner_dead'])),
  orphaned: z.array(z.enum(['no_worktree', 'no_branch', 'ledger_behind', 'folder_differs', 'claimed_elsewhere'])),
  /** Another clone of the repository has it. */
  elsewhere: z.boolean(),
  damage: maybe(z.strictObject({ code: text, message: text })),
});

const task = z.strictObject({
  id: text,
  type: text,
  status: z.enum(TASK_STATUSES),
  worker: maybe(text),
  claim: integer,
  at: text,
  timeout: maybe(text),
  convoy_id: maybe(text),
  blocked_by: z.array(text),
  /** What of that is not complete. */
  waits_for: z.array(text),
  discovered_from: maybe(text),
});

const problem = z.strictObject({ branch: text, code: text, message: text });
const repairItem = z.strictObject({ action: z.enum(REPAIR_ACTIONS), subject: text, found: text, does: text });
const side = z.looseObject({ id: text });

const lease = z.strictObject({ worker: text, task_id: text, claim: integer, incarnation: integer });
const ended = { worker: text, task_id: text, status: z.enum(SLOT_STATUSES), result: file, changed: z.boolean() };

const run = z.strictObject({
  worker: text,
  task_id: text,
  /** IN_PROGRESS where the work was handed on. */
  status: z.enum(SLOT_STATUSES),
  result: maybe(file),
  /** Of the program; null where it was not started, or ended by a signal. */
  exit_code: maybe(integer),
  signal: maybe(text),
  /** What lay in the folder and can't be kept. */
  skipped: z.array(text),
});

const convoy = z.strictObject({
  id: text,
  title: maybe(text),
  at: maybe(text),
  tasks: z.array(
    z.strictObject({
      id: text,
      status: z.enum([...TASK_STATUSES, 'UNKNOWN']),
      worker: maybe(text),
      waits_for: z.array(text),
    }),
  ),
  ready: z.array(text),
  done: z.boolean(),
});

/** What each answer holds beside `success`, `command` and `notes`. */
export const WORKER_ANSWERS = {
  'worker task add': z.strictObject({ added: z.array(text), known: z.array(text) }),
  'worker task show': z.strictObject({
    task,
    definition: file,
    records: z.array(file),
    evidence: z.array(file),
    /** The folder of the hook that it hangs on. */
    hook: maybe(text),
  }),
  'worker task list': z.strictObject({ tasks: z.array(task) }),
  'worker ready': z.strictObject({ tasks: z.array(task) }),
  'worker sync': z.strictObject({
    remote: text,
    received: z.array(text),
    sent: z.array(text),
    ledger_merged: z.boolean(),
    superseded: z.array(z.strictObject({ worker: text, counts: z.enum(['ours', 'theirs']) })),
    clashing: z.array(z.strictObject({ ours: text, theirs: text })),
    /** Of each, the side that counts is the first. */
    conflicts: z.array(z.strictObject({ id: text, sides: z.array(side) })),
    /** Branches of the remote that can't be used. */
    unusable: z.array(problem),
    /** Files that its branches hold and that are left out here; the first of each branch, and how many there are. */
    refused: z.array(
      z.strictObject({
        branch: text,
        count: integer,
        files: z.array(z.strictObject({ path: text, why: text })),
      }),
    ),
  }),
  'worker repair': z.strictObject({
    /** Whether it was done, or only planned. */
    applied: z.boolean(),
    items: z.array(repairItem),
    /** What a human decides. */
    left: z.array(repairItem),
    failed: z.array(z.strictObject({ item: repairItem, why: text })),
  }),
  'worker sling': z.strictObject({ worker: text, task_id: text, claim: integer, folder: text }),
  'worker list': z.strictObject({ workers: z.array(worker), unusable: z.array(problem) }),
  'worker status': z.strictObject({ worker }),
  'worker show': z.strictObject({
    worker,
    task: maybe(file),
    context: maybe(file),
    result: maybe(file),
    input_hash: maybe(text),
    output_hash: maybe(text),
  }),
  'worker run': run,
  'worker claim': z.strictObject({
    lease,
    folder: text,
    action: z.enum(['run', 'resume', 'restart']),
    resume_point: maybe(text),
    task: file,
    context: file,
  }),
  'worker complete': z.strictObject({ ...ended, skipped: z.array(text) }),
  'worker fail': z.strictObject({ ...ended, skipped: z.array(text) }),
  'worker handoff': z.strictObject({ lease, reason: z.enum(HANDOFF_REASONS), resume_point: text }),
  'worker recover': z.strictObject({ worker: text, plan, restored: z.boolean(), run: maybe(run) }),
  'worker clear': z.strictObject({ worker: text }),
  'worker convoy create': z.strictObject({ convoy, changed: z.boolean() }),
  'worker convoy status': z.strictObject({ convoys: z.array(convoy) }),
} as const;

/** What several answers hold, by the name of its definition in the published schema. */
export const WORKER_SHARED = {
  'worker data': worker,
  'ledger task data': task,
  'worker run data': run,
  'convoy data': convoy,
};

/** What JSON says of a worker. */
export type WorkerData = z.infer<typeof worker>;
/** What JSON says of a task of the ledger. */
export type LedgerTaskData = z.infer<typeof task>;
/** What JSON says of a run. */
export type WorkerRunData = z.infer<typeof run>;
/** What JSON says of a convoy. */
export type ConvoyData = z.infer<typeof convoy>;
/** A command's answer. */
export type WorkerAnswer<K extends keyof typeof WORKER_ANSWERS> = z.infer<(typeof WORKER_ANSWERS)[K]>;
