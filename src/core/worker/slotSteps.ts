import { defined } from '../shared/defined';
import { count } from '../shared/text';
import { type Result, fail, ok } from '../shared/errors';
import { SCHEMA_VERSION } from '../task/taskRecord';
import type { ProcessIdentity, Vitality } from '../recovery/liveness';
import { toMs, toTimestamp } from '../shared/time';
import { type HandoffReason, type SlotState, type SlotStatus, type SlotTask, type TaskDefinition } from './slotContent';
import type { LedgerTask } from './ledger';
import { type VersionVector, versionOf } from './versionVector';

/** How often work is begun, or gone on with after a crash, before it counts as failed. */
export const MAX_ATTEMPTS = 3;

/** What leads from one status to another. */
export const SLOT_STEPS = {
  PENDING: { start: 'IN_PROGRESS' },
  IN_PROGRESS: { start: 'IN_PROGRESS', handoff: 'IN_PROGRESS', complete: 'COMPLETE', fail: 'FAILED' },
  COMPLETE: {},
  FAILED: {},
} as const satisfies Readonly<Record<SlotStatus, Readonly<Record<string, SlotStatus>>>>;

/** What a worker names in all that it says later, so that what comes from a dead one is told apart. */
export interface Lease {
  readonly worker: string;
  readonly taskId: string;
  readonly claim: number;
  readonly incarnation: number;
}

/** What to do about the work on a hook, and why. */
export interface SlotPlan {
  /**
   * `run`: it was never begun. `resume`: go on with what is there. `restart`: from the beginning. `give_up`: it was tried often enough.
   * `nothing`: it is over, or somebody is at work. `ask`: nobody can see whether its owner lives, so a human says.
   */
  readonly action: 'run' | 'resume' | 'restart' | 'give_up' | 'nothing' | 'ask';
  readonly reason: string;
}

/** What is known beside the status. */
export interface SlotSigns {
  /** Whether the owner's process lives; `undefined` where none is named. */
  readonly owner: Vitality | undefined;
  /** Whether the worker left anything. */
  readonly partial: boolean;
  /** Another clone has it, maybe on another machine: from here nobody sees whether its owner lives. */
  readonly elsewhere?: boolean;
  /** A human says that whoever had it is gone. */
  readonly ownerIsGone?: boolean;
}

/** Who takes work: a process that lives as long as it is done, where one does, and the clone of the repository that it is in. */
export interface Taker {
  readonly owner: ProcessIdentity | undefined;
  readonly clone: string;
}

/** The hook of a worker to whom a task is slung. */
export function assigned(task: SlotTask, worker: string, last: VersionVector, clone: string, now: number): SlotState {
  return {
    status: 'PENDING',
    taskId: task.id,
    worker,
    claim: last.claim + 1,
    incarnation: 0,
    sequence: last.sequence + 1,
    attempts: 0,
    updatedAt: toTimestamp(now),
    clone,
    schema_version: SCHEMA_VERSION,
  };
}

/** Says what becomes of the work on a hook when somebody comes to do it. */
export function planSlotRecovery(state: SlotState, { partial, ownerIsGone, ...signs }: SlotSigns): SlotPlan {
  switch (state.status) {
    case 'PENDING':
      return { action: 'run', reason: 'It was never started.' };
    case 'COMPLETE':
    case 'FAILED':
      return { action: 'nothing', reason: `It has ended: ${state.status}.` };
    case 'IN_PROGRESS': {
      const handed = state.handoffReason !== undefined;
      const owner = signs.elsewhere === true ? undefined : signs.owner;
      if (!handed && owner === 'alive') return { action: 'nothing', reason: 'Its worker is running.' };
      const isGone = handed || owner === 'dead' || owner === 'rebooted' || ownerIsGone === true;
      if (!isGone)
        return {
          action: 'ask',
          reason: "Its worker can't be checked from this machine, so a human has to confirm that it is gone.",
        };
      if (isTry(state) && state.attempts >= MAX_ATTEMPTS)
        return { action: 'give_up', reason: `It was tried ${count(state.attempts, 'time')}.` };
      if (handed) return { action: 'resume', reason: `Its worker handed it over (${state.handoffReason ?? ''}).` };
      return partial
        ? { action: 'resume', reason: 'Its worker has exited and left a partial result.' }
        : { action: 'restart', reason: 'Its worker has exited and left nothing.' };
    }
  }
}

/** Whether to go on counts as another attempt: a context that is full is no failure. */
function isTry({ handoffReason }: SlotState): boolean {
  return handoffReason !== 'context_limit';
}

/** The hook of a worker that begins or goes on; a plan that lets nobody work is refused. */
export function started(state: SlotState, plan: SlotPlan, { owner, clone }: Taker, now: number): Result<SlotState> {
  if (plan.action !== 'run' && plan.action !== 'resume' && plan.action !== 'restart')
    return fail('illegal_transition', `The task of ${state.worker} can't be claimed. ${plan.reason}`, {
      hint:
        plan.action === 'ask' ? 'If its worker is gone, recover it by hand.' : 'For details, run: atlas worker status',
    });
  const { owner: _before, handoffReason: _why, resumePoint, ...rest } = state;
  return ok({
    ...rest,
    status: SLOT_STEPS[state.status === 'PENDING' ? 'PENDING' : 'IN_PROGRESS'].start,
    incarnation: state.incarnation + 1,
    sequence: state.sequence + 1,
    attempts: state.attempts + (isTry(state) ? 1 : 0),
    updatedAt: toTimestamp(now),
    clone,
    ...(owner === undefined ? {} : { owner: { ...owner } }),
    ...(plan.action === 'resume' && resumePoint !== undefined ? { resumePoint } : {}),
  });
}

/** The lease that goes with the present incarnation. */
export function leaseOf({ worker, taskId, claim, incarnation }: SlotState): Lease {
  return { worker, taskId, claim, incarnation };
}

/** Whether a lease, of work in this clone, is that of whoever is at work now. Fails with `stale_caller`. */
export function checkLease(state: SlotState, lease: Lease, clone: string): Result<SlotState> {
  const isSame =
    (state.clone ?? clone) === clone &&
    state.worker === lease.worker &&
    state.taskId === lease.taskId &&
    state.claim === lease.claim &&
    state.incarnation === lease.incarnation;
  if (isSame) return ok(state);
  return fail(
    'stale_caller',
    `${lease.worker} now belongs to another incarnation (${state.taskId}, claim ${state.claim}, incarnation ${state.incarnation}).`,
    { hint: 'Your work is kept in the folder or its history. Claim another task.' },
  );
}

/** The work is given to the next incarnation. */
export function handedOff(
  state: SlotState,
  reason: HandoffReason,
  resumePoint: string,
  now: number,
): Result<SlotState> {
  const moved = moveTo(state, 'handoff', now);
  return moved.ok ? ok({ ...moved.value, handoffReason: reason, resumePoint }) : moved;
}

/** The work is over. */
export function ended(state: SlotState, how: 'complete' | 'fail', now: number): Result<SlotState> {
  return moveTo(state, how, now);
}

/** The work is over since nobody is to try it again; the incarnation is new, so that the one before can't say otherwise. */
export function givenUp(state: SlotState, now: number): Result<SlotState> {
  const moved = moveTo(state, 'fail', now, true);
  return moved.ok ? ok({ ...moved.value, incarnation: state.incarnation + 1 }) : moved;
}

function moveTo(
  state: SlotState,
  step: 'handoff' | 'complete' | 'fail',
  now: number,
  isForced = false,
): Result<SlotState> {
  if (state.status !== 'IN_PROGRESS')
    return fail('illegal_transition', `The task of ${state.worker} is ${state.status}, so this can't be done.`, {
      hint: state.status === 'PENDING' ? 'Claim it first.' : 'There is nothing left to do.',
    });
  if (state.handoffReason !== undefined && !isForced)
    return fail(
      'stale_caller',
      `The task of ${state.worker} was handed over (${state.handoffReason}). Its next incarnation completes it.`,
      {
        hint: 'Claim it again to continue.',
      },
    );
  const { owner: _gone, handoffReason: _why, resumePoint: _where, ...rest } = state;
  const at = { sequence: state.sequence + 1, updatedAt: toTimestamp(now) };
  return ok({ ...rest, ...at, status: SLOT_STEPS.IN_PROGRESS[step] });
}

/** What the ledger says of a hook. */
export function recordOf(state: SlotState, task: TaskDefinition): LedgerTask {
  return {
    id: state.taskId,
    ...versionOf(state),
    at: state.updatedAt,
    status: state.status,
    worker: state.worker,
    ...defined({ clone: state.clone }),
    task,
  };
}

/** A task that nobody has yet. */
export function openRecord(task: TaskDefinition, now: number): LedgerTask {
  return { id: task.id, claim: 0, incarnation: 0, sequence: 0, at: toTimestamp(now), status: 'OPEN', task };
}

/** A task without what it got on a hook. */
export function definitionOf({ assigned: _assigned, ...task }: SlotTask): TaskDefinition {
  return task;
}

/** Why unfinished work needs a look; `undefined` where nothing says so. */
export function staleness(
  state: SlotState,
  task: SlotTask | undefined,
  owner: Vitality | undefined,
  now: number,
): 'deadline' | 'owner_dead' | undefined {
  if (state.status === 'COMPLETE' || state.status === 'FAILED') return undefined;
  if (state.status === 'IN_PROGRESS' && (owner === 'dead' || owner === 'rebooted')) return 'owner_dead';
  return task?.timeout !== undefined && toMs(task.timeout) < now ? 'deadline' : undefined;
}
