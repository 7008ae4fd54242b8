import type * as vscode from 'vscode';
import { unwrap } from '../core/shared/errors';
import type { TaskInput } from '../core/transition/events';
import type { TaskRecord } from '../core/task/taskRecord';
import { HUMAN_EVENTS } from '../core/transition/states';
import type { ReceiptReport } from '../core/receipt/receipt';
import type { Diagnosis } from '../core/recovery/liveness';
import type { Task } from '../core/task/task';
import type { StartTask } from '../service/atlas';
import type { TaskRef } from '../core/task/taskRef';
import type { Verdicts } from './receipts/verdicts';
import type { WindowTasks } from './windowTasks';

/** A task as other extensions see it: copies, which nothing is written back from. */
export interface AtlasTask {
  readonly ref: TaskRef;
  readonly hook: TaskRecord;
  readonly task: Task;
  readonly diagnosis: Diagnosis;
  /** Where HOOK.md lies. */
  readonly hookMd: string;
}

/** What Atlas alone finds out or runs: nobody can hand it a result. */
const OWN_EVENTS = [
  'init',
  'crash_detected',
  'validation_command',
  'receipt',
  'validate_pass',
  'validate_fail',
] as const satisfies readonly TaskInput['type'][];

/** An event that other extensions may send: not what a person decides, nor what Atlas finds out itself. */
export type AtlasEvent = Exclude<
  TaskInput,
  { readonly type: (typeof HUMAN_EVENTS)[number] | (typeof OWN_EVENTS)[number] }
>;

/** How a validation that was run through the API ended. */
export interface AtlasValidation {
  readonly passed: boolean;
  /** Why not. */
  readonly reason: string | undefined;
  readonly task: AtlasTask;
}

/**
 * The API that `activate()` returns, version 1. Fields are only ever added to a version.
 * Rejections are errors with `code`, `message` and `hint`.
 */
export interface AtlasApi {
  readonly version: 1;
  /** The store's root folder. */
  readonly root: string;
  /** Resolves once the window's tasks were looked at for the first time. */
  readonly ready: Promise<void>;
  /** The open tasks of this window, the one changed last first. */
  tasks(): readonly AtlasTask[];
  /** One task, finished ones included. */
  task(ref: TaskRef): AtlasTask | undefined;
  /** Tells of a task that changed, or, without a name, that any may have. */
  readonly onDidChangeTask: vscode.Event<TaskRef | undefined>;
  /** Starts a task. Mistakes in its configuration are refused (`invalid_config`). */
  startTask(start: Omit<StartTask, 'ignoreConfig'>): Promise<AtlasTask>;
  checkpoint(ref: TaskRef, description: string): Promise<AtlasTask>;
  /**
   * Drives a task. A human's decisions are refused (`human_only`): so is resuming a task that waits for one, and any recovery but
   * the recorded plan.
   */
  send(ref: TaskRef, event: AtlasEvent): Promise<AtlasTask>;
  /**
   * Runs the validation commands of the current step, signs their receipts, and passes or fails the step. Commands of a
   * repository that no human has allowed yet are refused (`human_only`).
   */
  validate(ref: TaskRef, signal?: AbortSignal): Promise<AtlasValidation>;
  /** What verification says of a task's receipts, by receipt id. */
  verifyReceipts(ref: TaskRef): Promise<ReadonlyMap<string, ReceiptReport>>;
  /** Tells that verdicts on a task's receipts were made, or are others than before: files may have changed. */
  readonly onDidVerifyReceipts: vscode.Event<TaskRef>;
  /** Looks for crashes and commits now. */
  look(): Promise<void>;
}

/** Makes the API of a session. */
export function createApi(session: WindowTasks, verdicts: Verdicts, ready: Promise<void>): AtlasApi {
  const { atlas } = session;
  const describe = (ref: TaskRef): AtlasTask | undefined => {
    const view = session.view(ref);
    if (view === undefined) return undefined;
    const { hook, task } = structuredClone({ hook: view.stored.hook, task: view.stored.task });
    return { ref, hook, task, diagnosis: view.diagnosis, hookMd: atlas.ports.paths.markdown(ref) };
  };
  const changed = (ref: TaskRef): AtlasTask => {
    session.changed(ref);
    const task = describe(ref);
    if (task === undefined) throw new Error(`Task ${ref.id} can't be read.`);
    return task;
  };
  return {
    version: 1,
    root: atlas.ports.paths.root,
    ready,
    tasks: () => session.ownTasks().flatMap(({ ref }) => describe(ref) ?? []),
    task: describe,
    onDidChangeTask: session.onDidChange,
    startTask: async ({ title, template, folder }) => {
      const { ref } = unwrap(await (await atlas.drive()).startTask({ title, template, folder }));
      await session.locatePlaces();
      return changed(ref);
    },
    checkpoint: async (ref, description) =>
      changed(unwrap(await (await atlas.drive()).checkpoint(ref, description)).ref),
    send: async (ref, event) => {
      refuseHumanOnly(event);
      return changed(unwrap(await (await atlas.drive()).send(ref, { ...event, by: 'agent' })).ref);
    },
    validate: async (ref, signal = new AbortController().signal) => {
      const { passed, reason, task } = unwrap(await (await atlas.drive()).validate(ref, { signal, caller: 'agent' }));
      return { passed, reason, task: changed(task.ref) };
    },
    verifyReceipts: async (ref) => {
      const task = unwrap(atlas.catalog.read(ref));
      return structuredClone(unwrap(await (await atlas.receipts()).reports(task)));
    },
    onDidVerifyReceipts: verdicts.onDidChange,
    look: async () => session.look(),
  };
}

/** Callers are other people's code: the type alone keeps nobody out. */
function refuseHumanOnly(event: AtlasEvent): void {
  const type: string = event.type;
  if ([...HUMAN_EVENTS, ...OWN_EVENTS].some((refused) => refused === type)) {
    throw new Error(`"${type}" is a human's decision, or Atlas's own; it can't be sent through the API.`);
  }
}
