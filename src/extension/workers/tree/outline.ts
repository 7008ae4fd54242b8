import { type SlotStatus, isOver } from '../../../core/worker/slotContent';
import { type Ledger, type LedgerTask, openBlockers, readyTasks } from '../../../core/worker/ledger';
import type { ForgeStatus, WorkerStatus } from '../../../workers/operations/workerStatus';

/** What is shown of a worker: a status of its hook, or that nothing hangs there, or that nobody can tell. */
export type WorkerShape = SlotStatus | 'FREE' | 'DAMAGED' | 'LOST';

/** How a worker's hook is shown. */
export function shapeOf({ damage, state, commit }: WorkerStatus): WorkerShape {
  if (damage !== undefined) return 'DAMAGED';
  if (commit === undefined) return 'LOST';
  return state?.status ?? 'FREE';
}

/** What a worker's row says beside its status, the gravest first. */
export const PROBLEMS = [
  'damaged',
  'no_branch',
  'claimed_elsewhere',
  'owner_dead',
  'ask',
  'give_up',
  'deadline',
  'no_worktree',
  'folder_differs',
  'ledger_behind',
  'hopeless',
] as const;
/** One of them. */
export type Problem = (typeof PROBLEMS)[number];

/** What is wrong with a worker's hook, the gravest first. */
export function problemsOf({ damage, stale, orphaned, plan, result, elsewhere }: WorkerStatus): Problem[] {
  // Nobody sees from here how another clone's work goes: nothing is wrong with that.
  const isAsking = plan?.action === 'ask' && !elsewhere;
  const found = new Set<Problem>([
    ...(damage === undefined ? [] : (['damaged'] as const)),
    ...(stale === undefined ? [] : [stale]),
    ...orphaned,
    ...(isAsking ? (['ask'] as const) : []),
    ...(plan?.action === 'give_up' ? (['give_up'] as const) : []),
    ...(result?.status === 'FAILED' && result.error?.recoverable === false ? (['hopeless'] as const) : []),
  ]);
  return PROBLEMS.filter((problem) => found.has(problem));
}

/** The next change of the ledger brings it up to date by itself; everything else waits for somebody. */
export function needsHuman(status: WorkerStatus): boolean {
  return problemsOf(status).some((problem) => problem !== 'ledger_behind');
}

/** What can be done with a worker, as its row's menu asks. */
export const ABILITIES = ['free', 'run', 'recover', 'held', 'running', 'clear'] as const;
/** One of them. */
export type Ability = (typeof ABILITIES)[number];

/**
 * `free`: it can be slung a task. `run`: work waits on it. `recover`: somebody has to look at it. `running`: work is under way. `held`: the
 * same, and no process of this machine is seen to do it. `clear`: its work is over.
 * @param isAlive whether the process that works on it was seen alive
 */
export function abilitiesOf(status: WorkerStatus, isAlive: boolean): Ability[] {
  if (status.damage !== undefined || status.commit === undefined) return [];
  const { state, plan, orphaned } = status;
  const can = new Set<Ability>();
  if (state === undefined || isOver(state.status)) can.add('free');
  if (state !== undefined && isOver(state.status)) can.add('clear');
  if (state?.status === 'IN_PROGRESS') can.add('running');
  if (state?.status === 'IN_PROGRESS' && !isAlive) can.add('held');
  if (plan?.action === 'run' || plan?.action === 'resume' || plan?.action === 'restart') can.add('run');
  const isStuck = plan !== undefined && plan.action !== 'run' && plan.action !== 'nothing';
  if (isStuck || orphaned.includes('no_worktree')) can.add('recover');
  return ABILITIES.filter((ability) => can.has(ability));
}

/** The pool of a worker; `undefined` where it is in none. */
export function poolOf(worker: string): string | undefined {
  const slash = worker.indexOf('/');
  return slash < 0 ? undefined : worker.slice(0, slash);
}

/** The pools, by name, and the workers in none. */
export function poolsOf({ workers }: Pick<ForgeStatus, 'workers' | 'ledger'>): {
  readonly pools: string[];
  readonly single: WorkerStatus[];
} {
  const pools = new Set(workers.flatMap(({ worker }) => poolOf(worker) ?? []));
  return { pools: [...pools].sort(), single: workers.filter(({ worker }) => poolOf(worker) === undefined) };
}

/** How tasks are told apart in the view. */
export const BUCKETS = ['ready', 'blocked', 'in_progress', 'failed', 'complete'] as const;
/** One of them. */
export type Bucket = (typeof BUCKETS)[number];

/** The tasks of the ledger by how they stand: what is ready by age, all others the one changed last first. */
export function bucketsOf(ledger: Ledger): Readonly<Record<Bucket, readonly LedgerTask[]>> {
  const all = [...ledger.tasks.last.values()].sort((a, b) => (a.at < b.at ? 1 : Number(a.at > b.at) * -1));
  const only = (...statuses: readonly LedgerTask['status'][]): LedgerTask[] =>
    all.filter(({ status }) => statuses.includes(status));
  return {
    ready: readyTasks(ledger),
    blocked: only('OPEN').filter(({ task }) => openBlockers(ledger, task).length > 0),
    in_progress: only('PENDING', 'IN_PROGRESS'),
    failed: only('FAILED'),
    complete: only('COMPLETE'),
  };
}

/** The bucket of one task. */
export function bucketOf(ledger: Ledger, record: LedgerTask): Bucket {
  switch (record.status) {
    case 'OPEN':
      return openBlockers(ledger, record.task).length === 0 ? 'ready' : 'blocked';
    case 'PENDING':
    case 'IN_PROGRESS':
      return 'in_progress';
    case 'FAILED':
      return 'failed';
    case 'COMPLETE':
      return 'complete';
  }
}

/** Whether a task can be slung to a worker now: nobody has it, or it failed, and nothing blocks it. */
export function isSlingable(ledger: Ledger, record: LedgerTask): boolean {
  const isFree = record.status === 'OPEN' || record.status === 'FAILED';
  return isFree && openBlockers(ledger, record.task).length === 0;
}

/** The files of the ledger. */
export const LEDGER_KINDS = ['tasks', 'convoys', 'evidence'] as const;
/** One of them. */
export type LedgerKind = (typeof LEDGER_KINDS)[number];

/** Whether there is anything to show. */
export function isEmpty({ workers, ledger }: Pick<ForgeStatus, 'workers' | 'ledger'>): boolean {
  return (
    workers.length === 0 &&
    LEDGER_KINDS.every((kind) => ledger[kind].last.size === 0 && ledger[kind].findings.length === 0)
  );
}
