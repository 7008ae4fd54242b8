import { defined } from '../shared/defined';
import * as z from 'zod/mini';
import { listOf } from '../task/fields';
import {
  SLOT_STATUSES,
  type SlotContext,
  MAX_PREVIOUS,
  type TaskDefinition,
  hashSchema,
  slotResultSchema,
  taskDefinitionSchema,
  taskId,
  workerName,
} from './slotContent';
import { type Folded, foldLedger, recordShape } from './ledgerLines';

/** Where a task can be: on nobody's hook, or where the work on the hook is. */
export const TASK_STATUSES = ['OPEN', ...SLOT_STATUSES] as const;

/** A line of tasks.jsonl. Unknown fields are kept. */
export const ledgerTaskSchema = z
  .looseObject({
    ...recordShape,
    id: taskId,
    status: z.enum(TASK_STATUSES),
    /** Whose hook it is on, or was last. */
    worker: z.optional(workerName),
    /** In which clone of the repository. */
    clone: z.optional(z.string()),
    task: taskDefinitionSchema,
  })
  .check(z.refine(({ id, task }) => id === task.id, 'the record of one task holds another'));

/** A line of convoys.jsonl: tasks that belong together. */
export const convoyRecordSchema = z.looseObject({
  ...recordShape,
  id: taskId,
  title: z.optional(z.string()),
  tasks: listOf(taskId),
});

/** A line of evidence.jsonl: how one claim of a task ended; its id is `<task>#<claim>`. */
export const evidenceRecordSchema = z.looseObject({
  ...recordShape,
  taskId,
  worker: workerName,
  status: slotResultSchema.shape.status,
  error: slotResultSchema.shape.error,
  inputHash: hashSchema,
  outputHash: hashSchema,
  /** The commit of the hook that holds the files. */
  commit: z.optional(z.string()),
});

/** What the ledger says of a task. */
export type LedgerTask = z.infer<typeof ledgerTaskSchema>;
/** What it says of tasks that belong together. */
export type LedgerConvoy = z.infer<typeof convoyRecordSchema>;
/** How one claim of a task ended. */
export type LedgerEvidence = z.infer<typeof evidenceRecordSchema>;

/** The ledger's files, by what is in them. */
export const LEDGER_FILES = { tasks: 'tasks.jsonl', convoys: 'convoys.jsonl', evidence: 'evidence.jsonl' } as const;

/** One of its kinds of records. */
export type LedgerKind = keyof typeof LEDGER_FILES;

/** The texts of the ledger's files. */
export type LedgerTexts = Readonly<Record<LedgerKind, string>>;

/** The ledger, read. */
export interface Ledger {
  readonly tasks: Folded<LedgerTask>;
  readonly convoys: Folded<LedgerConvoy>;
  readonly evidence: Folded<LedgerEvidence>;
}

/** Reads the ledger from its files' texts. */
export function readLedger(texts: LedgerTexts): Ledger {
  return {
    tasks: foldLedger(ledgerTaskSchema, texts.tasks),
    convoys: foldLedger(convoyRecordSchema, texts.convoys),
    evidence: foldLedger(evidenceRecordSchema, texts.evidence),
  };
}

/** What a task waits for: those of `blockedBy` that are not complete. One that nobody knows is not. */
export function openBlockers(ledger: Ledger, task: TaskDefinition): string[] {
  return (task.blockedBy ?? []).filter((id) => ledger.tasks.last.get(id)?.status !== 'COMPLETE');
}

/** The tasks that can be slung now, the oldest first. */
export function readyTasks(ledger: Ledger): LedgerTask[] {
  const open = [...ledger.tasks.last.values()].filter(({ status }) => status === 'OPEN');
  return open.filter(({ task }) => openBlockers(ledger, task).length === 0).sort(byAge);
}

function byAge(a: LedgerTask, b: LedgerTask): number {
  return a.at < b.at ? -1 : Number(a.at > b.at) || (a.id < b.id ? -1 : Number(a.id > b.id));
}

/** The id of the evidence of one claim. */
export function evidenceId(task: string, claim: number): string {
  return `${task}#${claim}`;
}

/** The newest attempts at a task that failed, as its next worker is told of them. */
export function failedAttempts({ evidence }: Ledger, task: string): SlotContext['previousAttempts'] {
  return [...evidence.last.values()]
    .filter((each) => each.taskId === task && each.status === 'FAILED')
    .sort((a, b) => a.claim - b.claim)
    .slice(-MAX_PREVIOUS)
    .map(({ claim, worker, error }) => ({ claim, worker, ...defined({ error }) }));
}
