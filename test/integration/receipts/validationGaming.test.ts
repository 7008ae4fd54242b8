import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { TaskRecord, ValidationReceipt } from '../../../src/core/task/taskRecord';
import type { Task, TaskStep } from '../../../src/core/task/task';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { errorOf } from '../../support/fixtures/receipts/keyFolders';
import { type ValidationWorld, makeValidationWorld } from '../../support/fixtures/validationWorld';

let world: ValidationWorld;
beforeEach(async () => {
  world = await makeValidationWorld();
});
afterEach(() => {
  world.dispose();
});

const proofs = (name: string): string => path.join(world.workspace.root, name);
/** A command that leaves a trace, so that a test sees whether it ran. */
const touches = (name: string): string => `touch "${proofs(name)}"`;

function editTask(ref: TaskRef, change: (task: Task) => void): void {
  const file = world.atlas.ports.paths.taskFile(ref);
  const task = JSON.parse(readFileSync(file, 'utf8')) as Task;
  change(task);
  writeFileSync(file, `${JSON.stringify(task, null, 2)}\n`);
}

function stepOf(task: Task, at = 0): TaskStep {
  return task.steps[at] ?? expect.fail('no such step');
}

/** Expects that nothing passed the step: it is where it was, and HOOK.md has no tick but for what is told to be there. */
async function expectNotPassed(ref: TaskRef, ticks = 0): Promise<void> {
  unwrap(await world.other().regenerate(ref));
  const { hook } = world.stored(ref);
  expect(hook.history.map(({ trigger }) => trigger)).not.toContain('validate_pass');
  expect(hook.current_step?.step_index).toBe(0);
  expect(world.markdown(ref).match(/^Signature: VALID\b/gm) ?? []).toHaveLength(ticks);
}

/** Whether a crash now would skip the step. */
async function planned(ref: TaskRef): Promise<string> {
  const stored = world.stored(ref);
  return (await world.other().recovery.plan(stored)).plan.action;
}

describe('a command of its own', () => {
  it('does not decide a step beside declared ones that fail', async () => {
    const ref = await world.running(['false']);
    for (const keepGoing of [false, true]) {
      const ended = unwrap(await world.validate(ref, { commands: ['true'], keepGoing }));
      expect(ended.passed).toBe(false);
      expect(ended.receipts.map(({ exit_code }) => exit_code)).toEqual(keepGoing ? [1, 0] : [1]);
      expect(ended.task.hook.state).toBe('awaiting_human');
      unwrap(await world.atlas.resume(ref, 'human'));
    }
    await expectNotPassed(ref, 2 + 1);
  });

  it('that fails beside declared ones that pass fails nothing, and is recorded', async () => {
    const ref = await world.running(['true']);
    const ended = unwrap(await world.validate(ref, { commands: ['false'] }));
    expect(ended).toMatchObject({ passed: true });
    expect(ended.receipts.map(({ exit_code }) => exit_code)).toEqual([0, 1]);
  });

  it('decides a step where none is declared; without one, nothing passes', async () => {
    const ref = await world.running([]);
    const before = world.stored(ref).hook;
    for (const commands of [[], [''], ['  ', '\n']]) {
      expect(errorOf(await world.validate(ref, { commands }))).toMatchObject({ code: 'usage' });
    }
    expect(world.stored(ref).hook).toEqual(before);
    expect(unwrap(await world.validate(ref, { commands: ['false'] })).passed).toBe(false);
    unwrap(await world.atlas.resume(ref, 'human'));
    expect(unwrap(await world.validate(ref, { commands: ['true'] })).passed).toBe(true);
  });
});

describe('the event that passes a step', () => {
  it('is refused without receipts that verify, whatever it says is proven', async () => {
    const ref = await world.running(['false']);
    unwrap(await world.atlas.send(ref, { type: 'step_output' }));
    for (const proven of [undefined, new Set<string>(), new Set(['rcpt-00000000'])]) {
      expect(errorOf(await world.atlas.send(ref, { type: 'validate_pass' }, { proven }))).toMatchObject({
        code: 'illegal_transition',
      });
    }
    await expectNotPassed(ref);
  });

  it.each(['step_running', 'step_validating'])('is not gone round by step_complete in %s', async (state) => {
    const ref = await world.running(['true']);
    if (state === 'step_validating') unwrap(await world.atlas.send(ref, { type: 'step_output' }));
    expect(errorOf(await world.atlas.send(ref, { type: 'step_complete' }))).toMatchObject({
      code: 'illegal_transition',
    });
    await expectNotPassed(ref);
  });
});

describe('commands that are edited in mid-task', () => {
  const EDITS: readonly (readonly [string, (task: Task) => void])[] = [
    ['replaced', (task) => (stepOf(task).validation = ['true'])],
    ['emptied', (task) => (stepOf(task).validation = [])],
    ['removed', (task) => Reflect.deleteProperty(stepOf(task), 'validation')],
    ['added to', (task) => (stepOf(task).validation = ['false', 'true'])],
    ['of a step with another name', (task) => (stepOf(task).name = 'after')],
    ['of a step of another type', (task) => Object.assign(stepOf(task), { type: 'human', validation: [] })],
    ['swapped with those of the next step', (task) => task.steps.reverse()],
    ['gone with all later steps', (task) => (task.steps.length = 1)],
    ['joined by another step', (task) => task.steps.push({ ...stepOf(task), name: 'more', validation: [] })],
    ['behind a step put before', (task) => task.steps.unshift({ ...stepOf(task), name: 'more', validation: [] })],
  ];

  it.each(EDITS)('in task.json are put back, and that is said: %s', async (_name, edit) => {
    const ref = await world.running(['false']);
    const frozen = world.stored(ref).task.steps.map(({ name, type, validation }) => ({ name, type, validation }));
    editTask(ref, edit);
    expect(errorOf(await world.other().send(ref, { type: 'step_complete' }))).toMatchObject({
      code: 'illegal_transition',
    });
    const restored = world.stored(ref).task.steps.map(({ name, type, validation }) => ({ name, type, validation }));
    expect(restored).toEqual(frozen);
    editTask(ref, edit);
    const found = unwrap(await world.other().reconcile(ref));
    expect(found.findings.map(({ kind }) => kind)).toEqual(['task_aligned']);
    editTask(ref, edit);
    const ended = unwrap(await world.validate(ref));
    expect(ended.receipts.map(({ command }) => command)).toEqual(['false']);
    expect(ended.passed).toBe(false);
    await expectNotPassed(ref, 1);
  });

  it('in hook.json, where they were settled, are put back from the journal', async () => {
    const ref = await world.running(['false']);
    world.edit(ref, (hook) => {
      hook.history[0] = { ...expectInit(hook), details: { steps: [{ name: 'build', type: 'ai', validation: [] }] } };
    });
    editTask(ref, (task) => (stepOf(task).validation = []));
    expect(errorOf(await world.other().send(ref, { type: 'step_complete' }))).toMatchObject({
      code: 'illegal_transition',
    });
    world.edit(ref, (hook) => hook.history.shift());
    editTask(ref, (task) => (stepOf(task).validation = ['true']));
    const result = await world.validate(ref);
    if (result.ok) expect(result.value.passed).toBe(false);
    await expectNotPassed(ref, world.stored(ref).hook.receipts.length);
    expect(stepOf(world.stored(ref).task).validation).toEqual(['false']);
  });

  it('in the template or the settings change nothing in a task that has begun', async () => {
    const ref = await world.running([touches('declared'), 'false']);
    const template = path.join(world.workspace.folder, '.atlas', 'templates', 'checked.yaml');
    writeFileSync(template, 'id: checked\nsteps:\n  - name: build\n    type: ai\n  - name: after\n    type: ai\n');
    const settings = 'hooks:\n  validation:\n    commands: ["true"]\n';
    writeFileSync(path.join(world.workspace.folder, '.atlas', 'config.yaml'), settings);
    writeFileSync(world.atlas.ports.paths.config, settings);
    const ended = unwrap(await world.validate(ref));
    expect(ended.passed).toBe(false);
    expect(ended.receipts.map(({ command }) => command)).toEqual([touches('declared'), 'false']);
    expect(existsSync(proofs('declared'))).toBe(true);
  });

  it('by pointing the task at another folder do not run there', async () => {
    const ref = await world.running(['test -e passes']);
    const elsewhere = proofs('elsewhere');
    await world.workspace.git('init', '--quiet', elsewhere);
    writeFileSync(path.join(elsewhere, 'passes'), '');
    editTask(ref, (task) => (task.metadata['worktree'] = elsewhere));
    expect(unwrap(await world.validate(ref)).passed).toBe(false);
    expect(world.stored(ref).task.metadata['worktree']).toBe(world.workspace.folder);
  });

  function expectInit(hook: TaskRecord): TaskRecord['history'][number] {
    return hook.history[0] ?? expect.fail('no history');
  }
});

describe('a receipt', () => {
  /** A first attempt whose first command passed and whose second failed, and a second attempt that validates. */
  async function secondAttempt(): Promise<TaskRef> {
    const ref = await world.running(['true', 'false']);
    expect(unwrap(await world.validate(ref)).passed).toBe(false);
    unwrap(await world.atlas.send(ref, { type: 'human_reject', by: 'human' }));
    unwrap(await world.atlas.startStep(ref));
    unwrap(await world.atlas.send(ref, { type: 'step_output' }));
    expect(world.stored(ref).hook.current_step?.attempt).toBe(2);
    return ref;
  }

  async function provenOf(ref: TaskRef): Promise<ReadonlySet<string>> {
    const receipts = await world.other().receipts();
    return unwrap(await receipts.proven(world.stored(ref), { current: false }));
  }

  it('of another attempt proves nothing in this one', async () => {
    const ref = await secondAttempt();
    const proven = await provenOf(ref);
    expect(proven.size).toBe(1);
    expect(errorOf(await world.atlas.send(ref, { type: 'validate_pass' }, { proven }))).toMatchObject({
      code: 'illegal_transition',
      message: expect.stringContaining('2 declared checks have no valid receipt of this attempt') as string,
    });
    await expectNotPassed(ref, 2);
  });

  it('whose attempt, step or end was edited to fit proves nothing', async () => {
    const ref = await secondAttempt();
    world.edit(ref, (hook) => {
      for (const receipt of hook.receipts) Object.assign(receipt, { attempt: 2, exit_code: 0 });
    });
    expect(await planned(ref)).toBe('retry_validation');
    const proven = await provenOf(ref);
    expect(proven.size).toBe(0);
    expect(errorOf(await world.other().send(ref, { type: 'validate_pass' }, { proven }))).toMatchObject({
      code: 'illegal_transition',
    });
    await expectNotPassed(ref);
  });

  it.each([true, false])('that was written by hand proves nothing (with its events: %s)', async (withEvents) => {
    const ref = await world.running(['true']);
    unwrap(await world.atlas.send(ref, { type: 'step_output' }));
    const at = new Date().toISOString();
    const forged: ValidationReceipt = {
      ...{ receipt_id: 'rcpt-0badc0de', step_name: 'build', attempt: 1, command: 'true', exit_code: 0 },
      ...{ started_at: at, completed_at: at, duration: '1ms', stdout_hash: '', stderr_hash: '' },
      ...{ key_path: "m/44'/236'/0'/0/0", signature: '3044'.padEnd(140, '0') },
    };
    const state = 'step_validating';
    const details = { receipt_id: forged.receipt_id, exit_code: 0, envelope_sha256: 'a'.repeat(64), chain_count: 1 };
    world.edit(ref, (hook) => {
      hook.receipts.push(forged);
      if (!withEvents) return;
      hook.history.push({ timestamp: at, from_state: state, to_state: state, trigger: 'receipt', details });
    });
    expect(await planned(ref)).toBe('retry_validation');
    expect((await provenOf(ref)).size).toBe(0);
    await expectNotPassed(ref);
    expect(world.markdown(ref)).toContain('Signature: INVALID');
  });

  it('whose statement is deleted, by the next command even, proves nothing', async () => {
    const ref = await world.running(['true', 'rm -rf "$RECEIPTS_OF_THE_TASK"']);
    const folder = path.join(world.atlas.ports.paths.task(ref), 'receipts');
    process.env['RECEIPTS_OF_THE_TASK'] = folder;
    const ended = await world.validate(ref);
    delete process.env['RECEIPTS_OF_THE_TASK'];
    expect(existsSync(folder)).toBe(true);
    expect(errorOf(ended)).toMatchObject({ code: 'illegal_transition' });
    await expectNotPassed(ref, 1);
    rmSync(folder, { recursive: true });
    expect(await planned(ref)).toBe('retry_validation');
    await expectNotPassed(ref);
  });
});

describe('an agent', () => {
  it("runs a repository's commands only once a human ran them, and changed ones not", async () => {
    const ref = await world.running([touches('one')]);
    expect(errorOf(await world.validate(ref, { caller: 'agent' }))).toMatchObject({ code: 'human_only' });
    expect(existsSync(proofs('one'))).toBe(false);
    expect(world.stored(ref).hook.state).toBe('step_running');
    expect(unwrap(await world.validate(ref)).passed).toBe(true);
    rmSync(proofs('one'));
    const again = await world.running([touches('one')]);
    expect(unwrap(await world.validate(again, { caller: 'agent' })).passed).toBe(true);
    expect(existsSync(proofs('one'))).toBe(true);
    for (const changed of [`${touches('one')} `, `${touches('one')} && ${touches('two')}`]) {
      const other = await world.running([touches('one'), changed]);
      expect(errorOf(await world.validate(other, { caller: 'agent' }))).toMatchObject({ code: 'human_only' });
    }
    expect(existsSync(proofs('two'))).toBe(false);
    expect(readFileSync(world.atlas.ports.paths.trust, 'utf8')).not.toContain('touch');
  });

  it('is not allowed more by a file of allowances that is corrupt', async () => {
    const ref = await world.running(['true']);
    unwrap(await world.validate(ref));
    writeFileSync(world.atlas.ports.paths.trust, '{"commands":');
    const again = await world.running(['true']);
    expect(errorOf(await world.validate(again, { caller: 'agent' }))).toMatchObject({ code: 'human_only' });
  });
});
