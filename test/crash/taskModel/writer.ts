import type { TaskInput } from '../../../src/core/transition/events';
import type { TaskRecord, RecoveryAction } from '../../../src/core/task/taskRecord';
import { plannedState, planRecovery } from '../../../src/core/recovery/recovery';
import { recoveryInput } from '../../../src/core/recovery/recoveryInput';
import { nextAttempt } from '../../../src/core/task/stepAttempt';
import { toMs } from '../../../src/core/shared/time';
import { receiptInput, receiptOf, reserveOf } from '../../support/fixtures/stateHooks';
import { checkAccepted, checkAdvance, checkExecution } from './properties';
import {
  type Setting,
  type State,
  type World,
  type Writer,
  commandsToRun,
  effectOf,
  evidenceOf,
  holds,
  idle,
  sent,
  withWriter,
} from './world';

/** One possible next state, and who brought it about. */
export interface Move {
  readonly label: string;
  readonly by: 'writer' | 'wake' | 'crash' | 'detection' | 'human' | 'environment';
  readonly next: State;
}

/** What a writer's program sends next; `undefined` where its next move is no event. */
export function pendingInput(setting: Setting, hook: TaskRecord | undefined, writer: Writer): TaskInput | undefined {
  const expect = { step: setting.task.steps[writer.step]?.name ?? '', attempt: writer.attempt };
  switch (writer.at) {
    case 'create':
      return { type: 'init' };
    case 'setup':
      return { type: 'setup_complete' };
    case 'start':
      return { type: 'start_step', expect };
    case 'output':
      return { type: 'step_output', expect };
    case 'report':
      return { type: 'checkpoint', trigger: 'pr_created', description: 'made', expect };
    case 'complete':
      return { type: 'step_complete', expect };
    case 'reserve':
      return { ...reserveOf(writer.receiptId, commandsToRun(setting, writer.step)[writer.command]), expect };
    case 'receipt': {
      const command = commandsToRun(setting, writer.step)[writer.command];
      if (hook === undefined) return undefined;
      const receipt = receiptOf(hook, writer.receiptId, command, writer.exitCode);
      return { ...receiptInput({ ...receipt, step_name: expect.step, attempt: expect.attempt }), expect };
    }
    case 'pass':
      return writer.exitCode === 0
        ? { type: 'validate_pass', expect }
        : { type: 'validate_fail', reason: 'failed', expect };
    case 'recover': {
      if (hook === undefined || writer.seen === undefined) return undefined;
      const action = writer.action === undefined || writer.action === 'await_human' ? 'manual' : writer.action;
      const input = recoveryInput(action, writer.seen, hook);
      return input.ok ? input.value : undefined;
    }
    case 'ask':
      return { type: 'human_required', kind: 'review', expect };
    case 'idle':
    case 'work':
    case 'effect':
    case 'effect_rest':
      return undefined;
  }
}

/** All that a writer can do next. */
export function writerMoves(setting: Setting, state: State, index: 0 | 1): Move[] {
  const writer = state.writers[index];
  if (writer.life === 'killed') return [];
  if (writer.life === 'stalled') {
    const next = withWriter(state, index, { ...writer, life: 'alive' });
    return [{ label: `writer ${index} wakes up`, by: 'wake', next }];
  }
  const then = (label: string, next: State): Move => ({ label: `writer ${index}: ${label}`, by: 'writer', next });
  const goOn = (label: string, change: Partial<Writer>, base: State = state): Move =>
    then(label, withWriter(base, index, { ...writer, ...change }));
  switch (writer.at) {
    case 'idle': {
      const taken = takeUp(setting, state, index);
      return taken === undefined ? [] : [then(`takes up ${taken.at}`, withWriter(state, index, taken))];
    }
    case 'work':
    case 'effect':
    case 'effect_rest': {
      const begun = writer.at === 'work' ? beginWork(setting, state, index) : [];
      return [
        ...begun.map(([label, next]) => then(label, next)),
        ...execute(setting, state, writer).map(([label, world, at]) => goOn(label, { at }, { ...state, world })),
      ];
    }
    case 'receipt':
      return [0, 1].map((exitCode) => send(setting, withWriter(state, index, { ...writer, exitCode }), index, then));
    default:
      return [send(setting, state, index, then)];
  }
}

function isTaken(state: State, index: 0 | 1): boolean {
  const other = state.writers[index === 0 ? 1 : 0];
  return holds(other, state.hook) && (other.life === 'alive' || !other.noticed);
}

/** What a writer that has nothing to do finds to do when it reads HOOK.md. */
function takeUp(setting: Setting, state: State, index: 0 | 1): Writer | undefined {
  const { hook } = state;
  const writer = state.writers[index];
  const step = hook?.current_step;
  // Whose start of a task came to nothing starts it again.
  if (hook === undefined)
    return state.writers.some(({ life }) => life !== 'alive') ? { ...writer, at: 'create' } : undefined;
  if (isTaken(state, index)) return undefined;
  if (hook.state === 'recovering') {
    return { ...writer, at: 'recover', action: recordedAction(setting, state, hook), seen: hook };
  }
  if (step === undefined) return undefined;
  const claim = { ...writer, step: step.step_index, attempt: step.attempt };
  switch (hook.state) {
    case 'step_pending':
      return { ...claim, at: 'start', attempt: nextAttempt(step) };
    case 'step_running':
      return { ...claim, at: firstMove(setting, step.step_index) };
    case 'step_validating':
      return { ...claim, at: 'reserve', receiptId: `rcpt-${hook.history.length}-${index}` };
    default:
      return undefined;
  }
}

/** As RecoveryService does it: that a validation had passed is looked at again, since files may have changed. */
function recordedAction(setting: Setting, state: State, hook: TaskRecord): RecoveryAction {
  const recorded = (hook.recovery?.recommended_action ?? 'manual') as RecoveryAction;
  if (recorded !== 'skip_step' || plannedState(hook) !== 'step_validating') return recorded;
  return planRecovery(hook, setting.task, evidenceOf(setting, state), toMs(hook.updated_at)).action;
}

/** Where the program of a step begins once the step runs. */
function firstMove(setting: Setting, index: number): Writer['at'] {
  const effect = effectOf(setting, index);
  if (effect === 'validation') return 'output';
  if (effect === 'human') return 'ask';
  return effect === 'work' ? 'work' : 'effect';
}

/** Work may be begun with a checkpoint, which may have become old when the work is done. */
function beginWork(setting: Setting, state: State, index: 0 | 1): [string, State][] {
  const writer = state.writers[index];
  const expect = { step: setting.task.steps[writer.step]?.name ?? '', attempt: writer.attempt };
  const go = (base: State): State => withWriter(base, index, { ...writer, at: 'effect' });
  const checkpoint: TaskInput = { type: 'checkpoint', trigger: 'manual', description: 'so far', expect };
  const hook = sent(setting, state.hook, checkpoint);
  if (hook === undefined) return [];
  checkAccepted(setting, state, index, checkpoint, hook);
  const states: [string, State][] = [['makes a checkpoint', go({ ...state, hook })]];
  const later = sent(setting, hook, { type: 'note', workingOn: 'more', expect }, true);
  if (!state.budget.long || later === undefined) return states;
  const budget = { ...state.budget, long: false };
  return [...states, ['makes a checkpoint and works on for long', go({ ...state, hook: later, budget })]];
}

type Executed = [label: string, world: World, at: Writer['at']];

/** Does a step's side effect in the world, as git and the forge would take it. */
function execute(setting: Setting, state: State, writer: Writer): Executed[] {
  const { world, hook } = state;
  const effect = effectOf(setting, writer.step);
  const held = holds(writer, hook);
  if (effect === 'work') {
    const same = hook?.current_step?.step_index === writer.step;
    const worked = same ? Math.min(2, world.worked + 1) : world.worked;
    const late = held ? {} : { leftover: true, excused: true };
    return [['does the work', { ...world, worked, ...late }, 'complete']];
  }
  if (effect === 'validation' || effect === 'human') throw new Error('nothing to execute');
  const first = writer.at === 'effect';
  if (first) checkExecution(setting, state, writer, effect);
  const counted = held && !world.excused && first ? 1 : 0;
  const happened = { ...world.happened, [effect]: world.happened[effect] + counted };
  const base = { ...world, happened, excused: world.excused || !held };
  if (effect === 'push') return [['pushes', { ...base, headPushed: true, pushed: true }, 'complete']];
  if (effect === 'pr') return [['makes the pull request', { ...base, pullRequest: true }, 'report']];
  const nothingLeft = world.commit === 'all' && !world.leftover;
  if (nothingLeft) return [['finds nothing to commit', base, 'complete']];
  const commitsOfAttempt = Math.min(2, world.commitsOfAttempt + 1);
  const committed: World = { ...base, commitsOfAttempt, headPushed: false };
  const all: Executed = ['commits all', { ...committed, commit: 'all', leftover: false }, 'complete'];
  return first && world.commit === 'none'
    ? [all, ['commits a part', { ...committed, commit: 'part' }, 'effect_rest']]
    : [all];
}

/** What the program does after its event was accepted. */
function accepted(setting: Setting, writer: Writer, hook: TaskRecord): Writer {
  switch (writer.at) {
    case 'create':
      return { ...writer, at: 'setup' };
    case 'start':
      return hook.state === 'step_running' ? { ...writer, at: firstMove(setting, writer.step) } : idle(writer);
    case 'report':
      return { ...writer, at: 'complete' };
    case 'output':
      return { ...writer, at: 'reserve', receiptId: `rcpt-${hook.history.length}` };
    case 'reserve':
      return { ...writer, at: 'receipt' };
    case 'receipt': {
      const last = writer.command + 1 >= commandsToRun(setting, writer.step).length;
      if (writer.exitCode !== 0 || last) return { ...writer, at: 'pass' };
      return { ...writer, at: 'reserve', command: writer.command + 1, receiptId: `rcpt-${hook.history.length}` };
    }
    case 'recover':
      return hook.state === 'initializing' ? { ...writer, at: 'setup' } : idle(writer);
    default:
      return idle(writer);
  }
}

/** Sends what the program has to send; a refusal ends the program, whose writer reads HOOK.md again. */
function send(setting: Setting, state: State, index: 0 | 1, then: (label: string, next: State) => Move): Move {
  const writer = state.writers[index];
  const input = pendingInput(setting, state.hook, writer);
  const hook = input === undefined ? undefined : sent(setting, state.hook, input);
  if (input === undefined || hook === undefined)
    return then(`${writer.at} is refused`, withWriter(state, index, idle(writer)));
  checkAccepted(setting, state, index, input, hook);
  const world = afterEvent(setting, state, input, hook);
  return then(input.type, withWriter({ ...state, hook, world }, index, accepted(setting, writer, hook)));
}

/** The world after an accepted event: an attempt's or a step's counts begin anew. */
export function afterEvent(setting: Setting, state: State, input: TaskInput, hook: TaskRecord): World {
  const { world } = state;
  const before = state.hook?.current_step?.step_index;
  if (before !== undefined && before !== hook.current_step?.step_index) {
    checkAdvance(setting, state, input);
    return { ...world, worked: 0, excused: false };
  }
  if (input.type === 'start_step') return { ...world, commitsOfAttempt: 0 };
  if (input.type === 'human_reject' || input.type === 'human_resume') return { ...world, excused: true };
  return world;
}
