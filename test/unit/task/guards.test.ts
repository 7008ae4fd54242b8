import { describe, expect, it } from 'vitest';
import { DEFAULT_CONFIG } from '../../../src/core/config/config';
import type { TaskInput } from '../../../src/core/transition/events';
import type { StepType } from '../../../src/core/task/templates/template';
import { waitKind } from '../../../src/core/task/waiting';
import { stepOf } from '../../support/drivers/drivenHook';
import {
  Driver,
  MINUTE,
  type SendOptions,
  deepFreeze,
  drivenTo,
  receiptInput,
  receiptOf,
  recoveryOf,
  reserveOf,
  taskOf,
} from '../../support/fixtures/stateHooks';

function begun(type: StepType, commands: readonly string[] = [], maxAttempts = 3): Driver {
  const step = { ...stepOf('work', type, commands), maxAttempts };
  return new Driver(taskOf([step, stepOf('next', 'ai')])).send({ type: 'init' }, { type: 'setup_complete' });
}

function running(type: StepType, commands: readonly string[] = [], maxAttempts = 3): Driver {
  return begun(type, commands, maxAttempts).send({ type: 'start_step' });
}

function refusal(driver: Driver, input: TaskInput, options: SendOptions = {}): string {
  const before = structuredClone(driver.hook);
  deepFreeze(driver.hook);
  const result = driver.try(input, options);
  if (result.ok) throw new Error(`${input.type} was accepted`);
  expect(driver.hook).toEqual(before);
  return `${result.error.code}: ${result.error.message}`;
}

const CRASH = (driver: Driver): TaskInput => ({ type: 'crash_detected', recovery: recoveryOf(driver.current) });

describe('ending a step', () => {
  it('advances an ai step without commands', () => {
    const driver = running('ai').send({ type: 'step_complete', summary: 'all done' });
    expect(driver.current.current_step).toMatchObject({ step_name: 'next', attempt: 1 });
    expect(driver.current.current_step?.started_at).toBeUndefined();
  });

  it('refuses step_complete where commands are declared, whatever the type', () => {
    for (const type of ['ai', 'git', 'ci', 'sdd', 'verify', 'loop'] as const) {
      expect(refusal(running(type, ['npm test']), { type: 'step_complete' })).toMatch(/declares 1 check\./u);
    }
  });

  it('refuses step_complete for a validation step even without commands', () => {
    expect(refusal(running('validation'), { type: 'step_complete' })).toContain(
      'validation step is complete only when',
    );
  });

  it('refuses everybody to end a human step by anything but a decision, whatever state it was left in', () => {
    for (const by of ['human', 'agent'] as const) {
      expect(refusal(running('human'), { type: 'human_resume', by: 'human' })).toContain('Approve or reject');
      const left = running('human', ['npm test']).leftIn('step_running');
      expect(refusal(left, { type: 'step_complete', by })).toContain('This step is a human decision');
      expect(refusal(left, { type: 'step_output', by })).toContain('takes no output and no validation');
      const validating = running('human', ['npm test']).leftIn('step_validating');
      expect(refusal(validating, { ...reserveOf('r1'), by })).toContain('takes no output and no validation');
      const made = receiptInput(receiptOf(validating.current, 'r1'));
      expect(refusal(validating, { ...made, by })).toContain('takes no output and no validation');
      const pass: TaskInput = { type: 'validate_pass', by };
      expect(refusal(validating, pass, { proven: ['r1'] })).toContain('takes no output and no validation');
    }
  });

  it('brings a human step that was left running back to its review, whatever interrupts it', () => {
    for (const state of ['step_running', 'step_validating'] as const) {
      const driver = running('human').leftIn(state);
      driver.send({ type: 'crash_detected', recovery: recoveryOf(driver.current, { recommended_action: 'manual' }) });
      expect(refusal(driver, { type: 'retry_validation' })).toContain('takes no output');
      expect(refusal(driver, { type: 'skip_step', by: 'agent' })).toContain(
        'Only a human may choose "Mark the step done"',
      );
      driver.send({ type: 'manual_required', by: 'agent' });
      expect(waitKind(driver.current)).toBe('review');
      expect(driver.send({ type: 'human_approve' }).current.current_step?.step_name).toBe('next');
    }
  });

  it('cuts last_output at 500 code points', () => {
    const driver = running('ai').send({ type: 'step_output', output: '😀'.repeat(900) });
    expect(driver.current.current_step?.last_output).toBe('😀'.repeat(500));
  });

  it('finishes in the write of the last advance, with both in the history', () => {
    const driver = new Driver(taskOf([stepOf('only', 'ai')]));
    driver.send({ type: 'init' }, { type: 'setup_complete' }, { type: 'start_step' });
    const before = driver.current.history.length;
    driver.send({ type: 'step_complete' });
    const added = driver.current.history.slice(before);
    expect(added.map((event) => [event.trigger, event.from_state, event.to_state])).toEqual([
      ['checkpoint', 'step_running', 'step_running'],
      ['step_complete', 'step_running', 'step_pending'],
      ['finish', 'step_pending', 'completed'],
    ]);
    expect(driver.current.current_step).toBeUndefined();
  });

  it('refuses finish while a step is to be done', () => {
    expect(refusal(begun('ai'), { type: 'finish' })).toContain('"work" isn\'t done yet');
  });
});

describe('validation', () => {
  const validating = (commands: readonly string[]): Driver => running('ai', commands).send({ type: 'step_output' });

  it('passes only when each declared command has a newest receipt that passed and verifies', () => {
    const driver = validating(['lint', 'test']);
    driver.receipt(receiptOf(driver.current, 'r1', 'lint'));
    expect(refusal(driver, { type: 'validate_pass' }, { proven: ['r1'] })).toContain('1 declared check has');
    driver.receipt(receiptOf(driver.current, 'r2', 'test'));
    expect(refusal(driver, { type: 'validate_pass' }, { proven: ['r1'] })).toContain('1 declared check has');
    driver.receipt(receiptOf(driver.current, 'r3', 'test', 1));
    expect(refusal(driver, { type: 'validate_pass' }, { proven: ['r1', 'r2', 'r3'] })).toContain(
      '1 declared check has',
    );
    driver.receipt(receiptOf(driver.current, 'r4', 'test'));
    driver.with({ proven: ['r1', 'r4'] }, { type: 'validate_pass' });
    expect(driver.current.state).toBe('step_pending');
    expect(driver.current.checkpoints.map((item) => item.trigger)).toEqual(['validation', 'step_complete']);
  });

  it('needs at least one proven receipt where no command is declared', () => {
    const driver = validating([]);
    expect(refusal(driver, { type: 'validate_pass' })).toContain('This attempt has no valid receipt');
    driver.receipt(receiptOf(driver.current, 'r1'));
    expect(refusal(driver, { type: 'validate_pass' })).toContain('This attempt has no valid receipt');
    driver.with({ proven: ['r1'] }, { type: 'validate_pass' });
  });

  it("doesn't count receipts of an earlier attempt", () => {
    const driver = validating(['test']);
    driver.receipt(receiptOf(driver.current, 'r1', 'test'));
    driver.send({ type: 'validate_fail', reason: 'broken' }, { type: 'human_reject' }, { type: 'start_step' });
    driver.send({ type: 'step_output' });
    expect(refusal(driver, { type: 'validate_pass' }, { proven: ['r1'] })).toContain('1 declared check has');
  });

  it('refuses receipts of another step, another attempt, twice, or malformed', () => {
    const driver = validating([]).send(reserveOf('r1'));
    const receipt = receiptOf(driver.current, 'r1');
    const send = (more: object): TaskInput => receiptInput({ ...receipt, ...more });
    expect(refusal(driver, send({ step_name: 'next' }))).toContain('step "next"');
    expect(refusal(driver, send({ attempt: 2 }))).toContain('attempt 2');
    expect(refusal(driver, send({ attempt: undefined }))).toContain('names no attempt');
    expect(refusal(driver, send({ started_at: 'yesterday' }))).toContain('malformed');
    driver.send(send({}));
    expect(refusal(driver, send({}))).toContain('already been recorded');
  });

  it('takes only the receipt that was reserved last: two validations make no fork', () => {
    const driver = validating([]);
    const late = receiptInput(receiptOf(driver.current, 'r1'));
    expect(refusal(driver, late)).toContain('no longer counts');
    driver.send(reserveOf('r1'), reserveOf('r2'));
    expect(refusal(driver, late)).toContain('no longer counts');
    driver.send(receiptInput(receiptOf(driver.current, 'r2')));
    expect(driver.current.history.at(-1)?.details).toMatchObject({ chain_count: 1, envelope_sha256: 'c'.repeat(64) });
  });

  it('refuses an empty command', () => {
    const input: TaskInput = reserveOf('r', ' \n');
    expect(refusal(validating([]), input)).toContain('empty');
  });

  it('waits for a human after validate_fail', () => {
    const driver = validating(['test']).send({ type: 'validate_fail', reason: 'test ended with 1' });
    expect(waitKind(driver.current)).toBe('validation_failed');
  });
});

describe('attempts', () => {
  it('counts one more for each start of the same step and begins at one for the next', () => {
    const driver = running('ai');
    expect(driver.current.current_step?.attempt).toBe(1);
    driver.send(CRASH(driver), { type: 'retry_step' });
    expect(driver.current.current_step?.attempt).toBe(1);
    driver.send({ type: 'start_step' });
    expect(driver.current.current_step?.attempt).toBe(2);
    driver.send({ type: 'step_complete' }, { type: 'start_step' });
    expect(driver.current.current_step).toMatchObject({ step_name: 'next', attempt: 1 });
  });

  it('waits for a human when they are spent, and a rejection raises them by one', () => {
    const driver = running('ai', [], 1);
    driver.send(CRASH(driver), { type: 'retry_step' }, { type: 'start_step' });
    expect(driver.current.state).toBe('awaiting_human');
    expect(waitKind(driver.current)).toBe('attempts_spent');
    expect(driver.current.current_step?.attempt).toBe(1);
    driver.send({ type: 'human_reject' });
    expect(driver.current.current_step).toMatchObject({ attempt: 1, max_attempts: 2 });
    driver.send({ type: 'start_step' });
    expect(driver.current).toMatchObject({ state: 'step_running', current_step: { attempt: 2, max_attempts: 2 } });
  });

  it("doesn't raise them by a rejection while some are left", () => {
    const driver = running('ai').send({ type: 'human_required', kind: 'review' }, { type: 'human_reject' });
    expect(driver.current.current_step?.max_attempts).toBe(3);
  });

  it('lets a human approve a step whose attempts are spent', () => {
    const driver = running('ai', [], 1);
    driver.send(CRASH(driver), { type: 'retry_step' }, { type: 'start_step' }, { type: 'human_approve' });
    expect(driver.current.current_step?.step_name).toBe('next');
  });

  it('keeps the attempt over a resume and a retry from a checkpoint', () => {
    const driver = running('ai').send({ type: 'human_required', kind: 'question' }, { type: 'human_resume' });
    expect(driver.current.current_step?.attempt).toBe(1);
    driver.send(CRASH(driver), { type: 'retry_from_checkpoint' });
    expect(driver.current.current_step?.attempt).toBe(1);
  });
});

describe('a human', () => {
  it('is asked at once by a human step, in the same write', () => {
    const driver = begun('human');
    const before = driver.current.history.length;
    driver.send({ type: 'start_step' });
    expect(driver.current.history.slice(before).map((event) => event.trigger)).toEqual([
      'start_step',
      'human_required',
    ]);
    expect(driver.current).toMatchObject({ state: 'awaiting_human', current_step: { attempt: 1 } });
  });

  it.each([
    ['review', true],
    ['step_failed', true],
    ['question', false],
    ['interrupted', false],
  ] as const)('approves %s: %s', (kind, approves) => {
    const driver = running('ai').send({ type: 'human_required', kind });
    if (approves) driver.send({ type: 'human_approve' });
    else expect(refusal(driver, { type: 'human_approve' })).toContain('Nothing is waiting for approval');
    expect(driver.current.state).toBe(approves ? 'step_pending' : 'awaiting_human');
  });

  it("approves a failed validation with a reason, but not a manual recovery's interruption", () => {
    const failed = running('ai').send({ type: 'step_output' }, { type: 'validate_fail', reason: 'no' });
    expect(refusal(failed, { type: 'human_approve' })).toContain('A check failed. Accepting the step');
    failed.send({ type: 'human_approve', reason: 'the check is wrong' });
    const manual = running('ai');
    manual.send(CRASH(manual), { type: 'manual_required', message: 'look' });
    expect(refusal(manual, { type: 'human_approve' })).toContain('Nothing is waiting for approval');
  });

  it('still waits for the same thing after a recovery from waiting', () => {
    const driver = running('ai').send({ type: 'human_required', kind: 'review' });
    driver.send(CRASH(driver), { type: 'manual_required' });
    expect(waitKind(driver.current)).toBe('review');
  });
});

describe('recovery', () => {
  it('retries from a checkpoint only after a crash in step_running', () => {
    for (const state of ['step_pending', 'step_validating', 'awaiting_human'] as const) {
      const driver = drivenTo(state);
      driver.send(CRASH(driver));
      expect(refusal(driver, { type: 'retry_from_checkpoint' })).toContain('no checkpoint to continue from');
    }
  });

  it('goes back to the set-up after a crash in it, and takes nothing but retry_step', () => {
    const driver = drivenTo('initializing');
    driver.send(CRASH(driver));
    for (const type of ['retry_validation', 'skip_step', 'manual_required'] as const) {
      expect(refusal(driver, { type })).toContain('being set up');
    }
    driver.send({ type: 'retry_step' });
    expect(driver.current.state).toBe('initializing');
    driver.send({ type: 'setup_complete' });
  });

  it('moves the recovery into the history of whatever leaves it', () => {
    for (const type of [
      'retry_step',
      'retry_from_checkpoint',
      'retry_validation',
      'skip_step',
      'fail',
      'abandon',
    ] as const) {
      const driver = drivenTo('recovering').send({ type });
      expect(driver.current.recovery).toBeUndefined();
      const event = driver.current.history.findLast((item) => item.trigger === type);
      expect(event?.details?.['recovery']).toMatchObject({ crash_type: 'signal' });
    }
  });

  it('refuses what is malformed', () => {
    const driver = drivenTo('step_running');
    const recovery = recoveryOf(driver.current, { detected_at: 'now' });
    expect(refusal(driver, { type: 'crash_detected', recovery })).toContain('malformed');
  });
});

describe('a late caller', () => {
  const late = (step: string, attempt: number): TaskInput => ({ type: 'step_complete', expect: { step, attempt } });

  it('is refused when it names another step or attempt', () => {
    const driver = running('ai');
    expect(refusal(driver, late('next', 1))).toMatch(/^stale_caller: .*the current step is "work"/u);
    expect(refusal(driver, late('work', 2))).toMatch(/^stale_caller: .*at attempt 1/u);
    driver.send(late('work', 1));
    expect(refusal(driver, { type: 'start_step', expect: { step: 'work' } })).toMatch(/^stale_caller/u);
  });

  it('names with start_step the attempt that would begin', () => {
    const driver = begun('ai');
    expect(refusal(driver, { type: 'start_step', expect: { attempt: 2 } })).toMatch(/^stale_caller/u);
    driver.send({ type: 'start_step', expect: { step: 'work', attempt: 1 } });
    driver.send(CRASH(driver), { type: 'retry_step' });
    expect(refusal(driver, { type: 'start_step', expect: { attempt: 1 } })).toMatch(/^stale_caller/u);
    driver.send({ type: 'start_step', expect: { attempt: 2 } });
  });
});

describe('checkpoints of a state', () => {
  it('takes interval checkpoints while a step runs, and nowhere else', () => {
    const interval: TaskInput = { type: 'checkpoint', trigger: 'interval', description: 'tick' };
    drivenTo('step_running').send(interval);
    for (const state of ['step_pending', 'step_validating', 'awaiting_human', 'recovering'] as const) {
      expect(refusal(drivenTo(state), interval)).toContain('while a step is running');
    }
  });

  it('obeys the switches for those that are made by themselves', () => {
    const autoCheckpoint = { ...DEFAULT_CONFIG.autoCheckpoint, onStepComplete: false, onValidation: false };
    const driver = new Driver(taskOf([stepOf('work', 'ai')]), { ...DEFAULT_CONFIG, autoCheckpoint });
    driver.send({ type: 'init' }, { type: 'setup_complete' }, { type: 'start_step' }, { type: 'step_output' });
    driver.receipt(receiptOf(driver.current, 'r1'));
    driver.with({ proven: ['r1'] }, { type: 'validate_pass' });
    expect(driver.current).toMatchObject({ state: 'completed', checkpoints: [] });
  });

  it('records a pull request once in a step, however often somebody tells of it', () => {
    const pullRequest = (description: string): TaskInput => ({
      type: 'checkpoint',
      trigger: 'pr_created',
      description,
    });
    const driver = running('git');
    driver.send(pullRequest('https://example.com/pull/1'), pullRequest(' https://example.com/pull/1\n'));
    expect(driver.current.checkpoints).toHaveLength(1);
    driver.send(pullRequest('https://example.com/pull/2'));
    expect(driver.current.checkpoints).toHaveLength(2);
  });

  it('records how long the step took', () => {
    const driver = running('ai');
    driver.with({ now: driver.now + 7 * MINUTE }, { type: 'step_complete' });
    expect(driver.current.history.at(-1)?.details).toMatchObject({ duration_ms: 7 * MINUTE });
  });
});
