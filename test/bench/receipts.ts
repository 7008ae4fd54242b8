import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { unwrap } from '../../src/core/shared/errors';
import type { TreeRecord } from '../../src/core/receipt/receipt';
import { Atlas } from '../../src/service/atlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import { run } from '../support/drivers/run';
import { PretendedRuns } from '../support/fixtures/receipts/signedStore';
import { makeGitWorkspace } from '../support/fixtures/gitWorkspace';
import { makeValidationWorld } from '../support/fixtures/validationWorld';
import { type Row, median, medianOf } from './rows';
import { buildWorkers } from './workers/build';
import type { Grown, Signed, Verified } from './workers/receipts';
import type { Opened } from './workers/tree';

const PROCESSES = 5;
const VALIDATIONS = 15;

/** A store with tasks that have so many signed receipts each, on a repository in which a file was changed since. */
async function makeSignedStore(root: string, tasks: number, receipts: number): Promise<string> {
  const workspace = await makeGitWorkspace(root);
  const atlas = new Atlas(systemPorts(workspace.atlasHome, 'bench', silentLog));
  const repository = await atlas.ports.git.locate(workspace.folder);
  if (repository === undefined) throw new Error('no repository');
  const runs = await PretendedRuns.open(atlas);
  for (let count = 0; count < tasks; count += 1) {
    const started = unwrap(await atlas.startTask({ title: 'bench', template: 'task', folder: workspace.folder }));
    unwrap(await atlas.startStep(started.ref));
    const scratch = atlas.ports.paths.trees(started.ref.workspace);
    const after = unwrap(await atlas.ports.git.workingTree(repository, scratch));
    const head = atlas.ports.git.head(repository).commit ?? null;
    const tree: TreeRecord = { before: after, after, changed: [], changed_count: 0, head, branch: 'main' };
    const commands = Array.from({ length: receipts }, (_each, index) => `npm run check-${index}`);
    await runs.add(
      started.ref,
      commands.map((command) => ({ command, tree })),
    );
  }
  writeFileSync(path.join(workspace.folder, 'README.md'), '# Changed\n');
  return workspace.atlasHome;
}

/** Starts a worker several times, each in a fresh process, and gives what each measured. */
async function measure<T>(times: number, ...command: readonly string[]): Promise<T[]> {
  const results: T[] = [];
  for (let count = 0; count < times; count += 1) {
    results.push(JSON.parse(await run(process.execPath, command)) as T);
  }
  return results;
}

function middle<T>(items: readonly T[], by: (item: T) => number): T {
  const value = medianOf(items.map(by));
  const item = items.find((each) => by(each) === value);
  if (item === undefined) throw new Error('nothing was measured');
  return item;
}

async function verifyRows(worker: string, store: string): Promise<Row[]> {
  const runs = await measure<Verified>(PROCESSES, worker, 'verify', store);
  const when = { first: 'for the first time', kept: 'in the next process', again: 'again' };
  const row = (which: keyof typeof when, bar?: number): Row => {
    const { signatures, design, designSignatures, ...measured } = middle(runs, (each) => each.design / each[which]);
    return {
      what: `verify a signature ${when[which]} (${signatures} of 50 tasks × 20 receipts)`,
      amount: measured[which] * 1000,
      unit: 'µs',
      beside: {
        what: `design: derive five levels, verify with @bsv/sdk (${designSignatures})`,
        amount: design * 1000,
        ratio: 'faster',
      },
      ...(bar !== undefined && { bar: { text: `at least ${bar} times`, met: design / measured[which] >= bar } }),
    };
  };
  const load = medianOf(runs.map((each) => each.load));
  const loading = { what: 'load keys and curve before the first one', amount: load };
  return [row('first', 60), row('kept'), row('again', 1000), loading];
}

async function signRows(worker: string, store: string): Promise<Row[]> {
  const [signed] = await measure<Signed>(1, worker, 'sign', store);
  if (signed === undefined) throw new Error('nothing was measured');
  const { signatures, ours, library, derivation } = signed;
  const what = `sign, keys of account and task cached (${signatures}; half of a derivation in each)`;
  return [
    {
      what,
      amount: ours,
      beside: { what: 'one sign of @bsv/sdk', amount: library, ratio: 'times' },
      bar: { text: 'at most 1.2', met: ours <= 1.2 * library },
    },
    { what: "derive the receipt's own key, for its two signatures", amount: derivation },
  ];
}

async function heapRows(worker: string): Promise<Row[]> {
  const [grown] = await measure<Grown>(1, '--expose-gc', worker, 'heap');
  if (grown === undefined) throw new Error('nothing was measured');
  const row = (when: string, amount: number): Row => ({
    what: `heap after 10,000 distinct keys more, ${when}`,
    amount,
    unit: 'MB',
    bar: { text: 'under 5 MB', met: amount < 5 },
  });
  return [
    row('while verified signatures are still remembered', grown.early),
    row('once their memory is full', grown.full),
  ];
}

async function treeRows(worker: string, store: string, what: string): Promise<Row[]> {
  const runs = await measure<Opened>(PROCESSES, worker, store);
  if (process.env['BENCH_VERBOSE'] !== undefined) console.log(JSON.stringify(runs));
  const { longest, rows, valid } = middle(runs, (each) => each.longest);
  const row = (how: string, amount: number): Row => ({
    what: `longest hold-up while the tree opens on 1,000 receipts ${what}${how}`,
    amount,
    bar: { text: 'under 50 ms', met: amount < 50 },
  });
  return [
    row(` (${rows} rows, ${valid} valid)`, longest),
    row(', without what other programs took', medianOf(runs.map((each) => each.longestOnProcessor))),
    { what: `longest wait for one row more meanwhile, ${what}`, amount: medianOf(runs.map((each) => each.wait)) },
  ];
}

/** A whole validation of the shortest command: two looks at the files, lock, journal, keys, statement. */
async function validationRow(): Promise<Row> {
  const world = await makeValidationWorld();
  try {
    const times: number[] = [];
    for (let count = 0; count < VALIDATIONS; count += 1) {
      const ref = await world.running(['true']);
      const start = performance.now();
      if (!unwrap(await world.validate(ref)).passed) throw new Error('not passed');
      times.push(performance.now() - start);
    }
    const { folder } = world.workspace;
    const amount = await median(async () => run('/bin/sh', ['-c', 'true'], { cwd: folder }), VALIDATIONS);
    const beside = { what: 'the command alone', amount, ratio: 'times' } as const;
    return { what: 'a whole validation of `true` in a small repository', amount: medianOf(times), beside };
  } finally {
    world.dispose();
  }
}

/** What receipts cost: signing, verifying, and showing a thousand of them. */
export async function receiptRows(root: string): Promise<Row[]> {
  const workers = path.join(root, 'workers');
  mkdirSync(workers);
  const programOf = await buildWorkers(workers, ['receipts', 'tree']);
  const [worker, tree] = [programOf('receipts'), programOf('tree')];
  const many = await makeSignedStore(path.join(root, 'many'), 50, 20);
  const one = await makeSignedStore(path.join(root, 'one'), 1, 1000);
  return [
    ...(await verifyRows(worker, many)),
    ...(await signRows(worker, many)),
    ...(await heapRows(worker)),
    ...(await treeRows(tree, one, 'of one task')),
    ...(await treeRows(tree, many, 'of 50 tasks')),
    await validationRow(),
  ];
}
