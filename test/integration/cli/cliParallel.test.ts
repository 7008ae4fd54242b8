import { afterAll, beforeAll, expect, it } from 'vitest';
import { BuiltCli } from '../../support/drivers/cli';
import { Desk, type Printed } from '../../support/drivers/cliDesk';

/* Many commands at once on one task: none is lost, and none sees half of another. */

const MANY = 10;
let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterAll(() => {
  cli.dispose();
});

/** A command with `--json` in a process of its own. */
const json = async (desk: Desk, ...args: readonly string[]): Promise<Printed> => cli.json(desk.how(), ...args);

it('ten checkpoints at once are ten, and who looks meanwhile sees a whole task', { timeout: 60_000 }, async () => {
  const desk = new Desk(cli, 'parallel');
  await desk.running();
  const going = new AbortController();
  const watcher = (async () => {
    const seen: number[] = [];
    while (!going.signal.aborted) {
      const status = await json(desk, 'status');
      expect(status).toMatchObject({ exit: 0, success: true, notes: [], task: { state: 'step_running' } });
      seen.push(Number(status['checkpoints']));
    }
    return seen;
  })();
  const names = Array.from({ length: MANY }, (_each, index) => `checkpoint ${index}`);
  const made = await Promise.all(names.map(async (name) => json(desk, 'checkpoint', name))).finally(() => {
    going.abort();
  });
  const seen = await watcher;
  const ids = made.map((each) => each['checkpoint_id']);
  expect(made.map(({ exit }) => exit)).toEqual(names.map(() => 0));
  expect(new Set(ids).size).toBe(MANY);
  const { checkpoints } = (await desk.json('hook', 'checkpoints')) as unknown as {
    checkpoints: { checkpoint_id: string; description: string }[];
  };
  expect(checkpoints.map(({ description }) => description).sort()).toEqual([...names].sort());
  expect(checkpoints.map(({ checkpoint_id: id }) => id).sort()).toEqual([...ids].sort());
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
  expect(await desk.ok('doctor')).toContain('No problems found.');
});

it('ten starts at once are ten tasks of one workspace', { timeout: 60_000 }, async () => {
  const desk = new Desk(cli, 'starts');
  const made = await Promise.all(
    Array.from({ length: MANY }, async (_each, index) => json(desk, 'start', `task ${index}`)),
  );
  expect(made.map(({ exit }) => exit)).toEqual(made.map(() => 0));
  const tasks = made.map((each) => each['task'] as { task_id: string; workspace_id: string });
  expect(new Set(tasks.map(({ task_id: id }) => id)).size).toBe(MANY);
  expect(new Set(tasks.map(({ workspace_id: id }) => id))).toEqual(new Set(['starts']));
});

it('of two that complete one step, one does', { timeout: 60_000 }, async () => {
  const desk = new Desk(cli, 'complete');
  desk.template('two', { name: 'first', type: 'ai' }, { name: 'second', type: 'ai' });
  await desk.running('two');
  const line = ['step', 'complete', 'first', '--attempt', '1'];
  const ended = await Promise.all([desk.apart(...line), desk.apart(...line)]);
  expect(ended.map(({ code }) => code).sort()).toEqual([0, 4]);
  expect(await desk.ok('status')).toMatch(/^State: +Ready \(second, step 2 of 2, attempt 1 of /mu);
});
