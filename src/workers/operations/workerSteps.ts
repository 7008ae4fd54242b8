import { AtlasError, type Result, fail, unwrap } from '../../core/shared/errors';
import type { ProcessIdentity, Vitality } from '../../core/recovery/liveness';
import {
  HANDOFF_REASONS,
  type HandoffReason,
  type SlotContext,
  type SlotState,
  type SlotTask,
  slotStatusSchema,
  isOver,
} from '../../core/worker/slotContent';
import {
  type Lease,
  MAX_ATTEMPTS,
  type SlotPlan,
  checkLease,
  handedOff,
  leaseOf,
  planSlotRecovery,
  started,
} from '../../core/worker/slotSteps';
import { LIMITS } from '../../core/worker/limits';
import { compareVersions } from '../../core/worker/versionVector';
import { SLOT_FILES } from '../slot/slotTree';
import type { ForgeBranches, Publish } from '../git/forgeBranches';
import type { WorkerPorts } from '../forgeFolder';
import { attempt } from '../attempt';
import { type ForgeView, noWorker, readForge } from './forgeView';
import {
  type HeldSlot,
  type LeftBehind,
  type SlotStep,
  commitBoth,
  commitStep,
  heldSlot,
  slotChange,
  checkFree,
  isPartial,
  leftBehind,
  leftOfWork,
  showAgain,
  vacated,
} from '../slot/slotChange';
import type { RemoteSync } from './remoteSync';
import { WorkEnding } from '../slot/workEnding';

/** Work that a caller has, and nobody else. */
export interface ClaimedWork {
  /** To be named in all that is said of the work later. */
  readonly lease: Lease;
  readonly folder: string;
  readonly action: 'run' | 'resume' | 'restart';
  readonly state: SlotState;
  readonly task: SlotTask;
  readonly context: SlotContext;
}

/** Who claims work. */
export interface Claiming {
  readonly worker: string;
  /** A process that lives as long as the work is done; without one nobody can see that it died. */
  readonly owner?: ProcessIdentity | undefined;
  /** A human says that whoever had the work is gone. */
  readonly ownerIsGone?: boolean;
}

const VERBS = { run: 'Start', resume: 'Resume', restart: 'Restart' } as const;

/** Whether the process that works on a hook lives; `undefined` where none is named. */
export function ownerVitality(ports: WorkerPorts, { owner }: SlotState): Vitality | undefined {
  return owner === undefined ? undefined : ports.processes.vitality(owner);
}

/** Whether this clone of the repository has the work, as far as is known. */
export function isHere(branches: ForgeBranches, { clone }: SlotState): boolean {
  return clone === undefined || clone === branches.forge.knownClone();
}

/** Whether this clone may go on with the work without asking the remote. */
function isOwnWork(branches: ForgeBranches, state: SlotState): boolean {
  return state.status === 'IN_PROGRESS' && isHere(branches, state);
}

/** Where two clones that did not know of each other slung one task to two workers, the one that counts, on every machine alike. */
export function workerThatCounts({ ledger }: ForgeView, { worker, held: { state } }: HeldSlot): string {
  const counted = ledger.tasks.last.get(state.taskId);
  if (counted?.worker === undefined || isOver(state.status)) return worker;
  return compareVersions(counted, state) < 0 ? worker : counted.worker;
}

/** The steps of work that hangs on a hook, but for its end. Each is a commit before it is acknowledged. */
export class WorkerSteps {
  readonly ending: WorkEnding;

  constructor(
    private readonly branches: ForgeBranches,
    private readonly sharing: RemoteSync,
  ) {
    this.ending = new WorkEnding(branches, sharing);
  }

  /** What is to be done about a worker's hook; nothing is changed. */
  async plan(worker: string, ownerIsGone = false): Promise<Result<SlotPlan>> {
    return attempt(async () => {
      const hook = heldSlot(await readForge(this.branches), worker);
      return this.planOf(hook, await leftBehind(this.branches, hook), ownerIsGone);
    });
  }

  /** The same, of a hook that was read already and what lies in its folder. */
  planOf({ held }: HeldSlot, left: LeftBehind, ownerIsGone: boolean): SlotPlan {
    const owner = ownerVitality(this.branches.ports, held.state);
    const elsewhere = !isHere(this.branches, held.state);
    return planSlotRecovery(held.state, { owner, elsewhere, partial: isPartial(left, held.state), ownerIsGone });
  }

  /**
   * Takes the work that hangs on a hook, to begin it or to go on. Of several that ask at once, one gets it. Work that was tried too often
   * is marked as failed. Fails with `illegal_transition` where it is not to be had, with `not_found` where there is none.
   * @param seen the branches as they were read just now, where they were; under the lock they are read again
   */
  async claim({ worker, owner, ownerIsGone = false }: Claiming, seen?: ForgeView): Promise<Result<ClaimedWork>> {
    const before = await attempt(async () => seen ?? readForge(this.branches));
    if (!before.ok) return before;
    const work = before.value.hooks.get(worker)?.work;
    // Work that this clone has goes on without the remote: no other machine takes it unless a human says so.
    const isOwn = work?.ok === true && work.value !== undefined && isOwnWork(this.branches, work.value.state);
    const take = async (view: ForgeView, publish: Publish): Promise<ClaimedWork> => {
      const hook = heldSlot(view, worker);
      const { state, task, context } = hook.held;
      if (isOwn && !isOwnWork(this.branches, state))
        throw refused(`The task of ${worker} was just assigned elsewhere.`, 'Try again.');
      const counting = workerThatCounts(view, hook);
      if (counting !== worker)
        throw refused(
          `${state.taskId} is also assigned to ${counting}, which takes precedence.`,
          'Take another task. To unassign this one, run: atlas worker repair',
        );
      const left = await leftOfWork(this.branches, hook);
      const plan = this.planOf(hook, left, ownerIsGone);
      const { action } = plan;
      if (action === 'give_up') {
        await this.ending.giveUp(view, publish, hook, left);
        throw refused(
          `${task.id} failed. ${plan.reason}`,
          `After ${MAX_ATTEMPTS} attempts, a human has to check the task and assign it again.`,
        );
      }
      const taker = { owner, clone: this.branches.forge.clone() };
      const next = unwrap(started(state, plan, taker, this.branches.ports.clock.now()));
      if (action !== 'run' && action !== 'resume' && action !== 'restart') throw refused(plan.reason);
      await this.keep({ view, publish, hook, left }, next, `${VERBS[action]} ${next.taskId}`);
      return { lease: leaseOf(next), folder: hook.branch.folder, action, state: next, task, context };
    };
    return isOwn ? this.sharing.change(take) : this.sharing.claim(take);
  }

  /** Gives the work to the next incarnation, with what was done until now. */
  async handoff(lease: Lease, reason: HandoffReason, resumePoint: string): Promise<Result<SlotState>> {
    if (!HANDOFF_REASONS.includes(reason))
      return fail('usage', `The reason of a handoff must be one of: ${HANDOFF_REASONS.join(', ')}.`);
    const checked = slotStatusSchema.shape.resumePoint.safeParse(resumePoint);
    if (!checked.success || resumePoint.trim() === '')
      return fail('usage', 'The resume point must be a text of at most 16,384 characters.', {
        hint: "Describe briefly where to continue, and put details into a file in the worker's folder.",
      });
    return this.sharing.change(async (view, publish) => {
      const hook = heldSlot(view, lease.worker);
      const mine = unwrap(checkLease(hook.held.state, lease, this.branches.forge.clone()));
      const state = unwrap(handedOff(mine, reason, resumePoint, this.branches.ports.clock.now()));
      const left = await leftBehind(this.branches, hook);
      await this.keep({ view, publish, hook, left }, state, 'Handoff checkpoint');
      return state;
    });
  }

  /** Commits a step of work that goes on, with all that the worker left until now. */
  private async keep({ view, publish, hook, left }: SlotStep, state: SlotState, message: string): Promise<void> {
    const draft = left.files.get(SLOT_FILES.result);
    const isKept = draft !== undefined && draft.bytes.length <= LIMITS.resultBytes;
    const more = isKept ? new Map([[SLOT_FILES.result, draft]]) : undefined;
    await commitStep(this.branches, { view, publish, hook, left }, state, message, more);
  }

  /** Empties a hook whose work is over, once the ledger has it. What lay there stays in the history of its branch. */
  async clear(worker: string): Promise<Result<void>> {
    return this.sharing.change(async (view, publish) => {
      const hook = heldSlot(view, worker);
      checkFree(hook);
      const { changes, onto } = await vacated(this.branches, hook);
      const made = await this.branches.make({ ...slotChange(hook, changes, `Clear ${hook.held.task.id}`), onto });
      await commitBoth(this.branches, view, publish, made, {});
    });
  }

  /** Makes a worker's folder again where it was removed, from its branch; says whether it was. */
  async restore(worker: string): Promise<Result<{ readonly added: boolean }>> {
    const { forge } = this.branches;
    return attempt(async () =>
      forge.alone(async () => {
        const hook = (await readForge(this.branches)).hooks.get(worker);
        if (hook === undefined) throw noWorker(worker);
        return showAgain(this.branches, hook);
      }),
    );
  }
}

function refused(message: string, hint?: string): AtlasError {
  return new AtlasError('illegal_transition', message, hint === undefined ? {} : { hint });
}
