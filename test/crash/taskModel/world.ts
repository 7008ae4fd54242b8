import { DEFAULT_CONFIG, type TaskConfig } from '../../../src/core/config/config';
import type { TaskInput } from '../../../src/core/transition/events';
import type { TaskRecord, RecoveryAction } from '../../../src/core/task/taskRecord';
import type { RecoveryEvidence } from '../../../src/core/recovery/recovery';
import { type Task, commandsOf, createTask, stepTypeOf } from '../../../src/core/task/task';
import {
  type GitEffect,
  type TaskTemplate,
  type TemplateStep,
  gitEffect,
} from '../../../src/core/task/templates/template';
import { toMs, toTimestamp } from '../../../src/core/shared/time';
import { transition } from '../../../src/core/transition/transition';
import { START } from '../../support/fixtures/stateHooks';

/* What the model of task × crash × recovery is made of: the real hook, the world that steps act on, two writers. */

/** Where a writer's program stands: what it does with its next move. */
export type ProgramCounter =
  | 'idle'
  | 'create'
  | 'setup'
  | 'start'
  | 'work'
  | 'effect'
  | 'effect_rest'
  | 'report'
  | 'complete'
  | 'ask'
  | 'output'
  | 'reserve'
  | 'receipt'
  | 'pass'
  | 'recover';

/** A process that drives the task: an agent, a second one, or a window. */
export interface Writer {
  readonly at: ProgramCounter;
  /** The step and attempt that it read and names in its commands. */
  readonly step: number;
  readonly attempt: number;
  /** Which of the validation commands comes next. */
  readonly command: number;
  readonly receiptId: string;
  /** How the command ended whose receipt was recorded last. */
  readonly exitCode: number;
  /** The recovery that it read and is about to apply. */
  readonly action: RecoveryAction | undefined;
  /** The hook in which it read that. */
  readonly seen: TaskRecord | undefined;
  readonly life: 'alive' | 'killed' | 'stalled';
  /** Whether its crash was recorded. */
  readonly noticed: boolean;
}

/** What the steps' side effects left behind; counts stop at 2, which is too many already. */
export interface World {
  readonly commit: 'none' | 'part' | 'all';
  /** Commits since the attempt began, as the reflog tells. */
  readonly commitsOfAttempt: number;
  /** Uncommitted files that aren't the committed work: of a late agent, or edited by hand. */
  readonly leftover: boolean;
  /** Whether the remote has all commits; a late one can come after the push. */
  readonly headPushed: boolean;
  readonly pushed: boolean;
  readonly pullRequest: boolean;
  /** How often the present step's unguarded work was done. */
  readonly worked: number;
  /** How often each guarded effect really happened. */
  readonly happened: Readonly<Record<GitEffect, number>>;
  /** A human decided to go on with this step, or an agent acted that had lost it: what follows isn't recovery's doing. */
  readonly excused: boolean;
  /** Receipts up to this index are of files that have changed since. */
  readonly edited: number;
}

/** What the environment may still do. */
export interface Budget {
  readonly crash: boolean;
  /** A human asks for recovery though nothing crashed. */
  readonly ask: boolean;
  readonly edit: boolean;
  /** A step that goes on for longer than checkpoints stay fresh. */
  readonly long: boolean;
}

/** One state of the model. */
export interface State {
  readonly hook: TaskRecord | undefined;
  readonly world: World;
  readonly writers: readonly [Writer, Writer];
  readonly budget: Budget;
}

/** What is explored: a template and what can be seen of its world. */
export interface Setting {
  readonly task: Task;
  readonly config: TaskConfig;
  /** The index in the task of the step that is explored. */
  readonly step: number;
  /** Whether git and the forge's command can tell what happened. */
  readonly sighted: boolean;
}

/** A state in which a step was left, as one in which the next step begins: what is over is cut off. */
export function rebased(from: Setting, to: Setting, state: State): State {
  const { hook, budget } = state;
  const next = to.task.steps[EXPLORED];
  if (hook?.current_step === undefined || next === undefined) return state;
  const history = hook.history.filter((event, index) => index === 0 || event.trigger === 'crash_detected');
  const step = { ...hook.current_step, step_index: EXPLORED, step_name: next.name };
  const [a, b] = state.writers;
  const moved = (writer: Writer): Writer =>
    writer.step < 0 ? writer : { ...writer, step: Math.max(0, BEFORE.indexOf(beforeOf(effectOf(from, writer.step)))) };
  return {
    ...state,
    hook: { ...hook, current_step: step, history, checkpoints: [], receipts: [] },
    world: { ...state.world, edited: 0 },
    writers: [moved(a), moved(b)],
    budget: { crash: budget.crash, ask: true, edit: true, long: true },
  };
}

function beforeOf(effect: ReturnType<typeof effectOf>): (typeof BEFORE)[number] {
  return effect === 'commit' || effect === 'push' || effect === 'pr' ? effect : 'work';
}

/** Longer than a checkpoint is fresh (10 minutes), in ms. */
const LONG_MS = 11 * 60_000;

/** Steps of which a writer may be left over, by their effects; what came before the explored step makes no other difference. */
const BEFORE = ['work', 'commit', 'push', 'pr'] as const;
/** The index of the step that is explored. */
export const EXPLORED = BEFORE.length;

/**
 * The setting in which one step of a template is explored: the steps that late writers may still be at, the step itself,
 * and one that stands for all that follow.
 * @param index -1 for the set-up before the first step
 */
export function settingOf(
  template: TaskTemplate,
  index: number,
  commands: readonly string[],
  sighted: boolean,
): Setting {
  const config: TaskConfig = {
    ...DEFAULT_CONFIG,
    // Rules ask only whether an attempt is left: two show both.
    maxStepAttempts: 2,
    validation: { ...DEFAULT_CONFIG.validation, commands: [...commands] },
  };
  const filler = (name: string): TemplateStep => ({
    ...{ name, type: gitEffect(name) === undefined ? 'ai' : 'git', idempotent: false, validation: [] },
    maxAttempts: undefined,
  });
  const step = template.steps[index];
  const isLast = index === template.steps.length - 1;
  const steps = [
    // No step of a template has such a name: within a task each has its own.
    ...BEFORE.map((name) => filler(`before_${name}`)),
    ...(step === undefined ? [] : [step]),
    ...(isLast ? [] : [filler('whatever_follows')]),
  ];
  const id = 'task-20260301-120000';
  const from = { id, workspaceId: 'model', description: 'model', config, now: toTimestamp(START) };
  const task = createTask({ ...from, template: { ...template, steps }, worktree: '/model', branch: 'main' });
  return { task, config, sighted, step: step === undefined ? 0 : EXPLORED };
}

const WRITER: Writer = {
  ...{ at: 'idle', step: -1, attempt: 0, command: 0, receiptId: '', exitCode: 0 },
  ...{ action: undefined, seen: undefined, life: 'alive', noticed: false },
};

/** A writer that does nothing now. */
export function idle(writer: Writer): Writer {
  return { ...WRITER, life: writer.life, noticed: writer.noticed };
}

/** Before anything happened: one writer is about to create the task. */
export const INITIAL: State = {
  hook: undefined,
  world: {
    ...{ commit: 'none', commitsOfAttempt: 0, leftover: false, headPushed: true, pushed: false, pullRequest: false },
    ...{ worked: 0, happened: { commit: 0, push: 0, pr: 0 }, excused: false, edited: 0 },
  },
  writers: [{ ...WRITER, at: 'create' }, WRITER],
  budget: { crash: true, ask: true, edit: true, long: true },
};

/** A state with one of its writers replaced. */
export function withWriter(state: State, index: 0 | 1, writer: Writer): State {
  return { ...state, writers: index === 0 ? [writer, state.writers[1]] : [state.writers[0], writer] };
}

/** What the step at an index does to the world: guarded by git, by validation, or by nothing. */
export function effectOf({ task }: Setting, index: number): GitEffect | 'validation' | 'human' | 'work' {
  const step = task.steps[index];
  if (step === undefined) throw new Error(`no step ${index}`);
  const type = stepTypeOf(step);
  if (type === 'validation' || type === 'human') return type;
  return type === 'git' ? (gitEffect(step.name) ?? 'work') : 'work';
}

/** The commands that a validation of this step runs: the declared ones, else one that the agent gives. */
export function commandsToRun({ task }: Setting, index: number): readonly string[] {
  const declared = commandsOf(task.steps[index] ?? { name: '', type: '', status: '', attempts: 0 });
  return declared.length > 0 ? declared : ['given by the agent'];
}

/** The time (ms) of the next event. */
export function timeAfter(hook: TaskRecord | undefined, long = false): number {
  return (hook === undefined ? START : toMs(hook.updated_at)) + (long ? LONG_MS : 1000);
}

/** The hook after an event, by the product's own transition; `undefined` when it is refused. */
export function sent(
  setting: Setting,
  hook: TaskRecord | undefined,
  input: TaskInput,
  long = false,
): TaskRecord | undefined {
  const number = (hook?.history.length ?? 0) * 2;
  const hex = (n: number): string => `ckpt-${n.toString(16).padStart(8, '0')}`;
  const passed = (hook?.receipts ?? []).filter((receipt) => receipt.exit_code === 0).map((each) => each.receipt_id);
  const result = transition(hook, input, {
    now: toTimestamp(timeAfter(hook, long)),
    task: setting.task,
    config: setting.config,
    checkpointIds: [hex(number), hex(number + 1)],
    provenReceipts: new Set(passed),
  });
  return result.ok ? result.value.hook : undefined;
}

/** The receipts that verify and cover the files as they are now. */
function currentReceipts({ hook, world }: State): Set<string> {
  const receipts = (hook?.receipts ?? []).slice(world.edited).filter(({ exit_code: code }) => code === 0);
  return new Set(receipts.map((receipt) => receipt.receipt_id));
}

/** What recovery's plan is made from, as the world shows it. */
export function evidenceOf(setting: Setting, state: State): RecoveryEvidence {
  const { hook, world } = state;
  const step = hook?.current_step;
  const provenReceipts = currentReceipts(state);
  if (hook === undefined || step === undefined) return { provenReceipts };
  const effect = effectOf(setting, step.step_index);
  const reported = hook.checkpoints.some(
    ({ trigger, step_index: index, attempt }) =>
      trigger === 'pr_created' && index === step.step_index && attempt === step.attempt,
  );
  if (effect === 'pr' && reported) return { provenReceipts, git: { pullRequest: true } };
  if (!setting.sighted) return { provenReceipts, git: {} };
  const commits = Array.from({ length: world.commitsOfAttempt }, (_each, index) => `c${index}`);
  return {
    provenReceipts,
    git: {
      commitsOfAttempt: commits,
      clean: world.commit === 'all' && !world.leftover,
      upstreamHasHead: world.headPushed,
      pullRequest: world.pullRequest,
    },
  };
}

/** Whether a writer has the step and attempt that are under way. */
export function holds(writer: Writer, hook: TaskRecord | undefined): boolean {
  if (hook === undefined || writer.at === 'idle' || writer.at === 'recover' || writer.at === 'start') return false;
  if (hook.state === 'initializing') return writer.at === 'setup';
  if (hook.state !== 'step_running' && hook.state !== 'step_validating') return false;
  const step = hook.current_step;
  return step?.step_index === writer.step && step.attempt === writer.attempt;
}
