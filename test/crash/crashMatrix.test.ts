import { afterAll, describe, expect, it } from 'vitest';
import { type Expectation, type Found, type Known, checkNothingStays, doAgain, judge } from './crashJudge';
import { CrashWorld, RealStage } from '../support/faults/crashWorld';
import { type Fault, FaultyFileSystem, changes, describeFault, faultsOf, type SeenOperation } from './faultyFileSystem';
import { realUseCases } from './realUseCases';
import { checkTasks, repair } from '../support/faults/storeInvariants';
import { type Arranged, type UseCase, WrongAnswer } from '../support/faults/useCase';
import { useCases } from './useCases';

/** Every how many-th case is tried; 1 tries all, which takes several minutes. */
const STRIDE = Number(process.env['ATLAS_CRASH_STRIDE'] ?? '89');

interface Row {
  readonly name: string;
  readonly operations: number;
  kills: number;
  failures: number;
  there: number;
  notThere: number;
  fixed: number;
  readonly bad: string[];
}

const rows: Row[] = [];
/** Counts cases over all use cases, so that a share of them is spread evenly. */
let turn = 0;

async function views(world: CrashWorld): Promise<Expectation['after']> {
  const next = world.process();
  await repair(next);
  return checkTasks(next);
}

/** Runs the use case with one fault and says what its caller knows. */
async function run(
  world: CrashWorld<RealStage>,
  arranged: Arranged,
  at: number,
  fault: Fault,
): Promise<{ known: Known; files: FaultyFileSystem; atlas: ReturnType<CrashWorld['process']> }> {
  const files = new FaultyFileSystem(world.stage.files, at, fault);
  const atlas = world.process(files.port);
  let acknowledged = 0;
  const acknowledge = (): void => {
    if (!files.dead) acknowledged += 1;
  };
  let outcome: Known['outcome'] = 'refused';
  let told: unknown;
  try {
    const result = await arranged.act(atlas, acknowledge);
    if (result.ok) {
      outcome = 'done';
      told = result.value;
    }
    if (!result.ok && result.error.code === 'recorded_not_written') outcome = 'recorded';
  } catch (error) {
    if (error instanceof WrongAnswer && !files.dead) throw error;
  }
  if (!files.happened) throw new Error('the operation that was to fail did not come');
  return { known: { outcome: files.dead ? 'killed' : outcome, acknowledged, told }, files, atlas };
}

async function one(
  world: CrashWorld<RealStage>,
  arranged: Arranged,
  expected: Expectation,
  at: number,
  fault: Fault,
): Promise<Found> {
  const { known: told, files, atlas } = await run(world, arranged, at, fault);
  const operation = files.seen[at]?.operation;
  const known = { ...told, readingFailed: operation === undefined || !changes(operation) };
  files.heal();
  const asLeft = fault.kind === 'error' ? world.stage.save() : undefined;
  const found = await judge(world, arranged, expected, known);
  await doAgain(world, arranged, found.came);
  if (fault.kind === 'kill') await checkNothingStays(world);
  if (asLeft !== undefined) {
    // The process that met the error goes on once there is room again.
    asLeft();
    await doAgain(world, arranged, found.came, atlas);
  }
  return found;
}

interface Case {
  readonly at: number;
  readonly seen: SeenOperation;
  readonly fault: Fault;
}

/** The cases of a use case that are tried: evenly spread over all use cases, and at least one of each. */
function share(seen: readonly SeenOperation[]): Case[] {
  const cases = seen.flatMap((each, at) => faultsOf(each).map((fault): Case => ({ at, seen: each, fault })));
  const chosen = cases.filter((_case, index) => (turn + index + 1) % STRIDE === 0);
  turn += cases.length;
  return chosen.length > 0 ? chosen : cases.slice(cases.length / 2).slice(0, 1);
}

async function tryAll(useCase: UseCase): Promise<Row> {
  const stage = new RealStage();
  const world = new CrashWorld(stage);
  try {
    const arranged = await useCase.arrange(world);
    // Another second, so that no run tries the id of a task that is there.
    world.wait(2000);
    const putBack = stage.save();
    const before = await views(world);
    putBack();
    const recorder = new FaultyFileSystem(stage.files);
    const result = await arranged.act(world.process(recorder.port), () => undefined);
    if (!result.ok) throw result.error;
    const expected = { before, after: await views(world) };
    const row: Row = {
      ...{ name: useCase.name, operations: recorder.seen.filter(({ operation }) => changes(operation)).length },
      ...{ kills: 0, failures: 0, there: 0, notThere: 0, fixed: 0, bad: [] },
    };
    for (const { at, seen, fault } of share(recorder.seen)) {
      putBack();
      if (fault.kind === 'kill') row.kills += 1;
      else row.failures += 1;
      try {
        const found = await one(world, arranged, expected, at, fault);
        if (found.whole) row.there += 1;
        else row.notThere += 1;
        if (found.fixed.length > 0) row.fixed += 1;
      } catch (error) {
        const where = `${useCase.name}, operation ${at} (${seen.operation} ${String(seen.args[0])}), ${describeFault(fault)}`;
        row.bad.push(`${where}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    return row;
  } finally {
    stage.dispose();
  }
}

describe('a use case that is killed or fails at any operation', { timeout: 3_600_000 }, () => {
  it.each([...useCases(), ...realUseCases()].map((useCase) => [useCase.name, useCase] as const))(
    '%s: is wholly there or not at all, and nothing else is lost',
    async (_name, useCase) => {
      const row = await tryAll(useCase);
      rows.push(row);
      expect(row.bad.slice(0, 5), `${row.bad.length} bad cases`).toEqual([]);
      expect(row.kills + row.failures).toBeGreaterThan(0);
    },
  );
});

afterAll(() => {
  const cell = (row: Row): string[] =>
    [row.operations, row.kills, row.failures, row.there, row.notThere, row.fixed, row.bad.length].map(String);
  const lines = rows.map((row) => `| ${[row.name, ...cell(row)].join(' | ')} |`);
  const sum = (of: (row: Row) => number): number => rows.reduce((total, row) => total + of(row), 0);
  console.log(
    [
      `Every ${STRIDE}. of ${turn} cases was tried.`,
      '| use case | operations | kills | failures | wholly there | not there | fixed | bad |',
      '| --- | --: | --: | --: | --: | --: | --: | --: |',
      ...lines,
      `| all | ${[sum((row) => row.operations), sum((row) => row.kills), sum((row) => row.failures), sum((row) => row.there), sum((row) => row.notThere), sum((row) => row.fixed), sum((row) => row.bad.length)].join(' | ')} |`,
    ].join('\n'),
  );
});
