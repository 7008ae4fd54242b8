/* `npm run bench`: what costs time, each beside the floor that the same machine reaches in the same run. Trust the ratios. */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { unwrap } from '../../src/core/errors';
import { serializeHook } from '../../src/core/hook';
import { Atlas } from '../../src/service/atlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import { GenerationLock } from '../../src/storage/lock';
import type { TaskRef } from '../../src/storage/paths';
import { commandRows } from './command';
import { gitHookRows } from './gitHooks';
import { receiptRows } from './receipts';
import { type Row, median, print } from './rows';

const TMPFS = 0x01021994;
/** Temporary file, sync, rename: the least that a durable write of these bytes can be. */
function durableWrite(folder: string, text: string): void {
  const temporary = path.join(folder, 'floor.tmp');
  const fd = openSync(temporary, 'w');
  writeSync(fd, text);
  fsyncSync(fd);
  closeSync(fd);
  renameSync(temporary, path.join(folder, 'floor'));
}

async function checkpoints(atlas: Atlas, folder: string, events: number): Promise<Row> {
  const ref: TaskRef = unwrap(await atlas.startTask({ title: `bench ${events}`, template: 'task', folder })).ref;
  unwrap(await atlas.startStep(ref));
  const { config } = await atlas.configs.forWorktree(undefined);
  const files = Array.from({ length: 20 }, (_each, index) => ({
    path: `src/file${index}.ts`,
    size: 1000 + index,
    mod_time: '2026-01-17T14:42:10.000Z',
    sha256: '0123456789abcdef',
    exists: true,
  }));
  const checkpoint = async (): Promise<string> => {
    const input = { type: 'checkpoint', trigger: 'manual', description: 'half way' } as const;
    return serializeHook(unwrap(await atlas.store.send(ref, input, { config, capture: { files } })).hook);
  };
  let text = '';
  for (let count = 0; count < events; count += 1) text = await checkpoint();
  return {
    what: `checkpoint, ${events} events, 20 snapshots each (hook.json ${Math.round(text.length / 1024)} KB)`,
    amount: await median(checkpoint),
    beside: {
      what: 'durable write of the same bytes',
      amount: await median(() => durableWrite(folder, text)),
      ratio: 'times',
    },
  };
}

async function openTasks(atlas: Atlas): Promise<Row> {
  const folder = atlas.ports.paths.open;
  mkdirSync(folder, { recursive: true });
  for (let count = 0; count < 1000; count += 1) {
    writeFileSync(path.join(folder, `many@task-20260117-${String(count).padStart(6, '0')}`), '');
  }
  return {
    what: 'which of the tasks are open, 1,000 of them',
    amount: await median(() => atlas.catalog.open('many').length),
    beside: {
      what: 'list of the folder',
      amount: await median(() => atlas.ports.files.list(folder).length),
      ratio: 'times',
    },
  };
}

async function lockTurn(atlas: Atlas, folder: string): Promise<Row> {
  const lock = new GenerationLock(path.join(folder, 'locks'), atlas.ports);
  let count = 0;
  return {
    what: 'one uncontended turn of the lock',
    amount: await median(async () => (await lock.acquire()).release()),
    beside: {
      what: 'write of a small file',
      amount: await median(() => writeFileSync(path.join(folder, `small${(count += 1)}`), 'x')),
      ratio: 'times',
    },
  };
}

const root = realpathSync(mkdtempSync(path.join(process.env['BENCH_FOLDER'] ?? os.tmpdir(), 'atlas-bench-')));
try {
  const { type } = statfsSync(root);
  if (type === TMPFS)
    throw new Error('This folder lies in memory, where a sync costs nothing: name another in BENCH_FOLDER.');
  const folder = path.join(root, 'project');
  mkdirSync(folder);
  const atlas = new Atlas(systemPorts(path.join(root, 'home'), 'bench', silentLog));
  const rows = [
    await lockTurn(atlas, folder),
    await checkpoints(atlas, folder, 10),
    await checkpoints(atlas, folder, 1000),
    await openTasks(atlas),
  ];
  console.log(`file system type 0x${type.toString(16)}; medians`);
  print([...rows, ...(await commandRows()), ...(await gitHookRows(root)), ...(await receiptRows(root))]);
} finally {
  rmSync(root, { recursive: true, force: true });
}
