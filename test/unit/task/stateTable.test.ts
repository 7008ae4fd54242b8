import { describe, expect, it } from 'vitest';
import { foreignEdits } from '../../../src/core/task/foreignEdits';
import { TASK_STATES, type TaskState } from '../../../src/core/task/taskRecord';
import { EVENT_TYPES, type TaskEventType, TRANSITIONS, targetsOf } from '../../../src/core/transition/states';
import { deepFreeze, drivenTo, inputOf } from '../../support/fixtures/stateHooks';

type Position = TaskState | 'none';

/**
 * The specification's table, written down a second time: where each event leads a task of two `ai` steps whose first
 * is current. What isn't here is refused. `finish` needs a task without a step left, `acknowledge` an edit from outside: they have tests of their own.
 */
const SPECIFIED: Readonly<Record<Position, Partial<Record<TaskEventType, TaskState>>>> = {
  none: { init: 'initializing' },
  initializing: {
    setup_complete: 'step_pending',
    crash_detected: 'recovering',
    observe: 'initializing',
    restore: 'initializing',
    fail: 'failed',
    abandon: 'abandoned',
  },
  step_pending: {
    start_step: 'step_running',
    checkpoint: 'step_pending',
    crash_detected: 'recovering',
    observe: 'step_pending',
    restore: 'step_pending',
    fail: 'failed',
    abandon: 'abandoned',
  },
  step_running: {
    note: 'step_running',
    checkpoint: 'step_running',
    step_output: 'step_validating',
    step_complete: 'step_pending',
    human_required: 'awaiting_human',
    crash_detected: 'recovering',
    observe: 'step_running',
    restore: 'step_running',
    fail: 'failed',
    abandon: 'abandoned',
  },
  step_validating: {
    checkpoint: 'step_validating',
    validation_command: 'step_validating',
    receipt: 'step_validating',
    validate_pass: 'step_pending',
    validate_fail: 'awaiting_human',
    crash_detected: 'recovering',
    observe: 'step_validating',
    restore: 'step_validating',
    fail: 'failed',
    abandon: 'abandoned',
  },
  awaiting_human: {
    checkpoint: 'awaiting_human',
    human_approve: 'step_pending',
    human_reject: 'step_pending',
    human_resume: 'step_running',
    crash_detected: 'recovering',
    observe: 'awaiting_human',
    restore: 'awaiting_human',
    fail: 'failed',
    abandon: 'abandoned',
  },
  recovering: {
    checkpoint: 'recovering',
    crash_detected: 'recovering',
    retry_step: 'step_pending',
    retry_from_checkpoint: 'step_running',
    retry_validation: 'step_validating',
    skip_step: 'step_pending',
    manual_required: 'awaiting_human',
    observe: 'recovering',
    restore: 'recovering',
    fail: 'failed',
    abandon: 'abandoned',
  },
  completed: { restore: 'completed' },
  failed: { restore: 'failed' },
  abandoned: { restore: 'abandoned' },
};

const POSITIONS: readonly Position[] = ['none', ...TASK_STATES];
const PAIRS = POSITIONS.flatMap((state) =>
  EVENT_TYPES.map((event) => ({ state, event, target: SPECIFIED[state][event] })),
);
const LEGAL = PAIRS.flatMap((pair) => (pair.target === undefined ? [] : [{ ...pair, target: pair.target }]));
const ILLEGAL = PAIRS.filter(({ target }) => target === undefined);

/** What a refusal says of the task in each state. */
const SITUATION = {
  none: "hasn't been created",
  initializing: 'is being set up',
  step_pending: '"first"',
  step_running: 'step "first" is running',
  step_validating: 'step "first" is being validated',
  awaiting_human: 'is waiting for a review',
  recovering: 'was interrupted',
  completed: 'completed',
  failed: 'failed',
  abandoned: 'abandoned',
} as const satisfies Record<TaskState | 'none', string>;

/** What is refused for a reason that doesn't depend on the state. */
const OWN_WORDS: Partial<Readonly<Record<TaskEventType, string>>> = {
  init: 'already exists',
  acknowledge: 'No edit made outside Atlas',
};

/** What a refusal offers a person in each state: what it takes, but for what ends the task. */
const WAYS_OUT = {
  none: ['Create the task'],
  initializing: ['Wait'],
  step_pending: ['start the step', 'record a checkpoint'],
  step_running: ['record progress', 'record a checkpoint', 'submit output', 'complete the step', 'ask the human'],
  step_validating: ['record a checkpoint', 'validate the step'],
  awaiting_human: ['record a checkpoint', 'approve the step', 'reject the step', 'continue the step'],
  recovering: [
    ...['record a checkpoint', 'restart the step', 'continue from the checkpoint', 'validate again'],
    'mark the step done',
  ],
  completed: ['Start a new task'],
  failed: ['Start a new task'],
  abandoned: ['Start a new task'],
} as const satisfies Record<TaskState | 'none', readonly string[]>;

describe('the table of states and events', () => {
  it('has ten rows and twenty-seven events', () => {
    expect(Object.keys(TRANSITIONS)).toHaveLength(10);
    expect(PAIRS).toHaveLength(270);
    expect(LEGAL.length + ILLEGAL.length).toBe(270);
  });

  it.each(LEGAL)('$event leads from $state to $target', ({ state, event, target }) => {
    const driver = drivenTo(state);
    const before = deepFreeze(driver.hook);
    const result = driver.try(inputOf(event, before), { proven: ['rcpt-proven'] });
    if (!result.ok) throw result.error;
    const { hook } = result.value;
    expect(hook.state).toBe(target);
    expect(targetsOf(state, event)).toContain(target);
    if (event === 'crash_detected' && state === 'recovering') {
      expect(result.value.changed).toBe(false);
      expect(hook).toBe(before);
      return;
    }
    expect(result.value.changed).toBe(true);
    expect(hook.history.length).toBeGreaterThan(before?.history.length ?? 0);
    expect(hook.history.at(-1)?.to_state).toBe(target);
    expect(hook.history.map((item) => item.trigger)).toContain(event);
  });

  it.each(ILLEGAL)('$event is refused in $state', ({ state, event }) => {
    const driver = drivenTo(state);
    const before = structuredClone(driver.hook);
    deepFreeze(driver.hook);
    const result = driver.try(inputOf(event, before), { proven: ['rcpt-proven'] });
    expect(result.ok).toBe(false);
    if (result.ok) return;
    expect(result.error.code).toBe('illegal_transition');
    const { message, hint = '' } = result.error;
    const says = OWN_WORDS[event] ?? SITUATION[state];
    expect(message).toContain(state === 'none' ? SITUATION.none : says);
    for (const way of WAYS_OUT[state]) expect(hint).toContain(way);
    expect(`${message} ${hint}`, 'names no identifier').not.toMatch(/[a-z]_[a-z]/u);
    expect(driver.hook).toEqual(before);
  });

  it.each(['completed', 'failed', 'abandoned'] as const)('says of %s that the task is over', (state) => {
    const result = drivenTo(state).try({ type: 'start_step' });
    if (result.ok) throw new Error('it was accepted');
    expect(result.error.message).toContain(SITUATION[state]);
    expect(result.error.hint).toBe('Start a new task.');
  });

  it.each(TASK_STATES)('takes acknowledge in %s once for each edit from outside, and changes nothing else', (state) => {
    const driver = drivenTo(state);
    const before = driver.current;
    const edit = { timestamp: before.updated_at, from_state: state, to_state: state, trigger: 'adopted_edit' };
    driver.hook = { ...before, history: [...before.history, edit, edit] };
    expect(foreignEdits(driver.current)).toEqual({ count: 2, kind: 'edited', at: before.updated_at });
    expect(driver.try({ type: 'acknowledge', by: 'agent' })).toMatchObject({
      ok: false,
      error: { code: 'human_only' },
    });
    driver.send({ type: 'acknowledge' });
    expect(foreignEdits(driver.current)).toBeUndefined();
    expect({ ...driver.current, history: [], updated_at: '' }).toEqual({ ...before, history: [], updated_at: '' });
    expect(driver.try({ type: 'acknowledge' })).toMatchObject({ ok: false, error: { code: 'illegal_transition' } });
    driver.hook = { ...driver.current, history: [...driver.current.history, edit] };
    expect(foreignEdits(driver.current)).toMatchObject({ count: 1 });
  });

  it('takes finish in step_pending when no step is left, and only then', () => {
    const driver = drivenTo('step_pending');
    driver.hook = { ...driver.current, current_step: undefined };
    const result = driver.try({ type: 'finish' });
    if (!result.ok) throw result.error;
    expect(result.value.hook.state).toBe('completed');
  });
});
