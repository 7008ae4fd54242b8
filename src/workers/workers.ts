import { type AtlasError, type Result, fail, messageOf, ok } from '../core/shared/errors';
import {
  type HandoffReason,
  type SlotError,
  type SlotResult,
  type SlotState,
  isOver,
} from '../core/worker/slotContent';
import { type Lease, checkLease } from '../core/worker/slotSteps';
import { Convoys } from './ledger/convoys';
import { ForgeBranches } from './git/forgeBranches';
import { type WorkerPorts, locateForge } from './forgeFolder';
import { type ForgeView, readForge } from './operations/forgeView';
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
  readonly convoys: Convoys;
  readonly repairs: Repairs;

  private constructor(
    private readonly branches: ForgeBranches,
    private readonly ports: WorkerPorts,
  ) {
    const sharing = new RemoteSync(branches, ports);
    this.sharing = sharing;
    this.slinging = new TaskAssigner(branches, sharing, ports);
    this.steps = new WorkerSteps(branches, sharing, ports);
    this.statuses = new WorkerStatuses(branches, sharing, ports);
    this.convoys = new Convoys(branches, sharing, ports);
    const { statuses, steps } = this;
    this.repairs = new Repairs({ branches, sharing, statuses, ending: steps.ending, ports });
  }

  /** Those of the repository that a folder belongs to. Fails with `no_repository`. Nothing is made until a task is. */
  static open(folder: string, ports: WorkerPorts): Result<Workers> {
    const repository = locateForge(folder);
    return repository.ok ? ok(new Workers(new ForgeBranches(repository.value, ports), ports)) : repository;
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
    const view = await readForge(this.branches);
    if (!view.ok) return view;
    const plan = await this.steps.planIn(view.value, claiming.worker, claiming.ownerIsGone);
    // What another machine slung is not here before the remote was asked.
    if (!plan.ok) return plan.error.code === 'not_found' ? this.steps.claim(claiming, view.value) : plan;
    const { action } = plan.value;
    const state = stateIn(view.value, claiming.worker);
    if (action !== 'nothing' && action !== 'ask' && state !== undefined && mayHaveLeft(state)) {
      const ended = await endLeftovers(this.commonDir, state, this.ports);
      if (!ended.ok) return ended;
    }
    return this.steps.claim(claiming, view.value);
  }

  /** Claims a worker's work, has it done, and records how it ended. Whatever `execute` makes of it, the work comes to an end or is handed on. */
  async run(claiming: Claiming, execute: Execute): Promise<Result<RanWork>> {
    const work = await this.claim(claiming);
    if (!work.ok) return work;
    const { lease } = work.value;
    let execution: Execution;
    try {
      execution = await execute(work.value);
    } catch (error) {
      return this.failed(lease, { code: 'not_run', message: messageOf(error).slice(0, 4000), recoverable: true });
    }
    const said = await this.saidByItself(lease);
    if (!said.ok) return said;
    if (said.value !== undefined) return ok(said.value);
    if (execution.ok === 'handed_on') return this.handedOn(lease, execution);
    if (!execution.ok) return this.failed(lease, execution.error);
    const ended = await this.steps.ending.end(lease, 'complete', execution.result);
    if (ended.ok || ended.error.code !== 'verification_failed') return ended;
    const failed = await this.failed(lease, { code: 'bad_result', message: ended.error.message, recoverable: true });
    if (!failed.ok) return failed;
    return fail('verification_failed', `${lease.taskId} failed: ${ended.error.message}`, hintOf(ended.error));
  }

  /** How the program ended or handed on its work by a call of its own, where it did: then that counts. */
  private async saidByItself(lease: Lease): Promise<Result<RanWork | undefined>> {
    const view = await readForge(this.branches);
    if (!view.ok) return view;
    const work = view.value.hooks.get(lease.worker)?.work;
    if (work?.ok !== true || work.value === undefined) return ok(undefined);
    const { state, result } = work.value;
    const mine = checkLease(state, lease, this.branches.forge.clone());
    if (!mine.ok || (!isOver(state.status) && state.handoffReason === undefined)) return ok(undefined);
    return ok({ state, result: isOver(state.status) ? result : undefined, skipped: [] });
  }

  private async handedOn(
    lease: Lease,
    { reason, resumePoint }: { readonly reason: HandoffReason; readonly resumePoint: string },
  ): Promise<Result<RanWork>> {
    const handed = await this.steps.handoff(lease, reason, resumePoint);
    return handed.ok ? ok({ state: handed.value, result: undefined, skipped: [] }) : handed;
  }

  private async failed(lease: Lease, error: SlotError): Promise<Result<EndedWork>> {
    return this.steps.ending.end(lease, 'fail', { error });
  }
}

function stateIn({ hooks }: ForgeView, worker: string): SlotState | undefined {
  const work = hooks.get(worker)?.work;
  return work?.ok === true ? work.value?.state : undefined;
}

function hintOf({ hint }: AtlasError): { hint?: string } {
  return hint === undefined ? {} : { hint };
}
