import { count } from '../../core/shared/text';
import { join } from 'node:path';
import { type Result, fail, ok } from '../../core/shared/errors';
import {
  type SlotError,
  type SlotResult,
  type SlotState,
  type TaskDefinition,
  checkInput,
  slotResultSchema,
  isOver,
  serializeContent,
} from '../../core/worker/slotContent';
import { LIMITS, measureJson, sizeText } from '../../core/worker/limits';
import {
  type Lease,
  checkLease,
  definitionOf,
  ended,
  givenUp,
  openRecord,
  recordOf,
} from '../../core/worker/slotSteps';
import type { LedgerTask } from '../../core/worker/ledger';
import { parseState } from '../../store/task/recordFile';
import { type Evidence, SLOT_FILES, checkEvidence, evidenceOf } from './evidence';
import { type ForgeBranches, type Publish, textFile } from '../git/forgeBranches';
import type { WorkerPorts } from '../forgeFolder';
import { type ForgeView, evidenceRecord } from '../operations/forgeView';
import {
  type HeldSlot,
  type SlotChanges,
  type LeftBehind,
  commitBoth,
  heldSlot,
  slotChange,
  keepOutputs,
  leftBehind,
  ownFiles,
} from './slotChange';
import type { RemoteSync } from '../operations/remoteSync';

/** What came of the work, in the words of whoever did it. Where the folder holds a result.json, that says the rest. */
export interface ResultDraft {
  readonly output?: Readonly<Record<string, unknown>>;
  readonly error?: SlotError;
  readonly discoveredTasks?: readonly TaskDefinition[];
}

/** Work that is over. */
export interface EndedWork {
  readonly state: SlotState;
  readonly result: SlotResult;
  /** False where it was over already, by the same caller. */
  readonly changed: boolean;
  /** What lay in the folder and can't be kept: links, repositories, names that not every system has. */
  readonly skipped: readonly string[];
}

/** A worker's result.json that can't be used, kept for whoever wonders. */
const REJECTED = 'evidence/rejected-result.json';

interface Ending {
  readonly view: ForgeView;
  readonly publish: Publish;
  readonly hook: HeldSlot;
  readonly left: LeftBehind;
  readonly state: SlotState;
  readonly draft: ResultDraft;
}

/** Ends work: its result, the hashes that prove it, and what the ledger says of it, in one step. */
export class WorkEnding {
  constructor(
    private readonly branches: ForgeBranches,
    private readonly sharing: RemoteSync,
    private readonly ports: WorkerPorts,
  ) {}

  /**
   * Completes the work or has it failed. Fails with `stale_caller` where another has it by now, with `verification_failed` where the
   * result's hashes are not those of the files; then nothing is changed.
   */
  async end(lease: Lease, how: 'complete' | 'fail', draft: ResultDraft = {}): Promise<Result<EndedWork>> {
    return this.sharing.change(async (view, publish) => {
      const hook = heldSlot(view, lease.worker);
      if (!hook.ok) return hook;
      const { held } = hook.value;
      const mine = checkLease(held.state, lease, this.branches.forge.clone());
      if (!mine.ok) return mine;
      if (isOver(held.state.status) && held.result?.status === (how === 'complete' ? 'COMPLETE' : 'FAILED'))
        return ok({ state: held.state, result: held.result, changed: false, skipped: [] });
      const state = ended(held.state, how, this.ports.clock.now());
      if (!state.ok) return state;
      const { folder } = hook.value.branch;
      if (how === 'complete' && this.branches.worktrees.isDetached(folder))
        return fail(
          'verification_failed',
          `${folder} is no longer a worktree of the repository: its .git was replaced or removed.`,
          {
            hint: `Its files are kept. To restore the folder, run: atlas worker recover ${lease.worker}. Then repeat the task.`,
          },
        );
      const left = await leftBehind(this.branches, this.ports.files, hook.value);
      if (!left.ok) return left;
      return this.commit({ view, publish, hook: hook.value, left: left.value, state: state.value, draft });
    });
  }

  /** Has work failed that was tried too often. */
  async giveUp(view: ForgeView, publish: Publish, hook: HeldSlot, left: LeftBehind): Promise<Result<EndedWork>> {
    const state = givenUp(hook.held.state, this.ports.clock.now());
    if (!state.ok) return state;
    const message = `It was started ${count(hook.held.state.attempts, 'time')} and never completed.`;
    const draft = { error: { code: 'attempts_spent', message, recoverable: false } };
    return this.commit({ view, publish, hook, left, state: state.value, draft });
  }

  private async commit(ending: Ending): Promise<Result<EndedWork>> {
    const { view, publish, hook, left, state } = ending;
    const outputs = await keepOutputs(this.branches, hook, left);
    if (!outputs.ok) return outputs;
    const changes: SlotChanges = new Map([...outputs.value, ...ownFiles(hook.held, state)]);
    const resulted = this.result(ending, changes);
    if (!resulted.ok) return resulted;
    const { result, evidence } = resulted.value;
    for (const [path, file] of evidence.files) changes.set(path, file);
    changes.set(SLOT_FILES.result, textFile(serializeContent(result)));
    const message = `${state.status === 'FAILED' ? 'Fail' : 'Complete'} ${state.taskId}`;
    const change = slotChange(hook, changes, message, outputs.value);
    const made = await this.branches.make(change);
    if (!made.ok) return made;
    const found = discovered(view, result, state.taskId, this.ports.clock.now());
    const tasks = [recordOf(state, definitionOf(hook.held.task)), ...found];
    const records = { tasks, evidence: [evidenceRecord(state, result, made.value.commit)] };
    const done = await commitBoth(this.branches, view, publish, made.value, records);
    return done.ok ? ok({ state, result, changed: true, skipped: left.skipped }) : done;
  }

  /** The result: what the worker wrote itself, else what its caller says. */
  private result(
    { hook, left, state, draft }: Ending,
    changes: SlotChanges,
  ): Result<{ readonly result: SlotResult; readonly evidence: Evidence }> {
    const status = state.status === 'COMPLETE' ? 'COMPLETE' : 'FAILED';
    const own = ownResult(hook, left, status);
    // That work failed can always be said, whatever its worker wrote.
    const rejected = !own.ok && status === 'FAILED' ? left.files.get(SLOT_FILES.result) : undefined;
    if (!own.ok && rejected === undefined) return own;
    let files = left.files;
    if (rejected !== undefined) {
      files = new Map([...files, [REJECTED, rejected]]);
      changes.set(REJECTED, rejected);
    }
    const written = own.ok ? own.value : undefined;
    const made = evidenceOf(hook.held.bytes.context, files);
    const evidence = written === undefined ? ok(made) : checkEvidence(written.evidence, made, files);
    if (!evidence.ok && status === 'COMPLETE') return evidence;
    const { files: _proof, ...hashes } = evidence.ok ? evidence.value : made;
    const more = Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== undefined));
    const error = status === 'FAILED' ? { error: UNTOLD } : {};
    const whole = { ...error, ...written, ...more, taskId: state.taskId, status };
    const result = checkInput(
      slotResultSchema,
      { ...whole, evidence: { ...written?.evidence, ...hashes, timestamp: state.updatedAt } },
      'a result',
    );
    return result.ok ? ok({ result: result.value, evidence: evidence.ok ? evidence.value : made }) : result;
  }
}

const UNTOLD: SlotError = { code: 'failed', message: 'Its worker gave no reason.', recoverable: true };

/** The result.json that a worker wrote, where it did. Fails with `verification_failed` where it is about something else. */
function ownResult(hook: HeldSlot, left: LeftBehind, status: SlotResult['status']): Result<SlotResult | undefined> {
  const file = left.files.get(SLOT_FILES.result);
  if (file === undefined) return ok(undefined);
  const path = join(hook.branch.folder, SLOT_FILES.result);
  const size = file.bytes.length;
  if (size > LIMITS.resultBytes)
    return fail(
      'verification_failed',
      `${path} has ${sizeText(size)}, but at most ${sizeText(LIMITS.resultBytes)} are read.`,
      {
        hint: 'Store large results in other files next to it.',
      },
    );
  const parsed = parseState(path, file.bytes, slotResultSchema);
  const problem = parsed.ok ? measureJson(parsed.value).problem : undefined;
  if (problem !== undefined) return fail('verification_failed', `${path} can't be used: ${problem}.`);
  if (!parsed.ok)
    return fail('verification_failed', parsed.error.message, {
      hint: 'It needs taskId, status and evidence with inputHash, outputHash and timestamp. Remove it to have it created.',
    });
  if (parsed.value.taskId === hook.held.task.id && parsed.value.status === status) return parsed;
  return fail('verification_failed', `${path} describes ${parsed.value.taskId} as ${parsed.value.status}.`, {
    hint: `It must describe ${hook.held.task.id} as ${status}.`,
  });
}

/** Tasks that were found while the work was done, and that nobody knew of. */
function discovered(view: ForgeView, result: SlotResult, from: string, now: number): LedgerTask[] {
  const found = new Map((result.discoveredTasks ?? []).map((task) => [task.id, task]));
  return [...found.values()]
    .filter(({ id }) => !view.ledger.tasks.last.has(id))
    .map((task) => openRecord({ ...task, discoveredFrom: task.discoveredFrom ?? from }, now));
}
