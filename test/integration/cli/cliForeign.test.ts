import { appendFileSync, cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { BuiltCli } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';

/* Tasks that other programs left in the store: shown for what they are, and never written to. */

let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterAll(() => {
  cli.dispose();
});

const FOREIGN = 'task-foreign';

/** A folder of a task with a hook.json and no task.json, and without a marker, as another program would leave it. */
function foreign(desk: Desk, { workspace, id }: TaskRef): TaskRef {
  const ref = { workspace, id: FOREIGN };
  const hook = readFileSync(desk.fileOf({ workspace, id }, 'hook.json'), 'utf8');
  cpSync(desk.fileOf({ workspace, id }, '.'), desk.fileOf(ref, '.'), { recursive: true });
  for (const name of ['task.json', 'journal.jsonl', 'HOOK.md', 'locks'])
    rmSync(desk.fileOf(ref, name), { recursive: true, force: true });
  writeFileSync(desk.fileOf(ref, 'hook.json'), hook.replaceAll(id, FOREIGN));
  return ref;
}

describe('a task with a hook.json and no task.json', () => {
  const said = `Task ${FOREIGN} has a hook.json, but no task.json.`;

  it('is shown as damaged, with what to do, beside another one and alone, and nothing is written', async () => {
    const desk = new Desk(cli, 'no task file');
    const ref = await desk.running();
    foreign(desk, ref);
    const before = desk.digest();
    const beside = await desk.run('status');
    expect(beside.code).toBe(0);
    expect(beside.out).toContain(ref.id);
    expect(beside.err).toContain(`${said} To see what to do, run: atlas doctor`);
    expect(await desk.json('status')).toMatchObject({
      task: { task_id: ref.id },
      unreadable_tasks: [{ task_id: FOREIGN, code: 'damaged', message: said }],
    });
    for (const args of [['status'], ['hook', 'show'], ['step', 'start'], ['checkpoint', 'x'], ['validate']]) {
      const named = await desk.run(...args, '--task', FOREIGN);
      expect(named, args.join(' ')).toMatchObject({ code: 7, out: '' });
      expect(named.err).toContain(said);
      expect(named.err).toContain('Restore task.json from a backup');
    }
    const listed = await desk.run('workspace', 'list');
    expect(listed).toMatchObject({ code: 0 });
    expect(listed.err).toContain(said);
    for (const args of [['doctor'], ['doctor', '--fix']]) {
      const checked = await desk.run(...args);
      expect(checked.code).toBe(1);
      expect(checked.out.replaceAll(/\s+/gu, ' ')).toContain(`${said} → Restore the file from a backup`);
    }
    expect(desk.digest()).toBe(before);

    // Alone in its workspace.
    rmSync(desk.fileOf(ref, '.'), { recursive: true });
    rmSync(path.join(desk.root, 'open'), { recursive: true });
    const left = desk.digest();
    const alone = await desk.run('status');
    expect(alone).toMatchObject({ code: 7, out: '' });
    expect(alone.err).toContain(said);
    expect(desk.digest()).toBe(left);
  });

  it('is reported by the doctor though it has ended', async () => {
    const desk = new Desk(cli, 'no task file, ended');
    const ref = await desk.started();
    await desk.ok('abandon');
    renameSync(desk.fileOf(ref, 'task.json'), path.join(desk.folder, 'task.json'));
    const checked = await desk.run('doctor');
    expect(checked.code).toBe(1);
    expect(checked.out).toContain('has a hook.json, but no task.json.');
  });
});

/** Makes one of a task's files one of the next major version, with a field that nobody knows yet. */
function newer(desk: Desk, ref: TaskRef, name: 'hook.json' | 'task.json'): void {
  const file = desk.fileOf(ref, name);
  const data = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  const version = { ...('version' in data ? { version: '2.0' } : {}), schema_version: '2.0' };
  writeFileSync(file, JSON.stringify({ ...data, ...version, of_the_future: [1] }));
}

describe.each(['hook.json', 'task.json'] as const)('a task whose %s is of a newer version', (name) => {
  it('is shown as far as it is understood, and nothing else: no command writes a byte', async () => {
    const desk = new Desk(cli, `newer ${name}`);
    // Long silent: otherwise reading it would record the interruption.
    const ref = await desk.running('task', 'Sample', 3_600_000);
    newer(desk, ref, name);
    // A write that was interrupted, which a change would cut off.
    appendFileSync(desk.fileOf(ref, 'journal.jsonl'), '{"seq":');
    const markdown = desk.hookMarkdown(ref);
    const before = desk.digest();
    const why = `${name} has schema version 2.0, but this version of Atlas supports 1.0. Update Atlas. Until then, the task is read-only.`;
    const shown = await desk.run('status');
    expect(shown.code).toBe(0);
    expect(shown.out).toMatch(/^Task: +\S+ {2}Sample$/mu);
    expect(shown.out).toMatch(/^State: +Running \(implement, step 1 of 8/mu);
    expect(shown.out).toMatch(/^Next: +Update Atlas$/mu);
    expect(shown.out).not.toMatch(/^(Run|When Done):/mu);
    expect(shown.err).toContain(why);
    expect(await desk.json('status')).toMatchObject({ task: { state: 'step_running' }, next_command: null });
    expect(await desk.run('hook', 'show')).toMatchObject({ code: 0, out: markdown });
    for (const args of [
      ['hook', 'checkpoints'],
      ['receipts', 'list'],
    ]) {
      const listed = await desk.run(...args);
      expect(listed.code, args.join(' ')).toBe(0);
      expect(listed.err).toContain(why);
    }
    const listed = await desk.run('workspace', 'list');
    expect(listed.out).toMatch(/ 1 +1 /u);
    expect(listed.err).toContain('has schema version 2.0');
    expect((await desk.run('doctor', '--fix')).out.replaceAll(/\s+/gu, ' ')).toContain('Update Atlas. Until then');
    for (const args of [
      ['step', 'start'],
      ['step', 'note', 'x'],
      ['step', 'complete'],
      ['step', 'ask', 'x?'],
      ['step', 'fail', 'x'],
      ['checkpoint', 'x'],
      ['validate'],
      ['approve'],
      ['reject'],
      ['fail', 'x'],
      ['abandon'],
      ['resume'],
      ['recover'],
      ['recover', '--dry-run'],
      ['acknowledge', '--task', ref.id],
      ['answer', 'x'],
      ['hook', 'regenerate'],
      ['hook', 'synopsis'],
      ['run', '--', 'true'],
    ]) {
      const refused = await desk.run(...args);
      expect({ ...refused, args }).toMatchObject({ code: 7, out: '' });
      expect(refused.err.replaceAll(/\n\s*/gu, ' '), args.join(' ')).toContain(why);
    }
    expect(desk.digest()).toBe(before);
  });
});
