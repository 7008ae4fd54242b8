import { type Result, fail, messageOf, ok, unwrap } from '../core/shared/errors';
import {
  type HandoffReason,
  type SlotError,
  type SlotResult,
  type SlotState,
  isOver,
} from '../core/worker/slotContent';
import { type Lease, checkLease } from '../core/worker/slotSteps';
import { ForgeBranches } from './git/forgeBranches';
import { type WorkerPorts, locateForge } from './forgeFolder';
import { type ForgeView, readForge } from './operations/forgeView';
import { attempt } from './attempt';
import { heldSlot, leftBehind } from './slot/slotChange';
import { endLeftovers, mayHaveLeft } from './slot/leftovers';
import { Repairs } from './operations/repairs';
import { RemoteSync } from './operations/remoteSync';
import { TaskAssigner } from './operations/taskAssigner';
import type { EndedWork, ResultDraft } from './slot/workEnding';
import { WorkerStatuses } from './operations/workerStatus';
import { type ClaimedWork, type Claiming, WorkerSteps } from './operations/workerSteps';

/** What became of work that was done by a program. */
export type Execution =
  | { readonly ok: true; readonly result?: ResultDraft }
  | { readonly ok: false; readonly error: SlotError }
  /** It was ended before it came to an end: the next incarnation goes on. */
  | { readonly ok: 'handed_on'; readonly reason: HandoffReason; readonly resumePoint: string };

/** Work that a program did: over, or handed on to the next incarnation, and then without a result. */
export interface RanWork {
  readonly state: SlotState;
  readonly result: SlotResult | undefined;
  readonly skipped: readonly string[];
}

/** Does work that was claimed: starts the program, waits for its end, and says what came of it. */
export type Execute = (work: ClaimedWork) => Promise<Execution>;

/** What the program that does the work finds in its environment. */
export function workEnvironment({ folder, lease, action }: ClaimedWork): Readonly<Record<string, string>> {
  return {
    FORGE_HOOK: folder,
    FORGE_WORKER: lease.worker,
    FORGE_TASK: lease.taskId,
    FORGE_CLAIM: String(lease.claim),
    FORGE_INCARNATION: String(lease.incarnation),
    FORGE_ACTION: action,
  };
}

/** The workers of a repository: their hooks and the ledger. */
export class Workers {
  readonly sharing: RemoteSync;
  readonly slinging: TaskAssigner;
  readonly steps: WorkerSteps;
  readonly statuses: WorkerStatuses;
  readonly repairs: Repairs;

  private constructor(private readonly branches: ForgeBranches) {
    this.sharing = new RemoteSync(branches);
    this.slinging = new TaskAssigner(branches, this.sharing);
    this.steps = new WorkerSteps(branches, this.sharing);
    this.statuses = new WorkerStatuses(branches, this.sharing);
    this.repairs = new Repairs(branches, this.sharing, this.statuses, this.steps.ending);
  }

  /** Those of the repository that a folder belongs to. Fails with `no_repository`. Nothing is made until a task is. */
  static open(folder: string, ports: WorkerPorts): Result<Workers> {
    const repository = locateForge(folder);
    return repository.ok ? ok(new Workers(new ForgeBranches(repository.value, ports))) : repository;
  }

  /** Git's own folder of the repository, which all its worktrees share. */
  get commonDir(): string {
    return this.branches.forge.repository.commonDir;
  }

  /**
   * Takes the work that hangs on a hook, as {@link WorkerSteps.claim}; what a run that died left behind on this machine is ended before,
   * so that the work is never done twice at once.
   */
  async claim(claiming: Claiming): Promise<Result<ClaimedWork>> {
    const seen = await attempt(async () => {
      const view = await readForge(this.branches);
      await this.endDeadRun(view, claiming);
      return view;
    });
    return seen.ok ? this.steps.claim(claiming, seen.value) : seen;
  }

  private async endDeadRun(view: ForgeView, { worker, ownerIsGone = false }: Claiming): Promise<void> {
    const work = view.hooks.get(worker)?.work;
    // What another machine slung is not here before the remote was asked.
    if (work === undefined || (work.ok && work.value === undefined)) return;
    const hook = heldSlot(view, worker);
    const { state } = hook.held;
    const { action } = this.steps.planOf(hook, await leftBehind(this.branches, hook), ownerIsGone);
    if (action === 'nothing' || action === 'ask' || !mayHaveLeft(state)) return;
    unwrap(await endLeftovers(this.commonDir, state, this.branches.ports));
  }

  /** Claims a worker's work, has it done, and records how it ended. Whatever `execute` makes of it, the work comes to an end or is handed on. */
  async run(claiming: Claiming, execute: Execute): Promise<Result<RanWork>> {
    const work = await this.claim(claiming);
    if (!work.ok) return work;
    const { lease } = work.value;
    const failed = async (error: SlotError): Promise<Result<EndedWork>> =>
      this.steps.ending.end(lease, 'fail', { error });
    let execution: Execution;
    try {
      execution = await execute(work.value);
    } catch (error) {
      return failed({ code: 'not_run', message: messageOf(error).slice(0, 4000), recoverable: true });
    }
    const said = await attempt(async () => this.saidByItself(lease));
    if (!said.ok) return said;
    if (said.value !== undefined) return ok(said.value);
    if (execution.ok === 'handed_on') {
      const handed = await this.steps.handoff(lease, execution.reason, execution.resumePoint);
      return handed.ok ? ok({ state: handed.value, result: undefined, skipped: [] }) : handed;
    }
    if (!execution.ok) return failed(execution.error);
    const ended = await this.steps.ending.end(lease, 'complete', execution.result);
    if (ended.ok || ended.error.code !== 'verification_failed') return ended;
    const { message, hint } = ended.error;
    const recorded = await failed({ code: 'bad_result', message, recoverable: true });
    if (!recorded.ok) return recorded;
    return fail('verification_failed', `${lease.taskId} failed: ${message}`, hint === undefined ? {} : { hint });
  }

  /** How the program ended or handed on its work by a call of its own, where it did: then that counts. */
  private async saidByItself(lease: Lease): Promise<RanWork | undefined> {
    const work = (await readForge(this.branches)).hooks.get(lease.worker)?.work;
    if (work?.ok !== true || work.value === undefined) return undefined;
    const { state, result } = work.value;
    const mine = checkLease(state, lease, this.branches.forge.clone());
    if (!mine.ok || (!isOver(state.status) && state.handoffReason === undefined)) return undefined;
    return { state, result: isOver(state.status) ? result : undefined, skipped: [] };
  }
}
