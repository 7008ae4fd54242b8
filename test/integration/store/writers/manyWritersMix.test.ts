import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { unwrap } from '../../../../src/core/shared/errors';
import { Journal } from '../../../../src/store/task/journal';
import { BuiltCli, said } from '../../../support/drivers/cli';
import { Desk } from '../../../support/drivers/cliDesk';
import { until } from '../../../support/fixtures/hookWorld';
import { WorkerPool } from '../../../support/processes/workerPool';

/* A window, commands and git hooks on one task at once: each process is a real one, and so is git. */

const BY_WINDOW = 150;
const BY_COMMAND = 12;
const COMMITS = 24;

let cli: BuiltCli;
let pool: WorkerPool;
beforeAll(async () => {
  [cli, pool] = await Promise.all([BuiltCli.open(), WorkerPool.open()]);
}, 60_000);
afterAll(async () => {
  cli.dispose();
  await pool.close();
});

it('loses no change and makes none twice, though the window closes in the middle', { timeout: 180_000 }, async () => {
  const desk = new Desk(cli, 'mix');
  const ref = await desk.running();
  await desk.ok('hook', 'install');
  const window = pool.start('window', desk.root, [ref.workspace, ref.id, String(BY_WINDOW)]);
  await window.speaks();

  const command = async (name: string): Promise<string[]> => {
    const ids: string[] = [];
    for (let made = 0; made < BY_COMMAND; made += 1) {
      const printed = await desk.json('checkpoint', `${name} ${made}`);
      expect(printed).toMatchObject({ exit: 0, success: true });
      ids.push(String(printed['checkpoint_id']));
    }
    return ids;
  };
  const commit = async (): Promise<void> => {
    for (let made = 0; made < COMMITS; made += 1) {
      const args = ['commit', '--quiet', '--allow-empty', '--message', `work ${made}`];
      const git = spawn('git', args, { cwd: desk.folder, env: cli.environment(desk.how().env) });
      expect(await said(git)).toMatchObject({ code: 0 });
      // From here on hooks have to start somebody who takes up what they saw.
      if (made === COMMITS / 2) window.process.stdin?.end();
    }
  };
  const [first, second] = await Promise.all([command('first'), command('second'), commit()]);
  const byWindow = (await window.done()).filter((line) => line.startsWith('ckpt-'));

  const spool = path.join(desk.root, 'spool');
  await until('all events are taken up', () => !readdirSync(spool).some((name) => name.startsWith('event.')));
  await until('nobody drains any more', () => !existsSync(path.join(spool, 'claim')));

  const { hook } = unwrap(await desk.atlas().reconcile(ref));
  const made = hook.history.filter((event) => event.trigger === 'checkpoint').map((event) => event.details ?? {});
  const ids = made.map((details) => details['checkpoint_id']);
  const told = [...first, ...second, ...byWindow];
  expect(byWindow).toHaveLength(BY_WINDOW);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(expect.arrayContaining(told));
  const commits = desk.git('log', '--format=%H', `-${COMMITS}`).split('\n');
  const seen = made.flatMap((details) => details['commit'] ?? []);
  expect([...seen].sort()).toEqual([...commits].sort());
  expect(ids).toHaveLength(told.length + COMMITS);
  const { ports } = desk.atlas();
  expect(unwrap(new Journal(ports.files, ports.paths.journal(ref)).readAll()).brokenAt).toBeUndefined();
  expect(await desk.ok('doctor')).toContain('No problems found.');
});
