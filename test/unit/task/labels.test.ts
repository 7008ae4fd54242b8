import { describe, expect, it } from 'vitest';
import { count } from '../../../src/core/shared/text';
import { roughAge, roughDuration } from '../../../src/core/shared/time';
import {
  ACTION_LABELS,
  CAUSE_LABELS,
  STATE_LABELS,
  WAIT_LABELS,
  actionLabel,
  healthLabel,
  reasonLabel,
} from '../../../src/core/task/labels';
import type { Diagnosis } from '../../../src/core/recovery/liveness';
import { MINUTE, START, drivenTo, recoveryOf } from '../../support/fixtures/stateHooks';

describe('labels', () => {
  it('are the words of the house', () => {
    expect(Object.values(STATE_LABELS)).toEqual([
      ...['Setting up', 'Ready', 'Running', 'Validating', 'Waiting for you', 'Interrupted'],
      ...['Completed', 'Failed', 'Abandoned'],
    ]);
    expect(ACTION_LABELS).toMatchObject({
      retry_from_checkpoint: 'Continue from the checkpoint',
      retry_step: 'Restart the step',
      retry_validation: 'Validate again',
      skip_step: 'Mark the step done',
      manual: 'Decide yourself',
    });
  });

  it('hold no identifier', () => {
    const all = [STATE_LABELS, ACTION_LABELS, CAUSE_LABELS, WAIT_LABELS].flatMap((table) => Object.values(table));
    for (const label of all) expect(label).not.toContain('_');
  });

  it('tell a plan without the id of its checkpoint', () => {
    const reason = 'Checkpoint ckpt-0000000a was only 3m old when the task was interrupted, so work continues from it.';
    expect(reasonLabel(reason)).toBe(
      'The last checkpoint was only 3m old when the task was interrupted, so work continues from it.',
    );
    expect(reasonLabel('The pull request exists.')).toBe('The pull request exists.');
  });

  it('show an action of another version as it is written, on one line', () => {
    expect(actionLabel('retry_step')).toBe('Restart the step');
    expect(actionLabel('ask\nsomebody')).toBe('ask somebody');
    expect(actionLabel('constructor')).toBe('constructor');
  });
});

describe('health', () => {
  const now = START + 60 * MINUTE;
  const of = (diagnosis: Diagnosis, state: keyof typeof STATE_LABELS = 'step_running'): string =>
    healthLabel(drivenTo(state).current, diagnosis, now);

  it('is a short phrase for each diagnosis', () => {
    expect(of({ kind: 'working' })).toBe('Working');
    expect(of({ kind: 'quiet', since: now - 7 * MINUTE })).toBe('Quiet for 7 min');
    expect(of({ kind: 'waiting', for: 'human' }, 'awaiting_human')).toBe('Waiting for you');
    expect(of({ kind: 'waiting', for: 'start' }, 'step_pending')).toBe('Ready');
    expect(of({ kind: 'agent_left', exitCode: 0 })).toBe('Agent exited (exit code 0)');
    expect(of({ kind: 'recent', clockSuspect: false })).toBe('No running process, but changed recently');
    expect(of({ kind: 'over' }, 'failed')).toBe('Failed');
    expect(of({ kind: 'crashed', type: 'signal', cause: 'agent_killed', lastSign: now - 12 * MINUTE })).toBe(
      'Interrupted 12 min ago (agent killed)',
    );
  });

  it('says the same once the crash is recorded', () => {
    const driver = drivenTo('step_running');
    const details = { cause: 'agent_killed', last_sign_of_life: new Date(now - 12 * MINUTE).toISOString() };
    driver.send({ type: 'crash_detected', recovery: recoveryOf(driver.current, { details }) });
    expect(healthLabel(driver.current, { kind: 'recovering' }, now)).toBe('Interrupted 12 min ago (agent killed)');
    driver.hook = { ...driver.current, recovery: undefined };
    expect(healthLabel(driver.current, { kind: 'recovering' }, now)).toBe('Interrupted');
  });
});

describe('ages and counts', () => {
  it.each([
    [0, 'just now'],
    [59_999, 'just now'],
    [MINUTE, '1 min ago'],
    [3 * MINUTE, '3 min ago'],
    [60 * MINUTE, '1 h ago'],
    [24 * 60 * MINUTE, '1 day ago'],
    [48 * 60 * MINUTE, '2 days ago'],
    [-2 * MINUTE, 'in the future (check the clock)'],
    [Number.NaN, 'at an unknown time'],
  ])('%d ms are "%s"', (ms, text) => {
    expect(roughAge(START, START + ms)).toBe(text);
  });

  it('have units, and the right plural', () => {
    expect(roughDuration(30_000)).toBe('less than 1 min');
    expect([0, 1, 2].map((n) => count(n, 'receipt'))).toEqual(['0 receipts', '1 receipt', '2 receipts']);
    expect([0, 1, 2].map((n) => count(n, 'inconsistency', 'inconsistencies'))).toEqual([
      '0 inconsistencies',
      '1 inconsistency',
      '2 inconsistencies',
    ]);
  });
});
