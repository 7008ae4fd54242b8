import { type Result, fail, ok } from '../../core/shared/errors';
import { checkTaskId } from '../../core/shared/ids';
import { toTimestamp } from '../../core/shared/time';
import { checkInput } from '../../core/worker/slotContent';
import {
  type LedgerConvoy,
  type Ledger,
  type TASK_STATUSES,
  type LedgerTask,
  convoyRecordSchema,
  openBlockers,
  readyTasks,
} from '../../core/worker/ledger';
import type { ForgeBranches } from '../git/forgeBranches';
import type { WorkerPorts } from '../forgeFolder';
import { ledgerChange } from '../operations/forgeView';
import { authorOf } from '../git/gitObjects';
import type { RemoteSync } from '../operations/remoteSync';

/** Tasks that belong together, as they are to be recorded. */
export interface NewConvoy {
  readonly id: string;
  readonly title?: string | undefined;
  readonly tasks: readonly string[];
}

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
  /** The tasks that can be slung now. */
  readonly ready: readonly string[];
  /** Whether all of it is complete. */
  readonly done: boolean;
}

/** Groups tasks, and says how far a group is. */
export class Convoys {
  constructor(
    private readonly branches: ForgeBranches,
    private readonly sharing: RemoteSync,
    private readonly ports: WorkerPorts,
  ) {}

  /**
   * Records a convoy of tasks that the ledger has. Fails with `not_found` for one that it hasn't, with `illegal_transition` where
   * another convoy has the id; the same one again changes nothing. Says whether it is new.
   */
  async create(convoy: NewConvoy): Promise<Result<{ readonly changed: boolean }>> {
    const id = checkTaskId(convoy.id);
    if (!id.ok) return id;
    return this.sharing.change<{ readonly changed: boolean }>(async (view, publish) => {
      const { ledger } = view;
      const unknown = convoy.tasks.find((task) => !ledger.tasks.last.has(task));
      if (unknown !== undefined)
        return fail('not_found', `The ledger has no task ${JSON.stringify(unknown.slice(0, 200))}.`, {
          hint: 'Add it first.',
        });
      const known = ledger.convoys.last.get(convoy.id);
      if (known !== undefined) return isSame(known, convoy) ? ok({ changed: false }) : taken(convoy.id);
      const record = this.record(convoy);
      if (!record.ok) return record;
      const change = ledgerChange(
        this.branches,
        view,
        { tasks: [], evidence: [], convoys: [record.value] },
        { message: `Create convoy ${convoy.id}`, author: authorOf('atlas') },
      );
      if (!change.ok) return change;
      if (change.value === undefined) return ok({ changed: false });
      const made = await this.branches.make(change.value);
      if (!made.ok) return made;
      const published = await publish([made.value]);
      return published.ok ? ok({ changed: true }) : published;
    });
  }

  private record({ id, title, tasks }: NewConvoy): Result<LedgerConvoy> {
    const stamp = { claim: 0, incarnation: 0, sequence: 0 };
    const record = { id, ...stamp, at: toTimestamp(this.ports.clock.now()), tasks: [...new Set(tasks)] };
    return checkInput(convoyRecordSchema, { ...record, ...(title === undefined ? {} : { title }) }, 'a convoy');
  }
}

function isSame(known: LedgerConvoy, { title, tasks }: NewConvoy): boolean {
  const wanted = [...new Set(tasks)];
  return (
    known.title === title && known.tasks.length === wanted.length && wanted.every((id) => known.tasks.includes(id))
  );
}

function taken(id: string): Result<never> {
  return fail('illegal_transition', `Convoy ${id} already exists with other tasks or another title.`, {
    hint: 'Choose another ID, or add tasks to this convoy with --convoy.',
  });
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
