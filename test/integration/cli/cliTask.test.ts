import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { BuiltCli } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';

/* Which task a command line means. */

const MINUTE = 60_000;
let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterAll(() => {
  cli.dispose();
});

interface Named {
  readonly task: { readonly task_id: string; readonly workspace_id: string };
  readonly notes: readonly string[];
}

/** The task that is shown, asked from a folder and with an environment. */
async function shown(desk: Desk, args: readonly string[] = [], folder = desk.folder, env = {}): Promise<Named> {
  const printed = await cli.json(desk.how({ folder, env }), 'status', ...args);
  expect(printed.exit, JSON.stringify(printed)).toBe(0);
  return printed as unknown as Named;
}

describe.concurrent('a task is named', { timeout: 120_000 }, () => {
  it('by --task, by --workspace, by ATLAS_TASK, in this order', async () => {
    const desk = new Desk(cli, 'named');
    const first = await desk.running('task', 'First', 2 * MINUTE);
    const second = await desk.running('task', 'Second');
    const surrounding = { ATLAS_TASK: `named/${first.id}` };
    const elsewhere = desk.cli.repository('named elsewhere');
    for (const args of [
      ['--task', first.id],
      ['--task', `named/${first.id}`],
      ['--task', first.id, '--workspace', 'named'],
    ])
      expect((await shown(desk, args)).task.task_id).toBe(first.id);
    expect((await shown(desk, ['--task', second.id], desk.folder, surrounding)).task.task_id).toBe(second.id);
    expect((await shown(desk, [], desk.folder, surrounding)).task.task_id).toBe(first.id);
    expect((await shown(desk, [], elsewhere, { ATLAS_TASK: first.id })).task.task_id).toBe(first.id);
    expect((await shown(desk, [], desk.folder, { ATLAS_TASK: '' })).task.task_id).toBe(second.id);
    // --workspace is nearer than what surrounds the caller.
    expect((await shown(desk, ['--workspace', 'named'], elsewhere, surrounding)).task.task_id).toBe(second.id);
    const contradiction = await desk.run('status', '--task', `named/${first.id}`, '--workspace', 'other');
    expect(contradiction.code).toBe(2);
    await expect(desk.ok('step', 'note', 'x', '--task', first.id)).resolves.toContain(first.id);
  });

  it.each([
    ['..', 2],
    ['../named', 2],
    ['a/b/c', 2],
    ['named/..', 2],
    ['/etc/passwd', 2],
    ['', 2],
    ['task-20260101-000000', 3],
    ['\u001b[2J\u202e$(touch hacked)\nx', 2],
    ['x'.repeat(100_000), 2],
  ])('never as %j', async (name, exit) => {
    const desk = new Desk(cli, `hostile ${name.slice(0, 12).replaceAll(/\W/gu, '_')}${name.length}`);
    await desk.running();
    for (const said of [
      await desk.run('status', '--task', name),
      await desk.run('checkpoint', 'x', '--task', name),
      ...(name === '' ? [] : [await desk.runWith({ env: { ATLAS_TASK: name } }, 'status')]),
    ]) {
      expect(said).toMatchObject({ code: exit, out: '' });
      // eslint-disable-next-line no-control-regex -- that is what must not be there
      expect(said.err).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/u);
      expect(said.err.length).toBeLessThan(2000);
    }
  });

  it('by an ATLAS_TASK that is over is shown, and takes no change', async () => {
    const desk = new Desk(cli, 'stale');
    const over = await desk.running('task', 'Over', 2 * MINUTE);
    await desk.ok('abandon');
    await desk.running('task', 'Open');
    const env = { ATLAS_TASK: `stale/${over.id}` };
    expect((await shown(desk, [], desk.folder, env)).task).toMatchObject({ task_id: over.id, state: 'abandoned' });
    expect((await desk.runWith({ env }, 'checkpoint', 'x')).code).toBe(4);
    const missing = { ATLAS_TASK: 'stale/task-20200101-000000' };
    expect((await desk.runWith({ env: missing }, 'checkpoint', 'x')).code).toBe(3);
    expect((await desk.runWith({ env: missing }, 'status')).code).toBe(3);
  });

  it('by an id that two workspaces have has to be named with its workspace', async () => {
    const desk = new Desk(cli, 'twice');
    const ref = await desk.running();
    const other = desk.cli.repository('twice other');
    await desk.cli.runIn(desk.how({ folder: other }), 'start', 'x');
    const { task } = await shown(desk, [], other);
    const from = desk.fileOf(ref, '');
    // A copied store: the same id in two workspaces.
    cpSync(from, path.join(desk.root, 'workspaces', task.workspace_id, 'tasks', ref.id), { recursive: true });
    const said = await desk.cli.runIn(desk.how({ folder: cli.repository('twice third') }), 'status', '--task', ref.id);
    expect(said).toMatchObject({ code: 2, out: '' });
    expect(said.err).toContain(`${task.workspace_id}/${ref.id}`);
    expect((await shown(desk, ['--task', ref.id])).task).toMatchObject({ workspace_id: 'twice', task_id: ref.id });
  });
});

describe.concurrent('a task is found', { timeout: 120_000 }, () => {
  it('in the repository, its sub-folders, its worktrees and by links to them, not in its submodules', async () => {
    const desk = new Desk(cli, 'places');
    const { id } = await desk.running();
    const deep = path.join(desk.folder, 'src', 'deep');
    mkdirSync(deep, { recursive: true });
    desk.git('worktree', 'add', '-q', path.join(cli.home, 'places tree'), '-b', 'other');
    symlinkSync(deep, path.join(cli.home, 'places link'));
    for (const folder of [deep, path.join(cli.home, 'places tree'), path.join(cli.home, 'places link')])
      expect((await shown(desk, [], folder)).task.task_id).toBe(id);
    const library = cli.repository('places library');
    desk.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library, 'library');
    const inside = path.join(desk.folder, 'library');
    const none = await cli.runIn(desk.how({ folder: inside }), 'status');
    expect(none).toMatchObject({ code: 3, out: '' });
    expect(none.err).toMatch(/^atlas: Repository .+ has no task yet\.\nStart one with: atlas start /u);
    await cli.runIn(desk.how({ folder: inside }), 'start', 'its own');
    expect((await shown(desk, [], inside)).task).toMatchObject({ description: 'its own' });
  });

  it('in a folder that is no repository', async () => {
    const desk = new Desk(cli, 'with one');
    const folder = path.join(cli.home, 'without');
    mkdirSync(folder);
    expect((await cli.runIn(desk.how({ folder }), 'status')).err).toMatch(/^atlas: Folder .+ has no task yet\./u);
    expect((await cli.runIn(desk.how({ folder }), 'start', 'here')).code).toBe(0);
    expect((await shown(desk, [], folder)).task).toMatchObject({ description: 'here' });
    expect((await cli.runIn(desk.how({ folder }), 'checkpoint', 'x')).code).toBe(0);
    expect((await cli.runIn(desk.how({ folder }), 'hook', 'install')).code).not.toBe(0);
  });

  it('of several to read, as the one changed last, and that is said', async () => {
    const desk = new Desk(cli, 'several');
    const old = await desk.running('task', 'Old', 3 * MINUTE);
    const last = await desk.running('task', 'Last', 2 * MINUTE);
    const text = await desk.run('status');
    const note = `atlas: Workspace "several" has 2 open tasks. This is ${last.id}, the most recently changed. To see the other, use --task.\n`;
    expect(text.err).toBe(note);
    expect(text.out).toMatch(/^Other Open Tasks: +1$/mu);
    expect((await shown(desk)).notes).toEqual([note.slice('atlas: '.length, -1)]);
    for (const line of [
      ['hook', 'checkpoints'],
      ['hook', 'synopsis'],
      ['receipts', 'list'],
      ['hook', 'export'],
    ]) {
      expect((await desk.run(...line)).err, line.join(' ')).toBe(note);
    }
    expect((await desk.run('status', '-q')).err).toBe('');
    await desk.ok('step', 'note', 'x', '--task', old.id);
    expect((await shown(desk)).task.task_id).toBe(old.id);
  });

  it('where none is open, as the last finished one, and that is said; a change has none', async () => {
    const desk = new Desk(cli, 'finished');
    await desk.running('task', 'Older', 3 * MINUTE);
    await desk.ok('abandon');
    const last = await desk.running('task', 'Newer');
    await desk.ok('fail', 'no');
    const text = await desk.run('status');
    expect(text.err).toBe(
      `atlas: Workspace "finished" has no open task. This is ${last.id}, the most recent one (Failed).\n`,
    );
    expect(text.out).toContain(last.id);
    expect(await desk.run('checkpoint', 'x')).toMatchObject({ code: 3, out: '' });
    expect(await desk.run('hook', 'synopsis')).toEqual({ code: 0, out: '', err: '' });
  });

  it('by a receipt in any task of the workspace, also a finished one, also beside ATLAS_TASK', async () => {
    const desk = new Desk(cli, 'receipts');
    desk.template('checked', { name: 'check', validation: ['git --version'] });
    const checked = await desk.running('checked');
    const validated = (await desk.json('validate')) as unknown as { receipts: { receipt_id: string }[] };
    const id = validated.receipts[0]?.receipt_id ?? '';
    const open = await desk.running('task', 'Open');
    for (const env of [{}, { ATLAS_TASK: `receipts/${open.id}` }, { ATLAS_TASK: `receipts/${checked.id}` }]) {
      const said = await desk.runWith({ env }, 'hook', 'verify-receipt', id);
      expect(said, JSON.stringify(env)).toMatchObject({ code: 0, err: '' });
      expect(said.out).toContain(`Receipt: ${id}\n`);
    }
    // Who names a task means it.
    expect((await desk.run('hook', 'verify-receipt', id, '--task', open.id)).code).toBe(3);
    const elsewhere = cli.repository('receipts elsewhere');
    expect((await cli.runIn(desk.how({ folder: elsewhere }), 'hook', 'verify-receipt', id)).code).toBe(3);
    expect(
      (await cli.runIn(desk.how({ folder: elsewhere }), 'hook', 'verify-receipt', id, '--workspace', 'receipts')).code,
    ).toBe(0);
  });
});

describe.concurrent('a store that something happened to', { timeout: 120_000 }, () => {
  const ruin = (desk: Desk, ref: TaskRef): void => {
    for (const name of ['hook.json', 'journal.jsonl']) writeFileSync(desk.fileOf(ref, name), 'no longer what it was');
  };

  it('has a damaged task beside a good one: the good one is still worked on', async () => {
    const desk = new Desk(cli, 'beside');
    const bad = await desk.running('task', 'Bad', 2 * MINUTE);
    const good = await desk.running('task', 'Good');
    ruin(desk, bad);
    expect((await shown(desk)).task.task_id).toBe(good.id);
    expect(await desk.ok('checkpoint', 'x')).toContain(good.id);
    expect((await desk.run('status', '--task', bad.id)).code).toBe(7);
    expect(await desk.ok('workspace', 'list')).toMatch(/^beside +2 +2 /mu);
  });

  it('has only a damaged task: that is told, not that there is none', async () => {
    const desk = new Desk(cli, 'only');
    ruin(desk, await desk.running());
    expect(await desk.run('status')).toMatchObject({ code: 7, out: '' });
    expect(await desk.run('step', 'note', 'x')).toMatchObject({ code: 7, out: '' });
  });

  it.each(['truncated', 'missing'])(
    'has a %s hook.json: it is rebuilt from the journal, and that is said',
    async (how) => {
      const desk = new Desk(cli, how);
      const ref = await desk.running();
      await desk.ok('checkpoint', 'before');
      const file = desk.fileOf(ref, 'hook.json');
      const before = JSON.parse(readFileSync(file, 'utf8')) as { checkpoints: unknown };
      if (how === 'missing') rmSync(file);
      else writeFileSync(file, readFileSync(file, 'utf8').slice(0, 200));
      const said = await desk.run('status');
      expect(said.code).toBe(0);
      expect(said.err).toMatch(/^atlas: .*hook\.json.*/u);
      expect(said.out).toMatch(/^State: +Running/mu);
      const after = JSON.parse(readFileSync(file, 'utf8')) as { checkpoints: unknown };
      expect(after.checkpoints).toEqual(before.checkpoints);
      expect((await desk.run('status')).err).toBe('');
    },
  );

  it('has a hook.json that somebody edited: status adopts it and says so', async () => {
    const desk = new Desk(cli, 'edited');
    const ref = await desk.running();
    const file = desk.fileOf(ref, 'hook.json');
    const hook = JSON.parse(readFileSync(file, 'utf8')) as { current_step: { working_on: string } };
    hook.current_step.working_on = 'what somebody wrote';
    writeFileSync(file, JSON.stringify(hook, null, 2));
    const said = await desk.run('status');
    expect(said.code).toBe(0);
    expect(said.err).toMatch(/^atlas: .*hook\.json/u);
    expect(said.out).toMatch(/^Working On: +what somebody wrote$/mu);
    const history = await desk.ok('hook', 'export');
    expect(history).toContain('adopted_edit');
  });

  it('was edited to be complete: that is told everywhere until a human acknowledges it', async () => {
    const desk = new Desk(cli, 'edited to completed');
    const ref = await desk.running();
    const file = desk.fileOf(ref, 'hook.json');
    const hook = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    writeFileSync(file, JSON.stringify({ ...hook, state: 'completed', current_step: null }, null, 2));
    for (let look = 1; look <= 2; look += 1) {
      const said = await desk.ok('status');
      expect(said).toMatch(/^Edited Outside: +hook\.json was edited by something other than Atlas \(just now\)/mu);
      expect(await desk.json('status')).toMatchObject({ foreign_edits: { count: 1, kind: 'edited' } });
      const doctor = await desk.run('doctor');
      expect(doctor.out).toContain('hook.json was changed by something other than Atlas (1 edit');
      expect(desk.hookMarkdown(ref)).toContain('**Changed from outside:**');
    }
    const refused = await desk.runWith({ env: { CLAUDECODE: '1' } }, 'acknowledge');
    expect(refused.code, refused.err).toBe(4);
    expect(refused.err).toContain('Only a human may acknowledge an edit made outside Atlas');
    await desk.ok('acknowledge');
    expect(await desk.ok('status')).not.toContain('Edited Outside');
    expect(await desk.json('status')).toMatchObject({ foreign_edits: null });
    expect((await desk.run('doctor')).out).not.toContain('something other than Atlas (');
    expect(desk.hookMarkdown(ref)).not.toContain('**Changed from outside:**');
    expect(await desk.ok('hook', 'export')).toContain('"acknowledge"');
    const again = await desk.run('acknowledge');
    expect(again).toMatchObject({ code: 3 });
    expect(again.err).toContain('has an edit to acknowledge');
  });
});
