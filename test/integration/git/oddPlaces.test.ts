import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltCli, type Said, said } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';

/* Repositories at paths that few programs expect, and a machine without a usable folder for temporary files. */

let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterAll(() => {
  cli.dispose();
});

/** Runs `atlas` in a folder whose path need not be text, which Node can't name. */
async function runAt(folder: Buffer, ...args: readonly string[]): Promise<Said> {
  const quoted = [...folder].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
  const script = `cd "$(printf '${quoted}')" && exec "$@"`;
  const child = spawn('sh', ['-c', script, 'sh', process.execPath, cli.entry, ...args], { env: cli.environment() });
  return said(child);
}

describe('a folder whose path is no UTF-8', () => {
  it('is refused by every command, and never taken for another one', async () => {
    const bad = Buffer.concat([Buffer.from(`${cli.folder}/bad`), Buffer.from([0xff])]);
    mkdirSync(bad);
    const commands = [
      ['start', 'Sample'],
      ['status'],
      ['validate', '--command', 'true'],
      ['hook', 'install'],
      ['worker', 'list'],
    ];
    const check = async (): Promise<void> => {
      for (const args of commands) {
        const refused = await runAt(bad, ...args);
        expect(refused, args.join(' ')).toMatchObject({ code: 1, out: '' });
        expect(refused.err).toMatch(
          /^atlas: The path of this folder is not valid UTF-8: .*\nRename the folder, or run atlas in /u,
        );
      }
      const hook = await runAt(bad, 'lifecycle', 'session-start', '--host', 'claude');
      expect(hook).toMatchObject({ code: 0, out: '' });
      expect(hook.err).toContain('is not valid UTF-8');
    };
    await check();
    expect(existsSync(cli.root)).toBe(false);
    // The folder that its path reads as is another one.
    const twin = cli.repository('bad\ufffd');
    const { code } = await cli.runIn({ folder: twin }, 'start', 'Sample');
    expect(code).toBe(0);
    await check();
  });
});

describe('a repository whose path holds a line break', () => {
  it('is worked in as any other, linked worktrees too', async () => {
    const desk = new Desk(cli, 'new\nline');
    desk.write('file.txt', 'one\n');
    desk.git('add', '.');
    desk.git('commit', '-q', '-m', 'one');
    const linked = path.join(cli.folder, 'linked\nhere ');
    desk.git('worktree', 'add', '-q', '-b', 'side', linked);
    for (const folder of [desk.folder, linked]) {
      const how = desk.how({ folder });
      const run = async (...args: string[]): Promise<Said> => cli.runIn(how, ...args);
      const started = await cli.json(how, 'start', 'Sample', '-t', 'task');
      expect(started).toMatchObject({ exit: 0, task: { workspace_id: 'new-line' } });
      const { task_id: id } = started['task'] as { task_id: string };
      expect((await run('step', 'start', '--task', id)).code).toBe(0);
      expect((await run('validate', '--command', 'test -f file.txt', '--task', id)).code).toBe(0);
      const receipts = async (): Promise<unknown> =>
        (await cli.json(how, 'receipts', 'list', '--task', id))['receipts'];
      expect(await receipts()).toMatchObject([{ verdict: 'valid', current: true }]);
      writeFileSync(path.join(folder, 'file.txt'), 'two\n');
      expect(await receipts()).toMatchObject([{ verdict: 'valid', current: false }]);
      expect(execFileSync('git', ['status', '--porcelain'], { cwd: folder, encoding: 'utf8' })).toBe(' M file.txt\n');
    }
  });
});

describe('without a folder for temporary files', () => {
  it.each(['/nonexistent', '/proc'])('(TMPDIR=%s) a step is validated all the same', async (TMPDIR) => {
    const desk = new Desk(cli, `without ${path.basename(TMPDIR)}`, { TMPDIR });
    desk.template('own', { name: 'one', validation: ['echo out'] }, { name: 'two' });
    await desk.ok('start', 'Sample', '-t', 'own');
    await desk.ok('step', 'start');
    expect((await desk.run('validate')).code).toBe(0);
    expect(await desk.state()).toBe('step_pending');
    expect((await desk.json('receipts', 'list'))['receipts']).toMatchObject([{ verdict: 'valid', current: true }]);
  });
});
