import { describe, expect, it } from 'vitest';
import { type Task, recordDamage, serializeTask, taskSchema, worktreeOf } from '../../../src/core/task/task';
import { alignTask, taskStatusOf } from '../../../src/core/task/taskAlignment';
import { DEFAULT_CONFIG } from '../../../src/core/config/config';
import { stepOf } from '../../support/drivers/drivenHook';
import { Driver, drivenTo, recoveryOf, taskOf } from '../../support/fixtures/stateHooks';

function readAgain(task: Task): Task {
  return taskSchema.parse(JSON.parse(serializeTask(task)));
}

function aligned(driver: Driver): Task {
  return readAgain(alignTask(driver.task, driver.current));
}

describe('task.json beside its hook', () => {
  it.each([
    ['initializing', 'pending', ['pending', 'pending'], 0],
    ['step_pending', 'pending', ['pending', 'pending'], 0],
    ['step_running', 'running', ['running', 'pending'], 0],
    ['step_validating', 'validating', ['running', 'pending'], 0],
    ['awaiting_human', 'awaiting_approval', ['running', 'pending'], 0],
    ['recovering', 'interrupted', ['running', 'pending'], 0],
    ['completed', 'completed', ['completed', 'completed'], 2],
    ['failed', 'failed', ['failed', 'pending'], 0],
    ['abandoned', 'abandoned', ['pending', 'pending'], 0],
  ] as const)('in %s is %s', (state, status, steps, current) => {
    const driver = drivenTo(state);
    const task = aligned(driver);
    expect(task.status).toBe(status);
    expect(task.steps.map((step) => step.status)).toEqual(steps);
    expect(task.current_step).toBe(current);
    expect(task.completed_at !== undefined).toBe(['completed', 'failed', 'abandoned'].includes(state));
    // A second look finds nothing to do, to the byte.
    expect(serializeTask(alignTask(task, driver.current))).toBe(serializeTask(task));
  });

  it('tells outcome, attempts and times of each step', () => {
    const driver = new Driver(taskOf([stepOf('first', 'ai'), stepOf('second', 'ai'), stepOf('third', 'ai')]));
    driver.send({ type: 'init' }, { type: 'setup_complete' }, { type: 'start_step' });
    driver.send({ type: 'crash_detected', recovery: recoveryOf(driver.current) }, { type: 'retry_step' });
    driver.send({ type: 'start_step' }, { type: 'step_complete' }, { type: 'start_step' });
    driver.send({ type: 'crash_detected', recovery: recoveryOf(driver.current) }, { type: 'skip_step' });
    const task = aligned(driver);
    expect(task.steps.map((step) => [step.status, step.attempts])).toEqual([
      ['completed', 2],
      ['skipped', 1],
      ['pending', 0],
    ]);
    expect(task.step_results).toMatchObject([
      { step_index: 0, step_name: 'first', status: 'success', duration_ms: 4 * 60_000 },
      { step_index: 1, step_name: 'second', status: 'skipped' },
    ]);
    expect(task.steps[0]?.started_at).toBe(
      driver.current.history.find((event) => event.trigger === 'start_step')?.timestamp,
    );
  });

  it('does not count the start that found the attempts spent', () => {
    const driver = new Driver(taskOf([{ ...stepOf('work', 'ai'), maxAttempts: 1 }]));
    driver.send({ type: 'init' }, { type: 'setup_complete' }, { type: 'start_step' });
    driver.send(
      { type: 'crash_detected', recovery: recoveryOf(driver.current) },
      { type: 'retry_step' },
      { type: 'start_step' },
    );
    expect(aligned(driver).steps[0]).toMatchObject({ attempts: 1, status: 'failed' });
  });

  it('is fixed where it disagrees, and says when its status changed', () => {
    const driver = drivenTo('step_running');
    const wrong = readAgain({
      ...driver.task,
      status: 'completed',
      current_step: 7,
      completed_at: driver.current.created_at,
    });
    const task = alignTask(wrong, driver.current);
    expect(task).toMatchObject({ status: 'running', current_step: 0 });
    expect(task.completed_at).toBeUndefined();
    expect(task.transitions.at(-1)).toMatchObject({
      from_status: 'completed',
      to_status: 'running',
      reason: 'start_step',
    });
  });

  it('keeps results and fields that the hook says nothing about', () => {
    const driver = drivenTo('step_running');
    const task = readAgain({ ...driver.task, 'x-other': [1], config: { a: 1 }, metadata: { worktree: '/w', b: 2 } });
    expect(alignTask(task, driver.current)).toMatchObject({ 'x-other': [1], config: { a: 1 }, metadata: { b: 2 } });
    expect(worktreeOf(task)).toBe('/w');
    expect(worktreeOf({ ...task, metadata: { worktree: 5 } })).toBeUndefined();
  });

  it.each([
    ['review', 'awaiting_approval'],
    ['question', 'awaiting_approval'],
    ['step_failed', 'awaiting_approval'],
    ['interrupted', 'interrupted'],
  ] as const)('waiting for %s is %s', (kind, status) => {
    const driver = drivenTo('step_running').send({ type: 'human_required', kind });
    expect(taskStatusOf(driver.current)).toBe(status);
  });

  it('after a failed validation says so', () => {
    const driver = drivenTo('step_validating').send({ type: 'validate_fail', reason: 'x' });
    expect(taskStatusOf(driver.current)).toBe('validation_failed');
    expect(aligned(driver).steps[0]?.status).toBe('failed');
  });

  it('freezes its own commands, and for validation steps those of the settings', () => {
    const config = { ...DEFAULT_CONFIG, maxStepAttempts: 4, validation: { commands: ['npm test'], timeoutMs: 1 } };
    const steps = [
      stepOf('a', 'ai'),
      stepOf('b', 'validation'),
      stepOf('c', 'validation', ['make']),
      stepOf('d', 'ai', ['lint']),
    ];
    const task = taskOf(
      steps.map((step) => ({ ...step, maxAttempts: undefined })),
      config,
    );
    expect(task.steps.map((step) => step.validation)).toEqual([[], ['npm test'], ['make'], ['lint']]);
    expect(task.steps.map((step) => step.max_attempts)).toEqual([4, 4, 4, 4]);
  });
});

describe('damage of a hook', () => {
  const { current, task } = drivenTo('step_running');
  const step = current.current_step;
  if (step === undefined) throw new Error('no step');

  it.each([
    ['none', current, task.id, []],
    ['another folder', current, 'task-x', [/names task "task-20260301-120000".*task-x/u]],
    ['attempt 0', { ...current, current_step: { ...step, attempt: 0 } }, task.id, [/attempt 0 .* below 1/u]],
    ['step -1', { ...current, current_step: { ...step, step_index: -1 } }, task.id, [/step index -1/u]],
    ['step 2 of 2', { ...current, current_step: { ...step, step_index: 2 } }, task.id, [/step index 2 .* 2 steps/u]],
  ] as const)('%s', (_name, hook, folder, expected) => {
    const damage = recordDamage(hook, task, folder);
    expect(damage).toHaveLength(expected.length);
    for (const [index, pattern] of expected.entries()) expect(damage[index]).toMatch(pattern);
  });
});
