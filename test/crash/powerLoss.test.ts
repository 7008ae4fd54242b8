import { afterAll, describe, expect, it } from 'vitest';
import { type Expectation, type Known, doAgain, judge } from './crashJudge';
import { CrashWorld, SimulatedStage } from '../support/faults/crashWorld';
import { type Fate, type Pending, SimulatedDisk, sectorsOf } from '../support/faults/simulatedDisk';
import { checkTasks, repair } from '../support/faults/storeInvariants';
import type { Arranged, UseCase } from '../support/faults/useCase';
import { useCases } from './useCases';

/** Every how many-th case is tried; 1 tries all, which takes several minutes. */
const STRIDE = Number(process.env['ATLAS_POWER_STRIDE'] ?? '97');
/** Where the random selections begin. */
const SEED = Number(process.env['ATLAS_POWER_SEED'] ?? '1');
/** How many random selections are tried at each moment. */
const RANDOM = 8;

/** What a loss of power keeps, in words and as it is. */
interface Selection {
  readonly name: string;
  readonly fates: readonly Fate[];
}

/** A moment at which the power can go, and what the caller had been told by then. */
interface Moment {
  readonly state: ReturnType<SimulatedDisk['save']>;
  readonly known: Known;
}

interface Row {
  readonly name: string;
  moments: number;
  cuts: number;
  there: number;
  notThere: number;
  fixed: number;
  readonly bad: string[];
}

const rows: Row[] = [];
let turn = 0;

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const FILLERS = ['zeros', 'garbage', 'short'] as const;

function randomFate(op: Pending, next: () => number): Fate {
  const roll = next();
  if (op.type !== 'data' || roll < 0.5) return next() < 0.5 ? 'kept' : 'lost';
  const torn = Array.from({ length: sectorsOf(op) }, () => next() < 0.5);
  return { torn, filler: FILLERS[Math.floor(next() * FILLERS.length)] ?? 'zeros' };
}

/** What is tried at a moment: all or nothing of what is un-synced, each thing alone kept or lost, and chance. */
function* selectionsOf(pending: readonly Pending[], seed: number): Generator<Selection> {
  const all = (fate: Fate): Fate[] => pending.map(() => fate);
  yield { name: 'nothing kept', fates: all('lost') };
  if (pending.length === 0) return;
  yield { name: 'everything kept', fates: all('kept') };
  for (const [index, op] of pending.entries()) {
    yield { name: `only ${op.what} kept`, fates: all('lost').with(index, 'kept') };
    yield { name: `only ${op.what} lost`, fates: all('kept').with(index, 'lost') };
    if (op.type !== 'data') continue;
    const torn = Array.from({ length: sectorsOf(op) }, (_, sector) => sector % 2 === 1);
    for (const filler of FILLERS) {
      yield { name: `${op.what} torn (${filler})`, fates: all('kept').with(index, { torn, filler }) };
    }
  }
  for (let sample = 0; sample < RANDOM; sample += 1) {
    const next = numbers(seed * 1000 + sample);
    yield { name: `chance ${seed}/${sample}`, fates: pending.map((op) => randomFate(op, next)) };
  }
}

async function views(world: CrashWorld): Promise<Expectation['after']> {
  const next = world.process();
  await repair(next);
  return checkTasks(next);
}

/** Does the use case once and remembers the disk at each of its steps. */
async function momentsOf(world: CrashWorld<SimulatedStage>, arranged: Arranged): Promise<Moment[]> {
  const moments: Moment[] = [];
  let acknowledged = 0;
  const { disk } = world.stage;
  const note = (outcome: Known['outcome'], told?: unknown): void => {
    moments.push({ state: disk.save(), known: { outcome, acknowledged, told } });
  };
  note('killed');
  disk.onStep = () => {
    note('killed');
  };
  const result = await arranged.act(world.process(), () => {
    acknowledged += 1;
    note('killed');
  });
  disk.onStep = undefined;
  if (!result.ok) throw result.error;
  note('done', result.value);
  return moments;
}

async function tryAll(useCase: UseCase): Promise<Row> {
  const row: Row = { name: useCase.name, moments: 0, cuts: 0, there: 0, notThere: 0, fixed: 0, bad: [] };
  const world = new CrashWorld(SimulatedStage.make(Date.now));
  const arranged = await useCase.arrange(world);
  world.wait(2000);
  world.stage.disk.settle();
  const putBack = world.stage.save();
  const before = await views(world);
  putBack();
  const moments = await momentsOf(world, arranged);
  const expected = { before, after: await views(world) };
  world.reboot();
  for (const [index, { state, known }] of moments.entries()) {
    row.moments += 1;
    for (const { name, fates } of selectionsOf(state.pending, SEED * 1000 + index)) {
      turn += 1;
      if (turn % STRIDE !== 0) continue;
      row.cuts += 1;
      world.stage.disk = SimulatedDisk.afterPowerLoss(state, (_op, at) => fates[at] ?? 'lost', world.now);
      try {
        const found = await judge(world, arranged, expected, known);
        await doAgain(world, arranged, found.came);
        if (found.whole) row.there += 1;
        else row.notThere += 1;
        if (found.fixed.length > 0) row.fixed += 1;
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        const selection = state.pending.map((op, at) => `${op.what}: ${JSON.stringify(fates[at])}`).join('; ');
        row.bad.push(
          `${useCase.name}, seed ${SEED}, moment ${index} (${known.outcome}), ${name}: ${message} [${selection}]`,
        );
      }
    }
  }
  return row;
}

describe('a use case during which the power goes', { timeout: 3_600_000 }, () => {
  it.each(useCases().map((useCase) => [useCase.name, useCase] as const))(
    '%s: is wholly there or not at all, and nothing that was told of is lost',
    async (_name, useCase) => {
      const row = await tryAll(useCase);
      rows.push(row);
      expect(row.bad.slice(0, 5), `${row.bad.length} bad cases`).toEqual([]);
      expect(row.moments).toBeGreaterThan(0);
    },
  );
});

afterAll(() => {
  const cells = (row: Row): number[] => [row.moments, row.cuts, row.there, row.notThere, row.fixed, row.bad.length];
  const line = (name: string, values: readonly number[]): string => `| ${[name, ...values].join(' | ')} |`;
  const sums = rows
    .map(cells)
    .reduce((sum, values) => values.map((value, at) => value + (sum[at] ?? 0)), [0, 0, 0, 0, 0, 0]);
  console.log(
    [
      `Every ${STRIDE}. of ${turn} cases was tried, seed ${SEED}.`,
      '| use case | moments | cuts | wholly there | not there | fixed | bad |',
      '| --- | --: | --: | --: | --: | --: | --: |',
      ...rows.map((row) => line(row.name, cells(row))),
      line('all', sums),
    ].join('\n'),
  );
});
