import { join } from 'node:path';
import type * as z from 'zod/mini';
import { AtlasError, type Result, fail, ok } from '../../core/shared/errors';
import {
  type SlotContext,
  type SlotResult,
  type SlotState,
  type SlotTask,
  slotContextSchema,
  slotResultSchema,
  slotStatusSchema,
  slotTaskSchema,
  isOver,
} from '../../core/worker/slotContent';
import { definitionOf, recordOf } from '../../core/worker/slotSteps';
import {
  type LedgerConvoy,
  type LedgerEvidence,
  LEDGER_FILES,
  type Ledger,
  type LedgerTexts,
  type LedgerTask,
  evidenceId,
  readLedger,
} from '../../core/worker/ledger';
import { keptIn } from '../../core/shared/keptIn';
import { type LedgerRecord, appendRecords } from '../../core/worker/ledgerLines';
import { LIMITS, measureJson } from '../../core/worker/limits';
import { sizeText } from '../../core/shared/text';
import { LEDGER_BRANCH, slotBranchName, workerOfBranch } from '../../core/worker/names';
import { compareVersions, versionOf } from '../../core/worker/versionVector';
import { parseState } from '../../store/task/recordFile';
import { SLOT_FILES } from '../slot/slotTree';
import { unlessDamaged } from '../attempt';
import type { ForgeBranch, ForgeBranches, MadeCommit, Publish } from '../git/forgeBranches';
import { type CommitAuthor, type TopFile, authorOf } from '../git/gitObjects';
import { LEDGER_KINDS, NO_TEXTS, checkExcess, ledgerFiles, readLedgerTexts } from '../ledger/ledgerTexts';

const READ = [SLOT_FILES.status, SLOT_FILES.task, SLOT_FILES.context, SLOT_FILES.result] as const;
const EMPTY = new Uint8Array();

/** Work on a hook, sound in itself. */
export interface Work {
  readonly state: SlotState;
  readonly task: SlotTask;
  readonly context: SlotContext;
  /** The files as they are: written anew, their bytes could be others. */
  readonly bytes: Readonly<Record<'status' | 'task' | 'context', Uint8Array>> & {
    readonly result: Uint8Array | undefined;
  };
  readonly result: SlotResult | undefined;
}

/** A worker's hook as its branch has it. */
export interface SlotOnBranch {
  readonly worker: string;
  readonly branch: ForgeBranch;
  readonly commit: string;
  /** `undefined` where nothing hangs on it. Fails with `damaged` or `too_new`. */
  readonly work: Result<Work | undefined>;
}

/** What is added to the ledger. */
export interface NewRecords {
  readonly tasks?: readonly LedgerTask[];
  readonly evidence?: readonly LedgerEvidence[];
  readonly convoys?: readonly LedgerConvoy[];
}

/** All branches of ours at one moment. */
export interface ForgeView {
  readonly hooks: ReadonlyMap<string, SlotOnBranch>;
  readonly ledgerCommit: string | undefined;
  /** Why the ledger can't be used; its texts are empty then, and nothing may be written on top of it. */
  readonly ledgerDamage: AtlasError | undefined;
  readonly texts: LedgerTexts;
  /** With what the hooks know and its files don't. */
  readonly ledger: Ledger;
  /** What that is: a crash came between a hook and the ledger. The next change of the ledger adds it. */
  readonly behind: Required<Omit<NewRecords, 'convoys'>>;
}

/** The branch of a worker. */
export function slotBranch(branches: ForgeBranches, worker: string): ForgeBranch {
  return { ref: slotBranchName(worker), folder: branches.forge.hook(worker) };
}

/** The branch of the ledger. */
export function ledgerBranch({ forge }: ForgeBranches): ForgeBranch {
  return { ref: LEDGER_BRANCH, folder: forge.ledger };
}

/** What a process read of branches before: what a commit holds never changes. */
interface Memory {
  /** By worker and commit, sound or damaged; what was not here is read again. */
  readonly works: Map<string, Result<Work | undefined>>;
  /** The ledger that was read last. */
  ledger: { readonly commit: string; readonly texts: LedgerTexts; readonly known: Ledger } | undefined;
}

const MEMORIES = new WeakMap<ForgeBranches, Memory>();
const MAX_WORKS = 5000;

function memoryOf(branches: ForgeBranches): Memory {
  return keptIn(MEMORIES, branches, () => ({ works: new Map(), ledger: undefined }));
}

/** What lies in a worker's folder, by name; asked for once git was asked. */
export type SeenFiles = (worker: string) => ReadonlyMap<string, Uint8Array> | undefined;

/** Reads hooks and ledger, all of one moment: of the branches as they are, or as they were said to be. */
export async function readForge(
  branches: ForgeBranches,
  at?: ReadonlyMap<string, string>,
  seen?: SeenFiles,
): Promise<ForgeView> {
  const tips = at ?? (await branches.tips());
  const hooks = await readHooks(branches, tips, seen);
  const ledgerCommit = tips.get(LEDGER_BRANCH);
  const read = await unlessDamaged(async () => readLedgerAt(branches, ledgerCommit));
  const { texts, known } = read.ok ? read.value : EMPTY_LEDGER;
  const behind = recordsMissing(hooks.values(), known);
  const isBehind = behind.tasks.length + behind.evidence.length > 0;
  const ledger = isBehind ? readLedger(added(texts, behind)) : known;
  const ledgerDamage = read.ok ? undefined : read.error;
  return { hooks, ledgerCommit, ledgerDamage, texts, ledger, behind };
}

const EMPTY_LEDGER = { texts: NO_TEXTS, known: readLedger(NO_TEXTS) };

/** The ledger as a commit has it. Fails with `damaged` where that can't be used. */
export async function readLedgerAt(
  branches: ForgeBranches,
  commit: string | undefined,
): Promise<{ readonly texts: LedgerTexts; readonly known: Ledger }> {
  const memory = memoryOf(branches);
  if (commit !== undefined && memory.ledger?.commit === commit) return memory.ledger;
  const texts = await readLedgerTexts(branches, commit);
  const read = { texts, known: readLedger(texts) };
  if (commit !== undefined && texts.tasks !== '') memory.ledger = { commit, ...read };
  return read;
}

async function readHooks(
  branches: ForgeBranches,
  tips: ReadonlyMap<string, string>,
  seen?: SeenFiles,
): Promise<ReadonlyMap<string, SlotOnBranch>> {
  const found = [...tips].flatMap(([ref, commit]) => {
    const worker = workerOfBranch(ref);
    return worker === undefined ? [] : [{ worker, commit }];
  });
  const hooks = await hooksAt(branches, found, seen);
  return new Map(hooks.map((hook) => [hook.worker, hook]));
}

/** A worker's hook as a commit has it. */
export async function readSlot(branches: ForgeBranches, worker: string, commit: string): Promise<SlotOnBranch> {
  const [hook] = await hooksAt(branches, [{ worker, commit }]);
  if (hook === undefined) throw noWorker(worker);
  return hook;
}

/** The refusal where a worker is asked for that there is not. */
export function noWorker(worker: string, hint?: { readonly hint: string }): AtlasError {
  return new AtlasError('not_found', `There is no worker ${worker}.`, hint);
}

async function hooksAt(
  branches: ForgeBranches,
  found: readonly { readonly worker: string; readonly commit: string }[],
  seen?: SeenFiles,
): Promise<SlotOnBranch[]> {
  const { works } = memoryOf(branches);
  if (works.size > MAX_WORKS) works.clear();
  const fresh = found.filter((each) => !works.has(keyOf(each)));
  const contents = await branches.read(
    fresh.map(({ commit }) => commit),
    READ,
    LIMITS.allHooksBytes,
    (index, path) => seen?.(fresh[index]?.worker ?? '')?.get(path),
  );
  const unread = new Map<string, Result<Work | undefined>>();
  const budget = { values: LIMITS.allJsonValues };
  for (const [index, each] of fresh.entries()) {
    const own = contents[index] ?? [];
    const work = parseWork(each.worker, branches.forge.hook(each.worker), own, budget);
    // What is missing may be here after the next fetch.
    const isWhole = own.every((file) => file === undefined || 'bytes' in file || !file.isMissing);
    (isWhole ? works : unread).set(keyOf(each), work);
  }
  return found.map((each) => ({
    ...each,
    branch: slotBranch(branches, each.worker),
    work: works.get(keyOf(each)) ?? unread.get(keyOf(each)) ?? ok(undefined),
  }));
}

function keyOf({ worker, commit }: { readonly worker: string; readonly commit: string }): string {
  return `${commit} ${worker}`;
}

function parseWork(
  worker: string,
  folder: string,
  [status, task, context, result]: readonly TopFile[],
  budget: { values: number },
): Result<Work | undefined> {
  if (status === undefined && task === undefined) return ok(undefined);
  const parse = <T>(name: string, file: TopFile, schema: z.ZodMiniType<T>): Result<T> => {
    const path = join(folder, name);
    if (file === undefined) return fail('damaged', `${path} is not on the worker's branch.`);
    if (!('bytes' in file)) return unusable(worker, file.problem);
    const parsed = parseState(path, file.bytes, schema);
    if (!parsed.ok) return parsed;
    const { values, problem } = measureJson(parsed.value);
    budget.values -= values;
    if (problem !== undefined) return unusable(worker, `in ${name}, ${problem}`);
    return budget.values < 0 ? unusable(worker, 'all branches together contain too many values') : parsed;
  };
  const parsed = {
    state: parse(SLOT_FILES.status, status, slotStatusSchema),
    task: parse(SLOT_FILES.task, task, slotTaskSchema),
    context: parse(SLOT_FILES.context, context, slotContextSchema),
    result: result === undefined ? ok(undefined) : parse(SLOT_FILES.result, result, slotResultSchema),
  };
  if (!parsed.state.ok) return parsed.state;
  if (!parsed.task.ok) return parsed.task;
  if (!parsed.context.ok) return parsed.context;
  const state = parsed.state.value;
  if (state.worker !== worker || state.taskId !== parsed.task.value.id)
    return fail('damaged', `${join(folder, SLOT_FILES.status)} is about ${state.taskId} of ${state.worker}.`);
  // A worker's own draft counts only once it is done, and then it was checked.
  if (!parsed.result.ok && isOver(state.status)) return parsed.result;
  const bytes = (file: TopFile): Uint8Array => (file !== undefined && 'bytes' in file ? file.bytes : EMPTY);
  return ok({
    state,
    task: parsed.task.value,
    context: parsed.context.value,
    bytes: {
      status: bytes(status),
      task: bytes(task),
      context: bytes(context),
      result: result === undefined || !('bytes' in result) ? undefined : result.bytes,
    },
    result: parsed.result.ok ? parsed.result.value : undefined,
  });
}

function unusable(worker: string, problem: string): Result<never> {
  return fail('damaged', `The branch of ${worker} can't be used: ${problem}.`, {
    hint: 'Restore its last usable state with: atlas worker repair --yes',
  });
}

/** The evidence of work that is over. */
export function evidenceRecord(state: SlotState, result: SlotResult, commit: string): LedgerEvidence {
  return {
    id: evidenceId(state.taskId, state.claim),
    ...versionOf(state),
    at: state.updatedAt,
    taskId: state.taskId,
    worker: state.worker,
    status: result.status,
    ...(result.error === undefined ? {} : { error: result.error }),
    inputHash: result.evidence.inputHash,
    outputHash: result.evidence.outputHash,
    commit,
  };
}

function recordsMissing(hooks: Iterable<SlotOnBranch>, ledger: Ledger): ForgeView['behind'] {
  const tasks: LedgerTask[] = [];
  const evidence: LedgerEvidence[] = [];
  for (const { work, commit } of hooks) {
    if (!work.ok || work.value === undefined) continue;
    const { state, task, result } = work.value;
    const known = ledger.tasks.last.get(task.id);
    const record = recordOf(state, definitionOf(task));
    if ((known === undefined || compareVersions(known, state) < 0) && !isTooLong(record)) tasks.push(record);
    if (result === undefined || !isOver(state.status)) continue;
    const proven = ledger.evidence.last.get(evidenceId(task.id, state.claim));
    const proof = evidenceRecord(state, result, commit);
    if ((proven === undefined || compareVersions(proven, state) < 0) && !isTooLong(proof)) evidence.push(proof);
  }
  return { tasks, evidence };
}

/** Whether a record can't be a line of the ledger. Somebody else's branch may hold one. */
function isTooLong(record: LedgerRecord): boolean {
  return Buffer.byteLength(JSON.stringify(record)) > LIMITS.lineBytes;
}

function added(texts: LedgerTexts, { tasks = [], evidence = [], convoys = [] }: NewRecords): LedgerTexts {
  return {
    tasks: appendRecords(texts.tasks, tasks),
    convoys: appendRecords(texts.convoys, convoys),
    evidence: appendRecords(texts.evidence, evidence),
  };
}

/** Adds records to the ledger by a commit of their own, and what it did not know yet. */
export async function commitRecords(
  branches: ForgeBranches,
  view: ForgeView,
  publish: Publish,
  records: NewRecords,
  message: string,
): Promise<void> {
  const made = await withRecords(branches, view, records, { message, author: authorOf('atlas') });
  if (made !== undefined) await publish([made]);
}

/**
 * A commit that adds records to the ledger, and what it did not know yet; `undefined` where that is nothing. Fails with `usage` for a
 * record that is too long, and with `damaged` where the ledger is full.
 */
export async function withRecords(
  branches: ForgeBranches,
  view: ForgeView,
  records: NewRecords,
  { message, author }: { readonly message: string; readonly author: CommitAuthor },
): Promise<MadeCommit | undefined> {
  const tasks = [...view.behind.tasks, ...(records.tasks ?? [])];
  const evidence = [...view.behind.evidence, ...(records.evidence ?? [])];
  const { convoys = [] } = records;
  if (tasks.length === 0 && evidence.length === 0 && convoys.length === 0) return undefined;
  const tooLong = [...tasks, ...evidence, ...convoys].find(isTooLong);
  if (tooLong !== undefined)
    throw new AtlasError('usage', `The record of ${tooLong.id} has more than ${sizeText(LIMITS.lineBytes)}.`, {
      hint: 'Store large inputs in files and name them in the task.',
    });
  const texts = added(view.texts, { tasks, evidence, convoys });
  checkExcess(texts);
  const branch = ledgerBranch(branches);
  const changed = LEDGER_KINDS.filter((kind) => texts[kind] !== view.texts[kind] || view.ledgerCommit === undefined);
  // Whoever made the change before may have been killed before the folder showed it.
  const stale = LEDGER_KINDS.filter(
    (kind) => texts[kind] !== '' && !branches.hasSize(branch, LEDGER_FILES[kind], Buffer.byteLength(texts[kind])),
  );
  const shown = LEDGER_KINDS.filter((kind) => changed.includes(kind) || stale.includes(kind));
  return branches.make({
    branch,
    from: view.ledgerCommit,
    changes: ledgerFiles(texts, changed),
    shown: ledgerFiles(texts, shown),
    message,
    author,
  });
}
