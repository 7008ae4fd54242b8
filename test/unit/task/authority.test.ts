import { describe, expect, it } from 'vitest';
import type { TaskInput } from '../../../src/core/transition/events';
import { RECOVERY_ACTIONS, type RecoveryAction } from '../../../src/core/task/taskRecord';
import { EVENT_TYPES, HUMAN_EVENTS, legalEvents } from '../../../src/core/transition/states';
import type { WaitKind } from '../../../src/core/task/waiting';
import { stepOf } from '../../support/drivers/drivenHook';
import { Driver, inputOf, recoveryOf, taskOf } from '../../support/fixtures/stateHooks';

function running(maxAttempts = 3): Driver {
  const steps = [{ ...stepOf('work', 'ai'), maxAttempts }, stepOf('next', 'ai')];
  return new Driver(taskOf(steps)).send({ type: 'init' }, { type: 'setup_complete' }, { type: 'start_step' });
}

function crashed(action: RecoveryAction, driver = running()): Driver {
  return driver.send({
    type: 'crash_detected',
    recovery: recoveryOf(driver.current, { recommended_action: action, last_known_state: 'step_running' }),
  });
}

/** A task that waits, for each reason that there is. */
const WAITING: Readonly<Record<WaitKind, () => Driver>> = {
  review: () => running().send({ type: 'human_required', kind: 'review' }),
  question: () => running().send({ type: 'human_required', kind: 'question' }),
  step_failed: () => running().send({ type: 'human_required', kind: 'step_failed' }),
  interrupted: () => crashed('manual').send({ type: 'manual_required' }),
  validation_failed: () => running().send({ type: 'step_output' }, { type: 'validate_fail', reason: 'broken' }),
  attempts_spent: () => {
    const driver = crashed('retry_step', running(1));
    return driver.send({ type: 'retry_step' }, { type: 'start_step' });
  },
};

/** By what a refusal would offer an event. */
const OFFERED_AS = {
  human_approve: 'approve',
  human_reject: 'reject',
  human_resume: 'continue',
  acknowledge: 'acknowledge',
  restore: 'restore',
  fail: 'fail',
  abandon: 'abandon',
} as const satisfies Record<(typeof HUMAN_EVENTS)[number] | 'human_resume', string>;

function codeOf(driver: Driver, input: TaskInput): string {
  const tried = driver.attempt(input);
  return tried.ok ? 'accepted' : tried.error.code;
}

describe('what needs a human', () => {
  it.each(Object.entries(WAITING))(
    'an agent resumes a wait for %s only where nothing is decided by it',
    (kind, wait) => {
      const driver = wait();
      expect(driver.current.state).toBe('awaiting_human');
      const open = kind === 'question' || kind === 'interrupted';
      expect(codeOf(driver, { type: 'human_resume', by: 'agent' })).toBe(open ? 'accepted' : 'human_only');
      expect(codeOf(driver, { type: 'human_resume', by: 'human' })).toBe('accepted');
    },
  );

  it("an interruption that used up the last attempt is not an agent's to continue", () => {
    const driver = crashed('manual', running(1)).send({ type: 'manual_required' });
    expect(codeOf(driver, { type: 'human_resume', by: 'agent' })).toBe('human_only');
    expect(codeOf(driver, { type: 'human_resume', by: 'human' })).toBe('accepted');
  });

  it('is refused to a caller that does not say who it is, as to an agent', () => {
    for (const wait of Object.values(WAITING)) {
      const driver = wait();
      for (const type of [...HUMAN_EVENTS, 'human_resume'] as const) {
        const unsaid = { ...inputOf(type, driver.current), by: undefined } as unknown as TaskInput;
        expect(codeOf(driver, unsaid)).toBe(codeOf(driver, { ...inputOf(type, driver.current), by: 'agent' }));
      }
    }
  });

  it('is any recovery but the plan, unless it asks a human or only withholds a pass', () => {
    const events = {
      retry_step: 'retry_step',
      retry_from_checkpoint: 'retry_from_checkpoint',
      retry_validation: 'retry_validation',
      skip_step: 'skip_step',
      manual: 'manual_required',
    } as const;
    for (const planned of RECOVERY_ACTIONS) {
      for (const [action, type] of Object.entries(events)) {
        const own =
          action === planned || action === 'manual' || (planned === 'skip_step' && action === 'retry_validation');
        expect(codeOf(crashed(planned), { type, by: 'agent' }), `${action}, planned ${planned}`).toBe(
          own ? 'accepted' : 'human_only',
        );
        expect(codeOf(crashed(planned), { type, by: 'human' })).toBe('accepted');
      }
    }
  });

  it('never stands in what a refusal offers an agent', () => {
    for (const [kind, wait] of Object.entries(WAITING)) {
      const driver = wait();
      const refused = driver.attempt({ type: 'step_complete', by: 'agent' });
      const hint = refused.ok ? '' : (refused.error.hint ?? '');
      for (const event of [...HUMAN_EVENTS, 'human_resume'] as const) {
        const offered = event === 'human_resume' && (kind === 'question' || kind === 'interrupted');
        expect(hint.includes(OFFERED_AS[event]), `${event}, ${kind}: ${hint}`).toBe(offered);
      }
    }
  });

  it('is never accepted from an agent in any state', () => {
    for (const wait of [running, ...Object.values(WAITING), () => crashed('retry_step')]) {
      const driver = wait();
      for (const type of EVENT_TYPES.filter((event) => (HUMAN_EVENTS as readonly string[]).includes(event))) {
        const isLegal = legalEvents(driver.current.state).includes(type);
        const code = codeOf(driver, { ...inputOf(type, driver.current), by: 'agent' });
        expect(code, `${type} in ${driver.current.state}`).toBe(isLegal ? 'human_only' : 'illegal_transition');
      }
    }
  });
});
