import { type Result, fail, ok } from '../../core/shared/errors';
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
  definitionOf,
  handedOff,
  leaseOf,
  planSlotRecovery,
  recordOf,
  started,
} from '../../core/worker/slotSteps';
import { LIMITS } from '../../core/worker/limits';
import { compareVersions } from '../../core/worker/versionVector';
import { SLOT_FILES } from '../slot/evidence';
import type { ForgeBranches, Publish } from '../git/forgeBranches';
import type { WorkerPorts } from '../forgeFolder';
import { type ForgeView, readForge } from './forgeView';
import {
  type HeldSlot,
  type SlotChanges,
  type LeftBehind,
  commitBoth,
  emptied,
  heldSlot,
  slotChange,
  isFree,
  isPartial,
  keepLateFiles,
  keepOutputs,
  leftBehind,
  leftOfWork,
  ownFiles,
  showAgain,
} from '../slot/slotChange';
import type { RemoteSync } from './remoteSync';
import { WorkEnding } from '../slot/workEnding';

/** Work that a caller has, and nobody else. */
export interface ClaimedWork {
  /** To be named in all that is said of the work later. */
  readonly lease: Lease;
  /** The hook's folder. */
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

/** Where two clones that did not know of each other slung one task to two workers, one of them counts, on every machine alike. */
export function claimThatCounts({ ledger }: ForgeView, { worker, held: { state } }: HeldSlot): Result<void> {
  const counted = ledger.tasks.last.get(state.taskId);
  if (counted?.worker === undefined || counted.worker === worker || isOver(state.status)) return ok(undefined);
  if (compareVersions(counted, state) < 0) return ok(undefined);
  return fail('illegal_transition', `${state.taskId} is also assigned to ${counted.worker}, which takes precedence.`, {
    hint: 'Take another task. To unassign this one, run: atlas worker repair',
  });
}

interface Keeping {
  readonly view: ForgeView;
  readonly publish: Publish;
  readonly hook: HeldSlot;
  readonly left: LeftBehind;
}

/** The steps of work that hangs on a hook, but for its end. Each is a commit before it is acknowledged. */
export class WorkerSteps {
  readonly ending: WorkEnding;

  constructor(
    private readonly branches: ForgeBranches,
    private readonly sharing: RemoteSync,
    private readonly ports: WorkerPorts,
  ) {
    this.ending = new WorkEnding(branches, sharing, ports);
  }

  /** What is to be done about a worker's hook; nothing is changed. */
  async plan(worker: string, ownerIsGone = false): Promise<Result<SlotPlan>> {
    const view = await readForge(this.branches);
    return view.ok ? this.planIn(view.value, worker, ownerIsGone) : view;
  }

  /** The same, for branches that were read already. */
  async planIn(view: ForgeView, worker: string, ownerIsGone = false): Promise<Result<SlotPlan>> {
    const hook = heldSlot(view, worker);
    if (!hook.ok) return hook;
    const left = await leftBehind(this.branches, this.ports.files, hook.value);
    return left.ok ? ok(this.planOf(hook.value, left.value, ownerIsGone)) : left;
  }

  private planOf({ held }: HeldSlot, left: LeftBehind, ownerIsGone: boolean): SlotPlan {
    const owner = ownerVitality(this.ports, held.state);
    const elsewhere = !isHere(this.branches, held.state);
    return planSlotRecovery(held.state, { owner, elsewhere, partial: isPartial(left, held.state), ownerIsGone });
  }

  /**
   * Takes the work that hangs on a hook, to begin it or to go on. Of several that ask at once, one gets it. Work that was tried too often
   * is marked as failed. Fails with `illegal_transition` where it is not to be had, with `not_found` where there is none.
   * @param seen the branches as they were read just now, where they were; under the lock they are read again
   */
  async claim({ worker, owner, ownerIsGone = false }: Claiming, seen?: ForgeView): Promise<Result<ClaimedWork>> {
    const before = seen === undefined ? await readForge(this.branches) : ok(seen);
    if (!before.ok) return before;
    const now = heldSlot(before.value, worker);
    // Work that this clone has goes on without the remote: no other machine takes it unless a human says so.
    const isOwn = now.ok && isOwnWork(this.branches, now.value.held.state);
    const take = async (view: ForgeView, publish: Publish): Promise<Result<ClaimedWork>> => {
      const hook = heldSlot(view, worker);
      if (!hook.ok) return hook;
      if (isOwn && !isOwnWork(this.branches, hook.value.held.state))
        return fail('illegal_transition', `The task of ${worker} was just assigned elsewhere.`, { hint: 'Try again.' });
      const counts = claimThatCounts(view, hook.value);
      if (!counts.ok) return counts;
      const left = await leftOfWork(this.branches, this.ports.files, hook.value);
      if (!left.ok) return left;
      const plan = this.planOf(hook.value, left.value, ownerIsGone);
      if (plan.action === 'give_up') return this.giveUp(view, publish, hook.value, left.value, plan);
      const taker = { owner, clone: this.branches.forge.clone() };
      const state = started(hook.value.held.state, plan, taker, this.ports.clock.now());
      if (!state.ok) return state;
      const { action } = plan;
      if (action !== 'run' && action !== 'resume' && action !== 'restart')
        return fail('illegal_transition', plan.reason);
      const message = `${VERBS[action]} ${state.value.taskId}`;
      const kept = await this.keep({ view, publish, hook: hook.value, left: left.value }, state.value, message);
      if (!kept.ok) return kept;
      const { task, context } = hook.value.held;
      const { folder } = hook.value.branch;
      return ok({ lease: leaseOf(state.value), folder, action, state: state.value, task, context });
    };
    return isOwn ? this.sharing.change(take) : this.sharing.claim(take);
  }

  private async giveUp(
    view: ForgeView,
    publish: Publish,
    hook: HeldSlot,
    left: LeftBehind,
    plan: SlotPlan,
  ): Promise<Result<never>> {
    const ended = await this.ending.giveUp(view, publish, hook, left);
    if (!ended.ok) return ended;
    return fail('illegal_transition', `${hook.held.task.id} failed. ${plan.reason}`, {
      hint: `After ${MAX_ATTEMPTS} attempts, a human has to check the task and assign it again.`,
    });
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
      if (!hook.ok) return hook;
      const mine = checkLease(hook.value.held.state, lease, this.branches.forge.clone());
      if (!mine.ok) return mine;
      const state = handedOff(mine.value, reason, resumePoint, this.ports.clock.now());
      if (!state.ok) return state;
      const left = await leftBehind(this.branches, this.ports.files, hook.value);
      if (!left.ok) return left;
      const keeping = { view, publish, hook: hook.value, left: left.value };
      const kept = await this.keep(keeping, state.value, 'Handoff checkpoint');
      return kept.ok ? state : kept;
    });
  }

  /** Commits a step of work that goes on, with all that the worker left until now. */
  private async keep({ view, publish, hook, left }: Keeping, state: SlotState, message: string): Promise<Result<void>> {
    const outputs = await keepOutputs(this.branches, hook, left);
    if (!outputs.ok) return outputs;
    const draft = left.files.get(SLOT_FILES.result);
    const changes: SlotChanges = new Map([...outputs.value, ...ownFiles(hook.held, state)]);
    if (draft !== undefined && draft.bytes.length <= LIMITS.resultBytes) changes.set(SLOT_FILES.result, draft);
    const made = await this.branches.make(slotChange(hook, changes, message, outputs.value));
    if (!made.ok) return made;
    const tasks = [recordOf(state, definitionOf(hook.held.task))];
    return commitBoth(this.branches, view, publish, made.value, { tasks, evidence: [] });
  }

  /** Empties a hook whose work is over, once the ledger has it. What lay there stays in the history of its branch. */
  async clear(worker: string): Promise<Result<void>> {
    return this.sharing.change(async (view, publish) => {
      const hook = heldSlot(view, worker);
      if (!hook.ok) return hook;
      const free = isFree(hook.value);
      if (!free.ok) return free;
      const left = await leftBehind(this.branches, this.ports.files, hook.value);
      if (!left.ok) return left;
      const onto = await keepLateFiles(this.branches, hook.value, left.value);
      if (!onto.ok) return onto;
      const changes = await emptied(this.branches, hook.value, left.value);
      if (!changes.ok) return changes;
      const change = slotChange(hook.value, changes.value, `Clear ${hook.value.held.task.id}`);
      const made = await this.branches.make({ ...change, onto: onto.value });
      return made.ok ? commitBoth(this.branches, view, publish, made.value, { tasks: [], evidence: [] }) : made;
    });
  }

  /** Makes a worker's folder again where it was removed, from its branch; says whether it was. */
  async restore(worker: string): Promise<Result<{ readonly added: boolean }>> {
    return this.branches.forge.alone(async () => {
      const view = await readForge(this.branches);
      if (!view.ok) return view;
      const hook = view.value.hooks.get(worker);
      if (hook === undefined) return fail('not_found', `There is no worker ${worker}.`);
      return showAgain(this.branches, this.ports.files, hook);
    });
  }
}
