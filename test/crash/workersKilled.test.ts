import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KillReport, judge, killedLife, prepare } from './forgeKills';
import type { Life } from '../support/faults/forgeLife';
import { makeForgeWorld } from '../support/fixtures/forgeWorld';
import type { KillMode } from '../support/faults/killPoints';
import { WorkerPool } from '../support/processes/workerPool';

/** Each so-manieth point; `npm run test:workers:kills` has all. */
const STRIDE = Number(process.env['ATLAS_WORKER_KILL_STRIDE'] ?? 97);

let pool: WorkerPool;
beforeAll(async () => {
  pool = await WorkerPool.open('test/support/processes/forgeLifeWorker.ts');
});
afterAll(async () => {
  await pool.close();
});

/** Every so-manieth point of a life, until one is behind its end. */
async function killEach(life: Life, mode: KillMode, first: number): Promise<KillReport[]> {
  const reports: KillReport[] = [];
  const failures: string[] = [];
  for (let at = first, where: string | undefined = ''; where !== undefined && failures.length < 20; at += STRIDE) {
    const world = makeForgeWorld();
    try {
      const before = await prepare(world, life);
      const killed = await killedLife(world, pool.bundle, { life, mode, at });
      ({ where } = killed);
      reports.push(await judge(world, before, killed, { life, mode, at }));
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
    } finally {
      world.dispose();
    }
  }
  expect(failures.join('\n\n')).toBe('');
  return reports;
}

function tally(values: Iterable<string>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

describe('a worker that is killed at every point of its work', { timeout: 3_600_000 }, () => {
  it.each([
    { life: 'plain', mode: 'alone', first: 5 },
    { life: 'plain', mode: 'group', first: 22 },
    { life: 'result', mode: 'alone', first: 39 },
    { life: 'result', mode: 'group', first: 56 },
    { life: 'handoff', mode: 'alone', first: 12 },
    { life: 'handoff', mode: 'group', first: 29 },
    { life: 'again', mode: 'alone', first: 46 },
    { life: 'again', mode: 'group', first: 63 },
    { life: 'remote', mode: 'alone', first: 18 },
    { life: 'remote', mode: 'gits', first: 35 },
  ] as const)('loses nothing and does nothing twice: $life, killed $mode', async ({ life, mode, first }) => {
    const reports = await killEach(life, mode, STRIDE === 1 ? 1 : first);
    expect(reports.length).toBeGreaterThan(1);
    const actions = tally(reports.map(({ action }) => action));
    const repaired = tally(reports.flatMap((report) => report.repaired));
    console.log(JSON.stringify({ life, mode, kills: reports.length - 1, actions, repaired }));
  });
});
