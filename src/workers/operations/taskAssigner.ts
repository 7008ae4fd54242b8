import { join } from 'node:path';
import { AtlasError, type Result, unwrap } from '../../core/shared/errors';
import { checkTaskId } from '../../core/shared/ids';
import { parseDuration, toTimestamp } from '../../core/shared/time';
import {
  type SlotTask,
  type TaskDefinition,
  buildContext,
  checkInput,
  slotTaskSchema,
  serializeContent,
  taskDefinitionSchema,
} from '../../core/worker/slotContent';
import { openRecord, recordOf, assigned } from '../../core/worker/slotSteps';
import {
  type LedgerConvoy,
  type LedgerTask,
  convoyRecordSchema,
  failedAttempts,
  openBlockers,
} from '../../core/worker/ledger';
import { checkWorker, clashingWorker } from '../../core/worker/names';
import { SLOT_FILES } from '../slot/slotTree';
import { attempt } from '../attempt';
import { type ForgeBranches, type Publish, textFile } from '../git/forgeBranches';
import { type ForgeConfig, readForgeConfig } from '../forgeConfig';
import { type ForgeView, commitRecords, slotBranch } from './forgeView';
import { authorOf } from '../git/gitObjects';
import { checkFree, commitBoth, vacated } from '../slot/slotChange';
import type { RemoteSync } from './remoteSync';

/** A task that is to be slung. */
export interface Assignment {
  readonly worker: string;
  /** An id, or a whole task; one that the ledger has is as it stands there. */
  readonly task: { readonly id: string; readonly type?: string } & Readonly<Record<string, unknown>>;
  /** What the worker may use; at most 5. */
  readonly tools?: readonly string[];
  readonly context?: Readonly<Record<string, unknown>>;
}

/** Tasks that belong together, as they are to be recorded. */
export interface NewConvoy {
  readonly id: string;
  readonly title?: string | undefined;
  readonly tasks: readonly string[];
}

/** A task that hangs on a hook. */
export interface AssignedTask {
  readonly worker: string;
  readonly task: SlotTask;
  readonly claim: number;
  readonly folder: string;
}

/** Adds tasks and convoys to the ledger, and hangs tasks on workers' hooks. */
export class TaskAssigner {
  constructor(
    private readonly branches: ForgeBranches,
    private readonly sharing: RemoteSync,
  ) {}

  /** Adds tasks that nobody has yet; those that the ledger knows stay as they are. Gives the ids of the new ones. */
  async addTasks(tasks: readonly unknown[]): Promise<Result<readonly string[]>> {
    const definitions = new Map<string, TaskDefinition>();
    for (const each of tasks) {
      const checked = checkInput(taskDefinitionSchema, each, 'a task');
      if (!checked.ok) return checked;
      definitions.set(checked.value.id, checked.value);
    }
    return this.sharing.change(async (view, publish) => {
      const fresh = [...definitions.values()].filter(({ id }) => !view.ledger.tasks.last.has(id));
      const ids = fresh.map(({ id }) => id);
      const records = fresh.map((each) => openRecord(each, this.branches.ports.clock.now()));
      await commitRecords(this.branches, view, publish, { tasks: records }, `Add ${ids.join(', ')}`.slice(0, 200));
      return ids;
    });
  }

  /**
   * Records a convoy of tasks that the ledger has. Fails with `not_found` for one that it hasn't, with `illegal_transition` where
   * another convoy has the id; the same one again changes nothing. Says whether it is new.
   */
  async createConvoy(convoy: NewConvoy): Promise<Result<{ readonly changed: boolean }>> {
    const id = checkTaskId(convoy.id);
    if (!id.ok) return id;
    return this.sharing.change(async (view, publish) => {
      const { ledger } = view;
      const unknown = convoy.tasks.find((task) => !ledger.tasks.last.has(task));
      if (unknown !== undefined)
        throw new AtlasError('not_found', `The ledger has no task ${JSON.stringify(unknown.slice(0, 200))}.`, {
          hint: 'Add it first.',
        });
      const known = ledger.convoys.last.get(convoy.id);
      if (known !== undefined) {
        checkSame(known, convoy);
        return { changed: false };
      }
      const convoys = [convoyRecord(convoy, this.branches.ports.clock.now())];
      await commitRecords(this.branches, view, publish, { convoys }, `Create convoy ${convoy.id}`);
      return { changed: true };
    });
  }

  /**
   * Hangs a task on a worker's hook. Fails with `illegal_transition` where the worker has unfinished work, another has the task, or it
   * waits for others; with `usage` where the context is too much.
   */
  async sling(request: Assignment): Promise<Result<AssignedTask>> {
    const worker = checkWorker(request.worker);
    if (!worker.ok) return worker;
    const draft = checkInput(taskDefinitionSchema, { type: 'task', ...request.task }, 'a task');
    if (!draft.ok) return draft;
    const config = await attempt(async () => readForgeConfig(this.branches.ports.files, this.branches.forge));
    if (!config.ok) return config;
    return this.sharing.claim(async (view, publish) => {
      const record = slingable(view, worker.value, draft.value, this.branches.ports.clock.now());
      return this.hang(view, publish, record, request, config.value);
    });
  }

  private async hang(
    view: ForgeView,
    publish: Publish,
    record: LedgerTask,
    { worker, tools, context: more = {} }: Assignment,
    config: ForgeConfig,
  ): Promise<AssignedTask> {
    const now = this.branches.ports.clock.now();
    const deadline = record.task.timeout ?? deadlineOf(config.timeout, now);
    const draft = {
      ...record.task,
      assigned: toTimestamp(now),
      ...(deadline === undefined ? {} : { timeout: deadline }),
    };
    const task = unwrap(checkInput(slotTaskSchema, draft, 'a task'));
    const attempts = failedAttempts(view.ledger, record.id);
    const context = unwrap(buildContext(task, tools ?? config.tools ?? [], attempts, more));
    const state = assigned(task, worker, record, this.branches.forge.clone(), now);
    const { changes, onto } = await this.before(view, worker);
    changes.set(SLOT_FILES.task, textFile(serializeContent(task)));
    changes.set(SLOT_FILES.context, textFile(serializeContent(context)));
    changes.set(SLOT_FILES.status, textFile(serializeContent(state)));
    const branch = slotBranch(this.branches, worker);
    const made = await this.branches.make({
      branch,
      from: view.hooks.get(worker)?.commit,
      onto,
      changes,
      message: `Sling ${record.id} to ${worker}`,
      author: authorOf(worker),
    });
    const isNew = !view.ledger.tasks.last.has(record.id);
    const tasks = [...(isNew ? [record] : []), recordOf(state, record.task)];
    await commitBoth(this.branches, view, publish, made, { tasks });
    return { worker, task, claim: state.claim, folder: branch.folder };
  }

  /** What goes from a hook that was used before; nothing that lies there is lost. */
  private async before(view: ForgeView, worker: string): ReturnType<typeof vacated> {
    const hook = view.hooks.get(worker);
    if (hook !== undefined) return vacated(this.branches, hook);
    const { folder } = slotBranch(this.branches, worker);
    if (this.branches.ports.files.stat(join(folder, SLOT_FILES.task)) === undefined)
      return { changes: new Map(), onto: undefined };
    throw new AtlasError('damaged', `${folder} contains the work of a worker whose branch is missing.`, {
      hint: 'To keep it, run: atlas worker repair --yes',
    });
  }
}

function convoyRecord({ id, title, tasks }: NewConvoy, now: number): LedgerConvoy {
  const stamp = { claim: 0, incarnation: 0, sequence: 0 };
  const record = { id, ...stamp, at: toTimestamp(now), tasks: [...new Set(tasks)] };
  return unwrap(checkInput(convoyRecordSchema, { ...record, ...(title === undefined ? {} : { title }) }, 'a convoy'));
}

function checkSame(known: LedgerConvoy, { id, title, tasks }: NewConvoy): void {
  const wanted = new Set(tasks);
  const isSame = known.tasks.length === wanted.size && [...wanted].every((task) => known.tasks.includes(task));
  if (known.title === title && isSame) return;
  throw new AtlasError('illegal_transition', `Convoy ${id} already exists with other tasks or another title.`, {
    hint: 'Choose another ID, or add tasks to this convoy with --convoy.',
  });
}

function deadlineOf(timeout: string | undefined, now: number): string | undefined {
  const length = timeout === undefined ? undefined : parseDuration(timeout);
  return length?.ok === true ? toTimestamp(now + length.value) : undefined;
}

/** The record of a task that can be slung to a worker now, or one that is to be added. */
function slingable(view: ForgeView, worker: string, draft: TaskDefinition, now: number): LedgerTask {
  const clash = clashingWorker(worker, view.hooks.keys());
  if (clash !== undefined)
    throw new AtlasError(
      'invalid_name',
      `${worker} can't be a worker, because ${clash} exists: a pool and a worker can't have the same name.`,
      { hint: 'Choose another name.' },
    );
  const hook = view.hooks.get(worker);
  if (hook !== undefined) checkFree(hook);
  const record = view.ledger.tasks.last.get(draft.id) ?? openRecord(draft, now);
  if (record.status !== 'OPEN' && record.status !== 'FAILED')
    throw new AtlasError(
      'illegal_transition',
      `Task ${record.id} is ${record.status}${record.worker === undefined ? '' : ` (${record.worker})`}.`,
      { hint: 'Assign another task.' },
    );
  const blockers = openBlockers(view.ledger, record.task);
  if (blockers.length === 0) return record;
  throw new AtlasError('illegal_transition', `Task ${record.id} is blocked by ${blockers.join(', ')}.`, {
    hint: 'Complete those tasks first.',
  });
}
