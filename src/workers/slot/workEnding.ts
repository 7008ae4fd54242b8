import { count, sizeText } from '../../core/shared/text';
import { join } from 'node:path';
import { AtlasError, type Result, fail, ok, unwrap } from '../../core/shared/errors';
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
import { LIMITS, measureJson } from '../../core/worker/limits';
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
import { type Evidence, checkEvidence, evidenceOf } from './evidence';
import { SLOT_FILES } from './slotTree';
import { type ForgeBranches, type Publish, textFile } from '../git/forgeBranches';
import { type ForgeView, evidenceRecord } from '../operations/forgeView';
import {
  type HeldSlot,
  type SlotChanges,
  type SlotStep,
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

interface Ending extends SlotStep {
  readonly state: SlotState;
  readonly draft: ResultDraft;
}

/** Ends work: its result, the hashes that prove it, and what the ledger says of it, in one step. */
export class WorkEnding {
  constructor(
    private readonly branches: ForgeBranches,
    private readonly sharing: RemoteSync,
  ) {}

  /**
   * Completes the work or has it failed. Fails with `stale_caller` where another has it by now, with `verification_failed` where the
   * result's hashes are not those of the files; then nothing is changed.
   */
  async end(lease: Lease, how: 'complete' | 'fail', draft: ResultDraft = {}): Promise<Result<EndedWork>> {
    return this.sharing.change(async (view, publish) => {
      const hook = heldSlot(view, lease.worker);
      const { held, branch } = hook;
      unwrap(checkLease(held.state, lease, this.branches.forge.clone()));
      if (isOver(held.state.status) && held.result?.status === (how === 'complete' ? 'COMPLETE' : 'FAILED'))
        return { state: held.state, result: held.result, changed: false, skipped: [] };
      const state = unwrap(ended(held.state, how, this.branches.ports.clock.now()));
      if (how === 'complete' && this.branches.worktrees.isDetached(branch.folder))
        throw new AtlasError(
          'verification_failed',
          `${branch.folder} is no longer a worktree of the repository: its .git was replaced or removed.`,
          {
            hint: `Its files are kept. To restore the folder, run: atlas worker recover ${lease.worker}. Then repeat the task.`,
          },
        );
      const left = await leftBehind(this.branches, hook);
      return this.commit({ view, publish, hook, left, state, draft });
    });
  }

  /** Has work failed that was tried too often. */
  async giveUp(view: ForgeView, publish: Publish, hook: HeldSlot, left: LeftBehind): Promise<EndedWork> {
    const state = unwrap(givenUp(hook.held.state, this.branches.ports.clock.now()));
    const message = `It was started ${count(hook.held.state.attempts, 'time')} and never completed.`;
    const draft = { error: { code: 'attempts_spent', message, recoverable: false } };
    return this.commit({ view, publish, hook, left, state, draft });
  }

  private async commit(ending: Ending): Promise<EndedWork> {
    const { view, publish, hook, left, state } = ending;
    const outputs = await keepOutputs(this.branches, hook, left);
    const changes: SlotChanges = new Map([...outputs, ...ownFiles(hook.held, state)]);
    const { result, evidence } = resultOf(ending, changes);
    for (const [path, file] of evidence.files) changes.set(path, file);
    changes.set(SLOT_FILES.result, textFile(serializeContent(result)));
    const message = `${state.status === 'FAILED' ? 'Fail' : 'Complete'} ${state.taskId}`;
    const made = await this.branches.make(slotChange(hook, changes, message, outputs));
    const found = discovered(view, result, state.taskId, this.branches.ports.clock.now());
    const tasks = [recordOf(state, definitionOf(hook.held.task)), ...found];
    const records = { tasks, evidence: [evidenceRecord(state, result, made.commit)] };
    await commitBoth(this.branches, view, publish, made, records);
    return { state, result, changed: true, skipped: left.skipped };
  }
}

/** The result: what the worker wrote itself, else what its caller says. */
function resultOf(
  { hook, left, state, draft }: Ending,
  changes: SlotChanges,
): { readonly result: SlotResult; readonly evidence: Evidence } {
  const status = state.status === 'COMPLETE' ? 'COMPLETE' : 'FAILED';
  const own = ownResult(hook, left, status);
  // That work failed can always be said, whatever its worker wrote.
  const rejected = !own.ok && status === 'FAILED' ? left.files.get(SLOT_FILES.result) : undefined;
  const written = rejected === undefined ? unwrap(own) : undefined;
  let files = left.files;
  if (rejected !== undefined) {
    files = new Map([...files, [REJECTED, rejected]]);
    changes.set(REJECTED, rejected);
  }
  const made = evidenceOf(hook.held.bytes.context, files);
  const checked = written === undefined ? ok(made) : checkEvidence(written.evidence, made, files);
  const evidence = !checked.ok && status === 'FAILED' ? made : unwrap(checked);
  const { files: _proof, ...hashes } = evidence;
  const more = Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== undefined));
  const error = status === 'FAILED' ? { error: UNTOLD } : {};
  const whole = { ...error, ...written, ...more, taskId: state.taskId, status };
  const proof = { ...written?.evidence, ...hashes, timestamp: state.updatedAt };
  return { result: unwrap(checkInput(slotResultSchema, { ...whole, evidence: proof }, 'a result')), evidence };
}

/** The error of work that failed, where nobody says why. */
export const UNTOLD: SlotError = { code: 'failed', message: 'Its worker gave no reason.', recoverable: true };

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
      { hint: 'Store large results in other files next to it.' },
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
