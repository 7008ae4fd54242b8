import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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
