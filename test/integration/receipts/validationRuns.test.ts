import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { TaskInput } from '../../../src/core/transition/events';
import type { Validated } from '../../../src/service/receipts/validationService';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { errorOf } from '../../support/fixtures/receipts/keyFolders';
import { until } from '../../support/drivers/taskFiles';
import { type ValidationWorld, makeValidationWorld } from '../../support/fixtures/validationWorld';
import { WorkerPool } from '../../support/processes/workerPool';

let world: ValidationWorld;
beforeEach(async () => {
  world = await makeValidationWorld();
});
afterEach(() => {
  world.dispose();
});

const trace = (name: string): string => path.join(world.workspace.root, name);
const touches = (name: string): string => `touch "${trace(name)}"`;
const sinceStart = (ref: TaskRef): string[] => {
  const triggers = world.stored(ref).hook.history.map(({ trigger }) => trigger);
  return triggers.slice(triggers.lastIndexOf('start_step') + 1);
};

async function expectAllValid(ref: TaskRef): Promise<void> {
  const reports = await world.reports(ref);
  expect(reports.length).toBeGreaterThan(0);
  expect(reports.map(({ verdict }) => verdict)).toEqual(reports.map(() => 'valid'));
}

describe('a validation', () => {
  it('submits the output of a running step, runs, and tells the history so', async () => {
    const ref = await world.running(['echo one', 'echo two >&2']);
    unwrap(await world.validate(ref));
    const each = ['validation_command', 'receipt'];
    expect(sinceStart(ref).filter((trigger) => trigger !== 'checkpoint')).toEqual([
      'step_output',
      ...each,
      ...each,
      'validate_pass',
    ]);
    const { hook } = world.stored(ref);
    expect(hook.checkpoints.map(({ trigger }) => trigger)).toContain('validation');
    expect(hook.current_step).toMatchObject({ step_name: 'after', step_index: 1 });
  });

  it('is shown as the example of the design shows it: id, step, command, exit code, key path, VALID', async () => {
    const ref = await world.running(['echo lint']);
    const [receipt] = unwrap(await world.validate(ref)).receipts;
    const [report] = await world.reports(ref);
    expect(report).toMatchObject({ receiptId: receipt?.receipt_id, verdict: 'valid', keyPath: "m/44'/236'/0'/0/0" });
    expect(report?.text).toBe(
      [receipt?.receipt_id, 'echo lint', 0, receipt?.stdout_hash, receipt?.stderr_hash].join('|') +
        `|${Math.floor(Date.parse(receipt?.completed_at ?? '') / 1000)}`,
    );
    const section = world.markdown(ref).split('### Receipt ')[1] ?? '';
    for (const line of [
      `\`${receipt?.receipt_id ?? ''}\` (build step, attempt 1)`,
      'Command: echo lint',
      'Exit Code: 0',
      "Signature: VALID ✓ (verified with HD key m/44'/236'/0'/0/0)",
    ]) {
      expect(section).toContain(line);
    }
  });

  it('says what ran and where, and hashes what was said', async () => {
    const ref = await world.running(['printf "a\\nb"; printf c >&2']);
    const [receipt] = unwrap(await world.validate(ref)).receipts;
    const [report] = await world.reports(ref);
    const { predicate, subject } = report?.statement ?? expect.fail('no statement');
    expect(predicate).toMatchObject({
      ...{ result: 'PASSED', passedTests: [receipt?.command], receipt: { ...receipt } },
      task: { workspace_id: ref.workspace, task_id: ref.id, step_index: 0 },
      run: { working_directory: '.', ended: 'exit', stdout_bytes: 3, stderr_bytes: 1 },
      tree: { changed: [], changed_count: 0, branch: 'main' },
      chain: { sequence: 1, previous: null },
    });
    expect(predicate.run.argv.at(-1)).toContain('printf');
    expect(predicate.repository).toEqual({
      roots: [await world.workspace.git('rev-list', '--max-parents=0', 'HEAD')],
      folder: '.',
    });
    expect(predicate.tree.before).toBe(predicate.tree.after);
    expect(predicate.tree.head).toBe(await world.workspace.git('rev-parse', 'HEAD'));
    expect(await world.workspace.git('rev-parse', 'HEAD^{tree}')).toBe(predicate.tree.after);
    expect(subject.map(({ name }) => name)).toEqual(['worktree before', 'worktree after']);
    // As sha256sum says of "a\nb" and "c".
    expect(receipt?.stdout_hash).toBe('7e18f737311b2dc3b2f269dd78396b0351f14fb66efa879f768cb23181883c78');
    expect(receipt?.stderr_hash).toBe('2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6');
    const kept = path.join(world.atlas.ports.paths.artifacts(ref), 'validation', `${receipt?.receipt_id ?? ''}.stdout`);
    expect(readFileSync(kept, 'utf8')).toBe('a\nb');
  });

  it('that fails stops at the first failure, says why, and waits for a human', async () => {
    const ref = await world.running(['true', 'exit 3', touches('third')]);
    const ended = unwrap(await world.validate(ref));
    expect(ended).toMatchObject({ passed: false, reason: '"exit 3" exited with code 3.' });
    expect(ended.receipts.map(({ exit_code }) => exit_code)).toEqual([0, 3]);
    expect(existsSync(trace('third'))).toBe(false);
    const { hook } = world.stored(ref);
    expect(hook.state).toBe('awaiting_human');
    expect(hook.history.at(-1)).toMatchObject({
      trigger: 'validate_fail',
      details: { message: ended.reason, receipt_id: ended.receipts[1]?.receipt_id },
    });
    await expectAllValid(ref);
    const failed = (await world.reports(ref))[1];
    expect(failed?.statement?.predicate).toMatchObject({ result: 'FAILED', failedTests: ['exit 3'] });
    expect(world.markdown(ref)).toContain('Exit Code: 3 (FAILED)');
  });

  it('goes on after a failure if told so, and fails for the first one', async () => {
    const ref = await world.running(['exit 3', 'exit 4', touches('third')]);
    const ended = unwrap(await world.validate(ref, { keepGoing: true }));
    expect(ended).toMatchObject({ passed: false, reason: '"exit 3" exited with code 3.' });
    expect(ended.receipts.map(({ exit_code }) => exit_code)).toEqual([3, 4, 0]);
    expect(existsSync(trace('third'))).toBe(true);
  });

  it('ends a command that takes too long: the receipt says so', async () => {
    const ref = await world.running(['sleep 60', touches('next')], 'hooks:\n  validation:\n    timeout: 1s\n');
    const result = unwrap(await world.validate(ref, { keepGoing: false }));
    expect(result.passed).toBe(false);
    expect(result.reason).toMatch(/it exceeded validation\.timeout/);
    expect(result.receipts[0]?.exit_code).toBe(143);
    expect(existsSync(trace('next'))).toBe(false);
    const [report] = await world.reports(ref);
    expect(report?.statement?.predicate).toMatchObject({
      result: 'FAILED',
      run: { ended: 'timeout', signal: 'SIGTERM' },
    });
    await expectAllValid(ref);
  });

  it('of a command that kills itself says by what', async () => {
    const ref = await world.running(['kill -KILL $$']);
    const result = unwrap(await world.validate(ref));
    expect(result.reason).toMatch(/was killed by SIGKILL \(exit code 137\)/);
    expect(result.receipts[0]?.exit_code).toBe(137);
  });

  it.each([false, true])(
    'that is cancelled fails with a receipt, and runs no more (keep going: %s)',
    async (keepGoing) => {
      const ref = await world.running(['echo ready; sleep 60', touches('next')]);
      const abort = new AbortController();
      const watch = { onOutput: () => abort.abort() };
      const result = unwrap(await world.validate(ref, { signal: abort.signal, watch, keepGoing }));
      expect(result.reason).toMatch(/was cancelled after/);
      expect(result.receipts.map(({ exit_code }) => exit_code)).toEqual([143]);
      expect(existsSync(trace('next'))).toBe(false);
      expect(world.stored(ref).hook.state).toBe('awaiting_human');
      expect((await world.reports(ref))[0]?.statement?.predicate.run.ended).toBe('cancelled');
      await expectAllValid(ref);
    },
  );
});

describe('a validation that is cancelled before its command began', () => {
  it('has a receipt that says so, and nothing ran', async () => {
    const ref = await world.running([touches('ran')]);
    const result = unwrap(await world.validate(ref, { signal: AbortSignal.abort() }));
    expect(result.receipts.map(({ exit_code }) => exit_code)).toEqual([130]);
    expect(existsSync(trace('ran'))).toBe(false);
    expect((await world.reports(ref))[0]?.statement?.predicate).toMatchObject({
      result: 'FAILED',
      run: { ended: 'cancelled', stdout_bytes: 0 },
    });
  });
});

describe('a validation that is refused', () => {
  async function expectRefused(ref: TaskRef, result: Promise<unknown>, code: string): Promise<void> {
    const before = readFileSync(world.atlas.ports.paths.hook(ref), 'utf8');
    expect(errorOf((await result) as never)).toMatchObject({ code });
    expect(readFileSync(world.atlas.ports.paths.hook(ref), 'utf8')).toBe(before);
    expect(existsSync(trace('ran'))).toBe(false);
  }

  const STATES: readonly (readonly [string, readonly TaskInput[]])[] = [
    [
      'step_pending',
      [
        { type: 'human_required', kind: 'review' },
        { type: 'human_reject', by: 'human' },
      ],
    ],
    ['awaiting_human', [{ type: 'human_required', kind: 'review' }]],
    ['abandoned', [{ type: 'abandon', by: 'human' }]],
    ['failed', [{ type: 'fail', by: 'human' }]],
  ];
  it.each(STATES)('in %s has run nothing', async (state, inputs) => {
    const ref = await world.running([touches('ran')]);
    for (const input of inputs) unwrap(await world.atlas.send(ref, input));
    expect(world.stored(ref).hook.state).toBe(state);
    await expectRefused(ref, world.validate(ref), 'illegal_transition');
  });

  it.each([{ step: 'after' }, { attempt: 2 }, { step: 'build', attempt: 7 }])(
    'by a caller that is not where the task is has run nothing: %o',
    async (expected) => {
      const ref = await world.running([touches('ran')]);
      await expectRefused(ref, world.validate(ref, { expect: expected }), 'stale_caller');
      unwrap(await world.validate(ref, { expect: { step: 'build', attempt: 1 } }));
    },
  );

  it('of a task that is not there', async () => {
    const result = await world.validate({ workspace: 'nowhere', id: 'task-20260101-000000' });
    expect(errorOf(result)).toMatchObject({ code: 'not_found' });
  });

  it('while another runs has run nothing; afterwards it may', async () => {
    const gate = trace('gate');
    const ref = await world.running([`until test -e "${gate}"; do sleep 0.05; done`, touches('ran')]);
    const first = world.validate(ref);
    await until('the first one runs', () => world.stored(ref).hook.history.at(-1)?.trigger === 'validation_command');
    for (const each of [world.atlas, world.other()]) {
      const options = { signal: new AbortController().signal, caller: 'human' as const };
      await expectRefused(ref, each.validate(ref, options), 'illegal_transition');
    }
    writeFileSync(gate, '');
    expect(unwrap(await first).passed).toBe(true);
  });
});

describe('a process that dies while it validates', () => {
  let pool: WorkerPool;
  beforeAll(async () => {
    pool = await WorkerPool.open();
  });
  afterAll(async () => {
    await pool.close();
  });

  /** Validates in another process, which dies once it has recorded so many receipts. */
  async function dies(commands: readonly string[], receipts: number): Promise<TaskRef> {
    const ref = await world.running(commands);
    const home = world.workspace.atlasHome;
    const worker = pool.start('validate', home, [ref.workspace, ref.id, String(receipts)], world.workspace.env);
    expect(await worker.ended).toMatchObject({ signal: 'SIGKILL' });
    const { hook } = world.stored(ref);
    expect(hook.state).toBe('step_validating');
    expect(hook.receipts).toHaveLength(receipts);
    const found = unwrap(await world.atlas.recovery.detect(world.stored(ref)));
    expect(found).toMatchObject({ recorded: true, diagnosis: { kind: 'crashed', cause: 'validation_died' } });
    return ref;
  }

  const planned = (ref: TaskRef): string | undefined => world.stored(ref).hook.recovery?.recommended_action;

  it('with all commands proven on the present files lets the step be passed', async () => {
    const ref = await dies(['true', 'echo two'], 2);
    expect(planned(ref)).toBe('skip_step');
    const recovered = unwrap(await world.atlas.recover(ref));
    expect(recovered.hook).toMatchObject({ state: 'step_pending', current_step: { step_index: 1 } });
    await expectAllValid(ref);
  });

  it('with a command that had not run yet has the validation run again', async () => {
    const ref = await dies(['true', 'echo two'], 1);
    expect(planned(ref)).toBe('retry_validation');
    expect(unwrap(await world.atlas.recover(ref)).hook.state).toBe('step_validating');
    const again: Validated = unwrap(await world.validate(ref));
    expect(again.passed).toBe(true);
    expect(world.stored(ref).hook.receipts.map(({ key_path }) => key_path?.split('/').at(-1))).toEqual(['0', '1', '2']);
    await expectAllValid(ref);
  });

  it('with a file edited since has the validation run again', async () => {
    const ref = await dies(['true'], 1);
    expect(planned(ref)).toBe('skip_step');
    // The plan was made before; what counts is what is true when it is applied.
    writeFileSync(path.join(world.workspace.folder, 'README.md'), 'edited\n');
    expect((await world.atlas.recovery.plan(world.stored(ref))).plan.action).toBe('retry_validation');
    expect(unwrap(await world.atlas.recover(ref)).hook.state).toBe('step_validating');
  });

  it('with a command that failed does not pass the step', async () => {
    const ref = await dies(['true', 'false'], 2);
    expect(planned(ref)).toBe('retry_validation');
  });
});
