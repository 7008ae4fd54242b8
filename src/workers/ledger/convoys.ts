import { type Ledger, type TASK_STATUSES, type LedgerTask, openBlockers, readyTasks } from '../../core/worker/ledger';

/** A task of a convoy, now. */
export interface ConvoyTask {
  readonly id: string;
  /** `UNKNOWN` where the ledger has no such task (any more, or yet). */
  readonly status: (typeof TASK_STATUSES)[number] | 'UNKNOWN';
  readonly worker: string | undefined;
  /** What has to be complete before it. */
  readonly waitsFor: readonly string[];
}

/** How the tasks of a convoy fare. */
export interface ConvoyStatus {
  readonly id: string;
  readonly title: string | undefined;
  /** When it was made; `undefined` where only its tasks name it. */
  readonly at: string | undefined;
  readonly tasks: readonly ConvoyTask[];
  readonly ready: readonly string[];
  readonly done: boolean;
}

/** All convoys by id: those that were recorded, and those that only tasks name. */
export function convoyStatuses(ledger: Ledger): ConvoyStatus[] {
  const named = [...ledger.tasks.last.values()].flatMap(({ task }) => task.convoyId ?? []);
  const ids = new Set([...ledger.convoys.last.keys(), ...named]);
  return [...ids].sort().map((id) => statusOf(ledger, id));
}

function statusOf(ledger: Ledger, id: string): ConvoyStatus {
  const record = ledger.convoys.last.get(id);
  const ready = new Set(readyIn(ledger, id).map((task) => task.id));
  const tasks = tasksOf(ledger, id).map((task): ConvoyTask => {
    const known = ledger.tasks.last.get(task);
    const waitsFor = known === undefined ? [] : openBlockers(ledger, known.task);
    return { id: task, status: known?.status ?? 'UNKNOWN', worker: known?.worker, waitsFor };
  });
  return {
    id,
    title: record?.title,
    at: record?.at,
    tasks,
    ready: [...ready],
    done: tasks.length > 0 && tasks.every(({ status }) => status === 'COMPLETE'),
  };
}

function tasksOf(ledger: Ledger, id: string): string[] {
  const naming = [...ledger.tasks.last.values()].filter(({ task }) => task.convoyId === id).map((each) => each.id);
  return [...new Set([...(ledger.convoys.last.get(id)?.tasks ?? []), ...naming])];
}

/** The tasks that can be slung now, the oldest first; those of one convoy where it is given. */
export function readyIn(ledger: Ledger, convoy?: string): LedgerTask[] {
  const ready = readyTasks(ledger);
  if (convoy === undefined) return ready;
  const own = new Set(tasksOf(ledger, convoy));
  return ready.filter(({ id }) => own.has(id));
}
