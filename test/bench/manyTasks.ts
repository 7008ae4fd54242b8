import { readdirSync } from 'node:fs';
import path from 'node:path';
import { addFinishedTasks } from '../support/fixtures/manyTasks';
import { run } from '../support/drivers/run';
import { type TestStore, makeStore } from '../support/fixtures/store';
import { type Row, medianOf } from './rows';
import { buildWorkers } from './workers/build';
import type { Looked, Watched } from './workers/manyTasks';

const TASKS = 10_000;
const OPEN = 100;
const PROCESSES = 5;
const MAX_SLICE_MS = 50;

async function fill(): Promise<TestStore> {
  const store = makeStore();
  await addFinishedTasks(store, TASKS - OPEN);
  for (let made = 0; made < OPEN; made += 1) await store.running('task');
  return store;
}

function lookRows(runs: readonly Looked[]): Row[] {
  const answer = medianOf(runs.map((each) => each.answerMs));
  const stats = medianOf(runs.map((each) => each.statMs));
  const opened = Math.max(...runs.map((each) => each.finishedOpened));
  const slice = medianOf(runs.map((each) => each.longestSliceMs));
  return [
    {
      what: `which of ${TASKS.toLocaleString('en')} tasks need attention, ${OPEN} open, in a new process`,
      amount: answer,
      beside: { what: 'a look at each hook.json (stat)', amount: stats, ratio: 'times' },
      bar: { text: `≤ 1 ×, ${opened} of 0 finished opened`, met: answer <= stats && opened === 0 },
    },
    {
      what: 'longest hold-up while all tasks are looked at after it',
      amount: slice,
      beside: { what: 'the whole look', amount: medianOf(runs.map((each) => each.sweepMs)), ratio: 'times' },
      bar: { text: `≤ ${MAX_SLICE_MS} ms`, met: slice <= MAX_SLICE_MS },
    },
  ];
}

function watchRows(ours: readonly Watched[], naive: Watched): Row[] {
  const ready = medianOf(ours.map((each) => each.readyMs));
  const memory = medianOf(ours.map((each) => each.memoryMb));
  const watches = Math.max(...ours.map((each) => each.watches));
  const missed = Math.max(...ours.map((each) => each.missed));
  const all = `chokidar on all ${TASKS.toLocaleString('en')} folders (${naive.watches.toLocaleString('en')} watches)`;
  return [
    {
      what: `watching a store of ${TASKS.toLocaleString('en')} tasks: ready`,
      amount: ready,
      beside: { what: all, amount: naive.readyMs, ratio: 'faster' },
      bar: {
        text: `≥ 100 × sooner, ${watches} of ≤ ${OPEN + 2} watches, ${missed} of 1,000 renames missed`,
        met: ready * 100 <= naive.readyMs && watches <= OPEN + 2 && missed === 0,
      },
    },
    {
      what: `watching a store of ${TASKS.toLocaleString('en')} tasks: memory (RSS)`,
      amount: memory,
      unit: 'MB',
      beside: { what: 'the same', amount: naive.memoryMb, ratio: 'less' },
      bar: { text: '≥ 50 × less', met: memory * 50 <= naive.memoryMb },
    },
  ];
}

/** What a window does with a store that has gathered ten thousand tasks. */
export async function manyTaskRows(root: string): Promise<Row[]> {
  const worker = (await buildWorkers(path.join(root, 'many'), ['manyTasks']))('manyTasks');
  const store = await fill();
  try {
    const [workspace = ''] = readdirSync(store.atlas.ports.paths.workspaces);
    const ask = async <T>(what: string): Promise<T> =>
      JSON.parse(await run(process.execPath, ['--expose-gc', worker, what, store.root, workspace])) as T;
    const looks: Looked[] = [];
    const watches: Watched[] = [];
    for (let count = 0; count < PROCESSES; count += 1) {
      looks.push(await ask<Looked>('look'));
      watches.push(await ask<Watched>('watch'));
    }
    return [...lookRows(looks), ...watchRows(watches, await ask<Watched>('chokidar'))];
  } finally {
    store.dispose();
  }
}
