import { recoveryDetails } from '../recovery/recoveryDetails';
import { type HistoryEvent, historyEvent, lastEventOf } from '../history/historyEvent';
import { lastCheckpointOf } from '../checkpoint/checkpoint';
import type { RecoveryContext, TaskRecord, StepCheckpoint, StepContext } from '../task/taskRecord';
import { type Task, type TaskStep, commandsOf, stepTypeOf } from '../task/task';
import type { Verdict } from '../receipt/receipt';
import { aligned } from '../task/taskAlignment';
import type { StepType } from '../task/templates/template';

/** What verification says of a receipt; a receipt without one was not checked. */
export interface ReceiptVerdict {
  readonly verdict: Verdict;
  /** The path of the key that verified it. */
  readonly keyPath?: string;
}

/** What is told of the session that works on a task, each part as Markdown: made only where there is one. */
export interface SessionSections {
  readonly asked: readonly string[];
  readonly work: readonly string[];
  /** Whether `work` ends with what the agent said. */
  readonly hasMessage: boolean;
  /** What comes first in `What To Do Now`. */
  readonly first: readonly string[];
}

/** Everything that HOOK.md is made from. */
export interface HookMarkdownInput {
  readonly hook: TaskRecord;
  readonly task: Task;
  /** The number of the journal's last line. */
  readonly seq: number;
  readonly location: { readonly root: string; readonly hookPath: string };
  /** By receipt id. */
  readonly verdicts: Pick<ReadonlyMap<string, ReceiptVerdict>, 'get'>;
  /** Whether the last run of a check in the step was of the files that are there now, where that was asked. */
  readonly lastRunFiles?: 'current' | 'outdated';
  /** The version of this program. */
  readonly version: string;
  /** What is observed of the session that works on it, or did last. */
  readonly session?: SessionSections;
}

/** A file that the step touched, and how it stands where that is known. */
export interface TouchedFile {
  readonly path: string;
  readonly state: string | undefined;
}

/** The input with what all sections look up. */
export interface HookView extends HookMarkdownInput {
  readonly step: StepContext | undefined;
  readonly planned: TaskStep | undefined;
  readonly type: StepType;
  /** The commands that decide the step. */
  readonly commands: readonly string[];
  /** The newest checkpoint of this step, else of the task. */
  readonly checkpoint: StepCheckpoint | undefined;
  readonly branch: string | undefined;
  readonly files: readonly TouchedFile[];
  /** What interrupted the present step last, also once its recovery was applied. */
  readonly interruption: RecoveryContext | undefined;
  /** What brought the task into its present state. */
  readonly entered: HistoryEvent | undefined;
}

/** Looks up what the sections need; the task is brought in line with its hook first, so that they can't disagree. */
export function viewOf(input: HookMarkdownInput): HookView {
  const { hook } = input;
  const task = aligned(input.task, hook);
  const step = hook.current_step;
  const planned = step === undefined ? undefined : task.steps[step.step_index];
  const checkpoint =
    (step === undefined ? undefined : lastCheckpointOf(hook, step.step_index)) ?? hook.checkpoints.at(-1);
  const entered = hook.history.findLast((event) => event.from_state !== event.to_state);
  return {
    ...input,
    task,
    step,
    planned,
    type: planned === undefined ? 'ai' : stepTypeOf(planned),
    commands: planned === undefined ? [] : commandsOf(planned),
    checkpoint,
    branch: branchOf(hook, task),
    files: filesOf(hook),
    interruption: hook.recovery ?? lastInterruption(hook),
    entered: entered === undefined ? undefined : historyEvent(entered),
  };
}

/** The recovery with which the present step was taken up again; nothing once it ended. */
function lastInterruption({ history, current_step: step }: TaskRecord): RecoveryContext | undefined {
  const recovered = lastEventOf(history, 'retry_step', 'retry_from_checkpoint', 'retry_validation', 'manual_required');
  return step !== undefined && recovered?.details.step_index === step.step_index
    ? recovered.details.recovery
    : undefined;
}

function branchOf(hook: TaskRecord, task: Task): string | undefined {
  const last = hook.checkpoints.findLast((checkpoint) => checkpoint.git_branch !== '')?.git_branch;
  if (last !== undefined) return last;
  const started = task.metadata['branch'];
  return typeof started === 'string' && started !== '' ? started : undefined;
}

function filesOf(hook: TaskRecord): TouchedFile[] {
  const known = new Map(recoveryDetails(hook.recovery).files.map((file) => [file.path, file]));
  for (const path of hook.current_step?.files_touched ?? []) {
    if (!known.has(path)) known.set(path, { path, state: undefined });
  }
  return [...known.values()];
}

/** The names of the steps that are over, with their numbers. */
export function doneSteps({ task }: HookView): { readonly name: string; readonly number: number }[] {
  return task.steps.flatMap((step, index) =>
    step.status === 'completed' || step.status === 'skipped' ? [{ name: step.name, number: index + 1 }] : [],
  );
}
