import { afterAll, beforeAll, expect, it } from 'vitest';
import { BranchFuzz, ROUND } from './branchFuzz';
import { type ForgeWorld, makeForgeWorld } from '../../support/fixtures/forgeWorld';
import { Random } from '../../support/faults/fuzz';

/* Anybody who can push puts anything on branches forge/*: nothing is written outside .forge, nothing runs, and the memory has an end. */

/** How many branches are pushed in all; 20,000 take about half an hour. */
const CASES = Number(process.env['ATLAS_BRANCH_FUZZ'] ?? '100');
const SEED = process.env['ATLAS_FUZZ_SEED'];

let world: ForgeWorld;
beforeAll(() => {
  world = makeForgeWorld();
});
afterAll(() => {
  world.dispose();
}, 600_000);

it('hostile branches change nothing but what is theirs', { timeout: 10_800_000 }, async () => {
  const random = SEED === undefined ? new Random() : new Random(Number(SEED));
  const fuzz = await BranchFuzz.make(world, random);
  let cases = 0;
  try {
    for (; cases < CASES; cases += ROUND) await fuzz.cases();
  } catch (error) {
    throw new Error(`seed ${random.seed}, after ${cases} branches`, { cause: error });
  }
  console.log(`${cases} branches, seed ${random.seed}\n${fuzz.report}`);
  expect(cases).toBeGreaterThanOrEqual(CASES);
});
