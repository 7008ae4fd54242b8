import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { race } from './forgeRace';
import { type ForgeWorld, makeForgeWorld } from '../../support/fixtures/forgeWorld';
import { WorkerPool } from '../../support/processes/workerPool';

/** How many tasks are raced for; `npm run test:workers` has all 200. */
const TASKS = Number(process.env['ATLAS_RACE_TASKS'] ?? 16);

let world: ForgeWorld;
let pool: WorkerPool;

beforeAll(async () => {
  pool = await WorkerPool.open('test/support/processes/forgeWorker.ts');
});
afterAll(async () => {
  await pool.close();
});
beforeEach(() => {
  world = makeForgeWorld();
});
// Thousands of objects of git's are removed.
afterEach(() => {
  world.dispose();
}, 120_000);

describe('clones of one bare repository', { timeout: TASKS * 15_000 }, () => {
  it.each([
    { clones: 2, workersPerClone: 2, offlineSteps: 0 },
    { clones: 5, workersPerClone: 1, offlineSteps: 6 },
  ])('race for tasks, $clones of them: each is done once, and no commit is lost', async (options) => {
    const report = await race(world, pool, { ...options, tasks: TASKS, kills: Math.ceil(TASKS / 8) });
    // The figures, for whoever runs all of it.
    console.log(JSON.stringify({ clones: options.clones, tasks: TASKS, ...report }));
    expect(report.problems).toEqual([]);
    expect(report.said['ran']).toBeGreaterThan(TASKS / 2);
    expect(report.kills).toBe(Math.ceil(TASKS / 8));
    if (options.offlineSteps > 0) expect(report.said['remote_unreachable']).toBeGreaterThan(0);
  });
});
