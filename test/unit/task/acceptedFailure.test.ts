import { describe, expect, it } from 'vitest';
import { acceptedFailures, acceptedReceipts, failedChecks } from '../../../src/core/task/acceptedFailure';
import { stepOf } from '../../support/drivers/drivenHook';
import { Driver, receiptInput, receiptOf, reserveOf, taskOf } from '../../support/fixtures/stateHooks';
import { render } from '../../support/fixtures/renderedHook';

const APPROVE = { type: 'human_approve', by: 'human' } as const;

/** A task whose first step was validated by checks that ended like this, and failed. */
function failedBy(runs: readonly (readonly [command: string, exitCode: number])[]): Driver {
  const driver = new Driver(taskOf([stepOf('work', 'ai', ['npm test']), stepOf('next', 'ai')]));
  driver.send({ type: 'init' }, { type: 'setup_complete' }, { type: 'start_step' }, { type: 'step_output' });
  runs.forEach(([command, exitCode], index) => {
    const id = `rcpt-${index}`;
    driver.send(reserveOf(id, command), receiptInput(receiptOf(driver.current, id, command, exitCode)));
  });
  return driver.send({ type: 'validate_fail', reason: 'npm test exited with 1', receiptId: 'rcpt-0' });
}

function codeOf(driver: Driver, reason?: string): string {
  const tried = driver.try({ ...APPROVE, ...(reason !== undefined && { reason }) });
  return tried.ok ? 'accepted' : tried.error.code;
}

describe('a step with a failed check', () => {
  it('is accepted with a reason only', () => {
    for (const none of [undefined, '', ' \n']) expect(codeOf(failedBy([['npm test', 1]]), none)).toBe('reason_needed');
    expect(codeOf(failedBy([['npm test', 1]]), 'flaky')).toBe('accepted');
  });

  it('needs a reason whatever else it waits for in the same attempt', () => {
    const given = failedBy([['npm test', 1]]);
    given.send({ type: 'human_resume' }, { type: 'human_required', kind: 'step_failed' });
    expect(codeOf(given)).toBe('reason_needed');
    const again = failedBy([['npm test', 1]]);
    again.send({ type: 'human_reject' }, { type: 'start_step' }, { type: 'human_required', kind: 'review' });
    expect(codeOf(again)).toBe('accepted');
  });

  it('counts the last run of each command', () => {
    expect(
      failedChecks(
        failedBy([
          ['npm test', 1],
          ['lint', 1],
          ['npm test', 0],
        ]).current,
      ).map(({ receipt_id: id }) => id),
    ).toEqual(['rcpt-1']);
  });

  it('stays known as accepted, with its reason and its receipts, when the task has gone on', () => {
    const driver = failedBy([['npm test', 1]]).send({ ...APPROVE, reason: '  tracked in #12 ' });
    driver.send({ type: 'start_step' }, { type: 'step_complete' });
    const { history, checkpoints } = driver.current;
    expect([...acceptedFailures({ history }).values()]).toMatchObject([
      { stepIndex: 0, reason: 'tracked in #12', receipts: ['rcpt-0'] },
    ]);
    expect([...acceptedReceipts({ history })]).toEqual([['rcpt-0', 'tracked in #12']]);
    expect(checkpoints.map(({ description }) => description)).toContain('Step work accepted with a failed check');
  });

  it('never has a tick in HOOK.md', () => {
    const driver = failedBy([['npm test', 1]]).send({ ...APPROVE, reason: 'tracked in #12' });
    const text = render({ now: driver.current, task: driver.task });
    expect(text).toContain('| ⚠️ Accepted with a failed check: tracked in #12 |');
    expect(text).toContain('| ⚠️ accepted with a failed check |');
    expect(text).toContain('Accepted Despite the Failure: tracked in #12');
    expect(text).not.toContain('✅');
  });

  it('is an ordinary approval where no check failed', () => {
    const driver = new Driver(taskOf([stepOf('work', 'human'), stepOf('next', 'ai')]));
    driver.send({ type: 'init' }, { type: 'setup_complete' }, { type: 'start_step' }, { ...APPROVE, reason: 'fine' });
    expect(acceptedFailures(driver.current).size).toBe(0);
    expect(driver.current.history.find(({ trigger }) => trigger === 'human_approve')?.details).toMatchObject({
      reason: 'fine',
    });
  });
});
