import { join } from 'node:path';
import { type Result, fail, ok } from '../../core/shared/errors';
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
import { type LedgerTask, failedAttempts, openBlockers } from '../../core/worker/ledger';
import { checkWorker, clashingWorker } from '../../core/worker/names';
import { SLOT_FILES } from '../slot/evidence';
import { type ForgeBranches, type MadeCommit, type Publish, textFile } from '../git/forgeBranches';
import type { WorkerPorts } from '../forgeFolder';
import { type ForgeConfig, readForgeConfig } from '../forgeConfig';
import { type ForgeView, slotBranch, ledgerChange } from './forgeView';
import { authorOf } from '../git/gitObjects';
import { type SlotChanges, commitBoth, emptied, isFree, keepLateFiles, leftBehind } from '../slot/slotChange';
import type { RemoteSync } from './remoteSync';

/** A task that is to be slung. */
export interface Assignment {
  readonly worker: string;
  /** An id, or a whole task; one that the ledger has is as it stands there. */
  readonly task: { readonly id: string; readonly type?: string } & Readonly<Record<string, unknown>>;
  /** What the worker may use; at most 5. */
  readonly tools?: readonly string[];
  /** More for context.json. */
  readonly context?: Readonly<Record<string, unknown>>;
}

/** A task that hangs on a hook. */
export interface AssignedTask {
  readonly worker: string;
  readonly task: SlotTask;
  readonly claim: number;
  readonly folder: string;
}

/** Adds tasks to the ledger, and hangs them on workers' hooks. */
export class TaskAssigner {
  constructor(
    private readonly branches: ForgeBranches,
    private readonly sharing: RemoteSync,
    private readonly ports: WorkerPorts,
  ) {}

  /** Adds tasks that nobody has yet; those that the ledger knows stay as they are. Gives the ids of the new ones. */
  async addTasks(tasks: readonly unknown[]): Promise<Result<readonly string[]>> {
    const definitions: TaskDefinition[] = [];
    for (const each of tasks) {
      const checked = checkInput(taskDefinitionSchema, each, 'a task');
      if (!checked.ok) return checked;
      definitions.push(checked.value);
    }
    return this.sharing.change(async (view, publish) => {
      const fresh = [...new Map(definitions.map((each) => [each.id, each])).values()].filter(
        ({ id }) => !view.ledger.tasks.last.has(id),
      );
      const ids = fresh.map(({ id }) => id);
      const records = fresh.map((each) => openRecord(each, this.ports.clock.now()));
      const added = await this.record(view, publish, records, `Add ${ids.join(', ')}`);
      return added.ok ? ok(ids) : added;
    });
  }

  private async record(
    view: ForgeView,
    publish: Publish,
    tasks: readonly LedgerTask[],
    message: string,
  ): Promise<Result<void>> {
    const change = ledgerChange(
      this.branches,
      view,
      { tasks, evidence: [] },
      { message: message.slice(0, 200), author: authorOf('atlas') },
    );
    if (!change.ok) return change;
    if (change.value === undefined) return ok(undefined);
    const made = await this.branches.make(change.value);
    return made.ok ? publish([made.value]) : made;
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
    const config = await readForgeConfig(this.ports.files, this.branches.forge);
    if (!config.ok) return config;
    return this.sharing.claim(async (view, publish) => {
      const record = slingable(view, worker.value, draft.value, this.ports.clock.now());
      return record.ok ? this.hang(view, publish, record.value, request, config.value) : record;
    });
  }

  private async hang(
    view: ForgeView,
    publish: Publish,
    record: LedgerTask,
    { worker, tools, context: more = {} }: Assignment,
    config: ForgeConfig,
  ): Promise<Result<AssignedTask>> {
    const now = this.ports.clock.now();
    const deadline = record.task.timeout ?? deadlineOf(config.timeout, now);
    const draft = {
      ...record.task,
      assigned: toTimestamp(now),
      ...(deadline === undefined ? {} : { timeout: deadline }),
    };
    const task = checkInput(slotTaskSchema, draft, 'a task');
    if (!task.ok) return task;
    const context = buildContext(task.value, tools ?? config.tools ?? [], failedAttempts(view.ledger, record.id), more);
    if (!context.ok) return context;
    const state = assigned(task.value, worker, record, this.branches.forge.clone(), now);
    const before = await this.before(view, worker);
    if (!before.ok) return before;
    const { changes, onto } = before.value;
    changes.set(SLOT_FILES.task, textFile(serializeContent(task.value)));
    changes.set(SLOT_FILES.context, textFile(serializeContent(context.value)));
    changes.set(SLOT_FILES.status, textFile(serializeContent(state)));
    const made = await this.branches.make({
      branch: slotBranch(this.branches, worker),
      from: view.hooks.get(worker)?.commit,
      onto,
      changes,
      message: `Sling ${record.id} to ${worker}`,
      author: authorOf(worker),
    });
    if (!made.ok) return made;
    const isNew = !view.ledger.tasks.last.has(record.id);
    const tasks = [...(isNew ? [record] : []), recordOf(state, record.task)];
    const done = await commitBoth(this.branches, view, publish, made.value, { tasks, evidence: [] });
    if (!done.ok) return done;
    return ok({ worker, task: task.value, claim: state.claim, folder: made.value.branch.folder });
  }

  /** What goes from a hook that was used before; nothing that lies there is lost. */
  private async before(
    view: ForgeView,
    worker: string,
  ): Promise<Result<{ readonly changes: SlotChanges; readonly onto: MadeCommit | undefined }>> {
    const hook = view.hooks.get(worker);
    if (hook === undefined) {
      const { folder } = slotBranch(this.branches, worker);
      if (this.ports.files.stat(join(folder, SLOT_FILES.task)) === undefined)
        return ok({ changes: new Map(), onto: undefined });
      return fail('damaged', `${folder} contains the work of a worker whose branch is missing.`, {
        hint: 'To keep it, run: atlas worker repair --yes',
      });
    }
    const left = await leftBehind(this.branches, this.ports.files, hook);
    if (!left.ok) return left;
    const onto = await keepLateFiles(this.branches, hook, left.value);
    if (!onto.ok) return onto;
    const changes = await emptied(this.branches, hook, left.value);
    return changes.ok ? ok({ changes: changes.value, onto: onto.value }) : changes;
  }
}

function deadlineOf(timeout: string | undefined, now: number): string | undefined {
  const length = timeout === undefined ? undefined : parseDuration(timeout);
  return length?.ok === true ? toTimestamp(now + length.value) : undefined;
}

/** Whether a task can be slung to a worker now: its record, or one that is to be added. */
function slingable(view: ForgeView, worker: string, draft: TaskDefinition, now: number): Result<LedgerTask> {
  const clash = clashingWorker(worker, view.hooks.keys());
  if (clash !== undefined)
    return fail(
      'invalid_name',
      `${worker} can't be a worker, because ${clash} exists: a pool and a worker can't have the same name.`,
      {
        hint: 'Choose another name.',
      },
    );
  const hook = view.hooks.get(worker);
  const free = hook === undefined ? ok(undefined) : isFree(hook);
  if (!free.ok) return free;
  const record = view.ledger.tasks.last.get(draft.id) ?? openRecord(draft, now);
  if (record.status !== 'OPEN' && record.status !== 'FAILED')
    return fail(
      'illegal_transition',
      `Task ${record.id} is ${record.status}${record.worker === undefined ? '' : ` (${record.worker})`}.`,
      {
        hint: 'Assign another task.',
      },
    );
  const blockers = openBlockers(view.ledger, record.task);
  if (blockers.length === 0) return ok(record);
  return fail('illegal_transition', `Task ${record.id} is blocked by ${blockers.join(', ')}.`, {
    hint: 'Complete those tasks first.',
  });
}
