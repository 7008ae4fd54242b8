import { describe, expect, it } from 'vitest';
import type { TaskRecord } from '../../../src/core/task/taskRecord';
import type { CrashFinding } from '../../../src/core/recovery/liveness';
import {
  type GitEvidence,
  type RecoveryEvidence,
  type RecoveryPlan,
  planRecovery,
  recoveryContext,
} from '../../../src/core/recovery/recovery';
import type { StepType } from '../../../src/core/task/templates/template';
import { toTimestamp } from '../../../src/core/shared/time';
import { stepOf } from '../../support/drivers/drivenHook';
import { Driver, MINUTE, receiptOf, recoveryOf, reserveOf, taskOf } from '../../support/fixtures/stateHooks';

interface Case {
  readonly name?: string;
  readonly type?: StepType;
  readonly idempotent?: boolean;
  readonly commands?: readonly string[];
  readonly maxAttempts?: number;
}

function running({
  name = 'work',
  type = 'ai',
  idempotent = false,
  commands = [],
  maxAttempts = 3,
}: Case = {}): Driver {
  const step = { ...stepOf(name, type, commands), idempotent, maxAttempts };
  return new Driver(taskOf([step, stepOf('next', 'ai')])).send(
    { type: 'init' },
    { type: 'setup_complete' },
    { type: 'start_step' },
  );
}

function plan(driver: Driver, evidence: RecoveryEvidence = {}, lastSign = driver.now): RecoveryPlan {
  return planRecovery(driver.current, driver.task, evidence, lastSign);
}

/** Each rule that was looked at, with a mark on the one that matched. */
function considered(of: RecoveryPlan): string[] {
  for (const outcome of of.considered) expect(outcome.why.length).toBeGreaterThan(10);
  expect(of.considered.at(-1)).toMatchObject({ rule: of.rule, matched: true, why: of.reason });
  expect(of.reason).toMatch(/^[A-Z].*\.$/u);
  return of.considered.map(({ rule, matched }) => (matched ? `${rule}!` : rule));
}

const CHECKPOINT = { type: 'checkpoint', trigger: 'manual', description: 'by hand' } as const;

describe('rule 1: a task that waits', () => {
  it('leaves awaiting_human alone', () => {
    const made = plan(running().send({ type: 'human_required', kind: 'question' }));
    expect(made.action).toBe('await_human');
    expect(considered(made)).toEqual(['waiting!']);
  });

  it('starts a pending step', () => {
    const made = plan(running().send({ type: 'step_complete' }));
    expect(made).toMatchObject({ action: 'retry_step', rule: 'waiting' });
    expect(made.reason).toContain('"next"');
  });
});

describe('rule 2: the set-up', () => {
  it('is repeated', () => {
    const driver = new Driver(taskOf([stepOf('work', 'ai')])).send({ type: 'init' });
    expect(considered(plan(driver))).toEqual(['waiting', 'initializing!']);
    expect(plan(driver).action).toBe('retry_step');
  });
});

describe('rule 3: a validation', () => {
  const validating = (commands: readonly string[]): Driver => running({ commands }).send({ type: 'step_output' });
  const received = (driver: Driver, id: string, command: string, code = 0): Driver =>
    driver.receipt(receiptOf(driver.current, id, command, code));

  it('is skipped when each command has a proven receipt of this attempt', () => {
    const driver = received(received(validating(['lint', 'test']), 'r1', 'lint'), 'r2', 'test');
    const made = plan(driver, { provenReceipts: new Set(['r1', 'r2']) });
    expect(made.action).toBe('skip_step');
    expect(considered(made)).toEqual(['waiting', 'initializing', 'validation!']);
  });

  it.each([
    ['nothing is proven', ['r1', 'r2'], []],
    ['one is missing', ['r1'], ['r1']],
    ['one is not proven', ['r1', 'r2'], ['r1']],
  ])('is run again when %s', (_name, have, proven) => {
    let driver = validating(['lint', 'test']);
    if (have.includes('r1')) driver = received(driver, 'r1', 'lint');
    if (have.includes('r2')) driver = received(driver, 'r2', 'test');
    expect(plan(driver, { provenReceipts: new Set(proven) })).toMatchObject({
      action: 'retry_validation',
      rule: 'validation',
    });
  });

  it('is run again when the newest receipt of a command failed', () => {
    const driver = received(received(validating(['test']), 'r1', 'test'), 'r2', 'test', 1);
    expect(plan(driver, { provenReceipts: new Set(['r1', 'r2']) }).action).toBe('retry_validation');
  });

  it('is run again where no command is declared', () => {
    const driver = received(validating([]), 'r1', 'x');
    expect(plan(driver, { provenReceipts: new Set(['r1']) }).action).toBe('retry_validation');
  });

  it("doesn't take receipts of an earlier attempt", () => {
    const driver = received(validating(['test']), 'r1', 'test');
    driver.send(
      { type: 'validate_fail', reason: 'x' },
      { type: 'human_reject' },
      { type: 'start_step' },
      { type: 'step_output' },
    );
    expect(plan(driver, { provenReceipts: new Set(['r1']) }).action).toBe('retry_validation');
  });

  it('is decided before git and checkpoints are', () => {
    const driver = running({ name: 'commit', type: 'git' }).send(CHECKPOINT, { type: 'step_output' });
    expect(plan(driver, { git: { commitsOfAttempt: ['c'], clean: true } }).action).toBe('retry_validation');
  });
});

describe('rule 4: a git step', () => {
  it.each<[string, GitEvidence | undefined, string]>([
    ['git_commit', { commitsOfAttempt: ['0123456789abcdef'], clean: true }, 'skip_step'],
    ['git_commit', { commitsOfAttempt: ['0123456789abcdef'], clean: false }, 'manual'],
    ['git_commit', { commitsOfAttempt: ['0123456789abcdef'] }, 'manual'],
    ['git_commit', { commitsOfAttempt: [], clean: true }, 'retry_step'],
    ['git_commit', { commitsOfAttempt: [], clean: false }, 'retry_step'],
    ['git_commit', { clean: true }, 'manual'],
    ['git_commit', undefined, 'manual'],
    ['git_push', { upstreamHasHead: true }, 'skip_step'],
    ['git_push', { upstreamHasHead: false }, 'retry_step'],
    ['git_push', {}, 'manual'],
    ['pr', { pullRequest: true }, 'skip_step'],
    ['git_pr', { pullRequest: false }, 'retry_step'],
    ['git_pr', {}, 'manual'],
    ['git_tag', { commitsOfAttempt: [], upstreamHasHead: true, pullRequest: true }, 'manual'],
  ])('%s with %j: %s', (name, git, action) => {
    const made = plan(running({ name, type: 'git', idempotent: true }), git === undefined ? {} : { git });
    expect(made.action).toBe(action);
    expect(considered(made)).toEqual(['waiting', 'initializing', 'validation', 'git!']);
  });

  it('names the commit that was made', () => {
    const git = { commitsOfAttempt: ['0123456789abcdef0123'], clean: true };
    expect(plan(running({ name: 'commit', type: 'git' }), { git }).reason).toContain('0123456789ab ');
  });
});

describe('rule 5: a recent checkpoint', () => {
  it.each(['ai', 'sdd', 'verify', 'loop'] as const)('is resumed from in an %s step', (type) => {
    const driver = running({ type }).send(CHECKPOINT);
    const made = plan(driver);
    expect(made.action).toBe('retry_from_checkpoint');
    expect(made.checkpoint?.checkpoint_id).toBe(driver.current.checkpoints[0]?.checkpoint_id);
    expect(made.reason).toContain(made.checkpoint?.checkpoint_id);
    expect(considered(made)).toEqual(['waiting', 'initializing', 'validation', 'git', 'attempts', 'checkpoint!']);
  });

  it('is under ten minutes old at the last sign of life, however late the crash was found', () => {
    const driver = running().send(CHECKPOINT);
    expect(plan(driver, {}, driver.now + 10 * MINUTE - 1).action).toBe('retry_from_checkpoint');
    expect(plan(driver, {}, driver.now + 10 * MINUTE).action).toBe('manual');
    const finding: CrashFinding = { kind: 'crashed', type: 'timeout', cause: 'silence', lastSign: driver.now + MINUTE };
    const found = toTimestamp(driver.now + 30 * 24 * 60 * MINUTE);
    const written = recoveryContext(driver.current, finding, plan(driver, {}, finding.lastSign), {}, found);
    expect(written).toMatchObject({ detected_at: found, recommended_action: 'retry_from_checkpoint' });
    expect(written.details).toMatchObject({ last_sign_of_life: toTimestamp(finding.lastSign) });
  });

  it('is one of this attempt', () => {
    const driver = running().send(CHECKPOINT);
    driver.send(
      { type: 'crash_detected', recovery: recoveryOf(driver.current) },
      { type: 'retry_step' },
      { type: 'start_step' },
    );
    const made = plan(driver);
    expect(made.action).toBe('manual');
    expect(made.considered.find(({ rule }) => rule === 'checkpoint')?.why).toContain('no checkpoint');
    expect(made.checkpoint).toBeDefined();
  });

  it.each(['human', 'ci', 'validation'] as const)("isn't resumed from in a %s step", (type) => {
    const driver = running({ type });
    if (type === 'human') driver.leftIn('step_running');
    expect(plan(driver.send(CHECKPOINT)).action).toBe('manual');
  });
});

describe('rules 6 and 7', () => {
  it('repeat an idempotent step', () => {
    const made = plan(running({ idempotent: true }));
    expect(made.action).toBe('retry_step');
    expect(considered(made).at(-1)).toBe('idempotent!');
  });

  it('leave anything else to a human, and say what is uncertain', () => {
    const made = plan(running());
    expect(made.action).toBe('manual');
    expect(considered(made)).toEqual([
      'waiting',
      'initializing',
      'validation',
      'git',
      'attempts',
      'checkpoint',
      'idempotent',
      'otherwise!',
    ]);
    expect(made.reason).toContain('It is unknown');
  });

  it('leave a step whose attempts are spent to a human, checkpoint or not', () => {
    const made = plan(running({ maxAttempts: 1, idempotent: true }).send(CHECKPOINT));
    expect(made).toMatchObject({ action: 'manual', rule: 'attempts' });
    expect(made.reason).toContain('no attempts left (1 of 1 used)');
  });

  it('leave a git step that was not done to a human too when no attempt is left, but not one that was', () => {
    const step = { name: 'git_push', type: 'git', maxAttempts: 1 } as const;
    const undone = plan(running(step), { git: { upstreamHasHead: false } });
    expect(undone).toMatchObject({ action: 'manual', rule: 'attempts' });
    expect(undone.considered.find(({ rule }) => rule === 'git')?.why).toContain('does not contain HEAD');
    expect(plan(running(step), { git: { upstreamHasHead: true } })).toMatchObject({ action: 'skip_step', rule: 'git' });
  });
});

describe('what is written about a crash', () => {
  const finding: CrashFinding = { kind: 'crashed', type: 'signal', cause: 'agent_killed', lastSign: 0 };
  const write = (
    hook: TaskRecord,
    driver: Driver,
    evidence: RecoveryEvidence = {},
  ): ReturnType<typeof recoveryContext> =>
    recoveryContext(hook, finding, plan(driver, evidence), evidence, toTimestamp(driver.now));

  it('holds state, cause, rule, what was considered, git and files', () => {
    const driver = running().send(CHECKPOINT);
    const git = { clean: true };
    const written = write(driver.current, driver, { git, drift: [{ path: 'a.ts', kind: 'changed' }] });
    expect(written).toMatchObject({
      crash_type: 'signal',
      last_known_state: 'step_running',
      was_validating: false,
      last_checkpoint_id: driver.current.checkpoints[0]?.checkpoint_id,
      details: { cause: 'agent_killed', rule: 'checkpoint', git, files: [{ path: 'a.ts', state: 'changed' }] },
    });
    expect(written).not.toHaveProperty('validation_cmd');
    driver.send({ type: 'crash_detected', recovery: written });
    expect(driver.current.recovery).toEqual(written);
  });

  it('names the running command and the end of its output, not those of an earlier round', () => {
    const driver = running({ commands: ['npm test'] }).send({ type: 'step_output' });
    driver.send(reserveOf('r', 'npm test'));
    const first = write(driver.current, driver, { partialOutput: 'x'.repeat(900) });
    expect(first).toMatchObject({ was_validating: true, validation_cmd: 'npm test', partial_output: 'x'.repeat(500) });
    driver.send({ type: 'validate_fail', reason: 'x' }, { type: 'human_resume' }, { type: 'step_output' });
    expect(write(driver.current, driver)).not.toHaveProperty('validation_cmd');
  });
});
