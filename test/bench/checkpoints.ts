import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { unwrap } from '../../src/core/shared/errors';
import { type TaskRecord, serializeRecord } from '../../src/core/task/taskRecord';
import { Atlas } from '../../src/service/atlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import { GenerationLock } from '../../src/system/locks/lock';
import { NodeFileSystem } from '../../src/system/files/nodeFileSystem';
import { tapped } from '../support/fixtures/store';
import { type Row, medianOf, timed } from './rows';

/** Rounds in which each is measured once, so that all see the same machine. */
const ROUNDS = 200;
const WARM_UP = 50;
const MAX_TIMES_FLOOR = 4;
const MAX_SYNCS = 3;
const EVENTS = [10, 1000, 10_000] as const;
const FILES = Array.from({ length: 20 }, (_each, index) => ({
  path: `src/file${index}.ts`,
  size: 1000 + index,
  mod_time: '2026-01-17T14:42:10.000Z',
  sha256: '0123456789abcdef',
  exists: true,
}));

/** Temporary file, sync, rename: the least that a durable write of these bytes can be. */
function durableWrite(folder: string, text: string): void {
  const temporary = path.join(folder, 'floor.tmp');
  const fd = openSync(temporary, 'w');
  writeSync(fd, text);
  fsyncSync(fd);
  closeSync(fd);
  renameSync(temporary, path.join(folder, 'floor'));
}

/** A task that is driven, and how often its last change waited for the disk. */
interface Driven {
  readonly events: number;
  readonly checkpoint: () => Promise<TaskRecord>;
  readonly syncs: () => number;
}

/** A task with a full list of checkpoints, 20 snapshots each, and so many events. */
async function drive(root: string, folder: string, events: number): Promise<Driven> {
  let syncs = 0;
  const files = tapped(new NodeFileSystem(), (operation, args) => {
    const waits = args.some((arg) => typeof arg === 'object' && arg !== null && 'sync' in arg && arg.sync === true);
    if (operation === 'syncFolder' || operation === 'truncate' || waits) syncs += 1;
  });
  const atlas = new Atlas({ ...systemPorts(path.join(root, 'home'), 'bench', silentLog), files });
  const { ref } = unwrap(await atlas.startTask({ title: `bench ${events}`, template: 'task', folder }));
  unwrap(await atlas.startStep(ref));
  const { config } = await atlas.configs.forWorktree(undefined);
  const checkpoint = async (): Promise<TaskRecord> => {
    syncs = 0;
    const input = { type: 'checkpoint', trigger: 'manual', description: 'half way' } as const;
    return unwrap(await atlas.store.send(ref, input, { config, capture: { files: FILES } })).hook;
  };
  // Fifty checkpoints belong to the smallest too, and no process is busy with what it does for the first time.
  for (let count = 0; count < 60; count += 1) await checkpoint();
  const { hook } = unwrap(atlas.store.read(ref));
  const last = hook.history.at(-1);
  const missing = Math.max(0, events - hook.history.length);
  if (last === undefined || missing === 0) return { events, checkpoint, syncs: () => syncs };
  // Ten thousand checkpoints would take minutes: the store takes over a longer history that somebody wrote into the file.
  const history = [...hook.history, ...Array.from({ length: missing }, () => last)];
  writeFileSync(atlas.ports.paths.hook(ref), serializeRecord({ ...hook, history }));
  await checkpoint();
  const kept = unwrap(atlas.store.read(ref)).hook.history.length;
  if (kept < events) throw new Error(`the longer history was not taken over: ${kept} events`);
  return { events, checkpoint, syncs: () => syncs };
}

/** What one checkpoint costs, all told, beside a durable write of the same bytes, by the length of the history. */
export async function checkpointRows(root: string): Promise<Row[]> {
  const folder = path.join(root, 'project');
  mkdirSync(folder, { recursive: true });
  const measured = [];
  for (const events of EVENTS) {
    const driven = await drive(root, folder, events);
    measured.push({
      driven,
      text: serializeRecord(await driven.checkpoint()),
      times: [] as number[],
      floors: [] as number[],
    });
  }
  for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
    // What was written just before weighs on the next: each comes after each of the others as often.
    for (let place = 0; place < measured.length; place += 1) {
      const each = measured[(round + place) % measured.length];
      if (each === undefined) continue;
      const { driven, text, times, floors } = each;
      const time = await timed(() => driven.checkpoint());
      const floor = await timed(() => durableWrite(folder, text));
      if (round < WARM_UP) continue;
      times.push(time);
      floors.push(floor);
    }
  }
  const smallest = medianOf(measured[0]?.times ?? []);
  return measured.flatMap(({ driven, text, times, floors }): Row[] => {
    const [amount, floor] = [medianOf(times), medianOf(floors)];
    const what = `checkpoint, ${driven.events} events, 50 checkpoints × 20 snapshots (hook.json ${Math.round(text.length / 1024)} KB)`;
    const beside = { what: 'durable write of the same bytes', amount: floor, ratio: 'times' } as const;
    const syncs = driven.syncs();
    const rows: Row[] = [
      {
        what,
        amount,
        beside,
        bar: {
          text: `≤ ${MAX_TIMES_FLOOR} ×, ${syncs} of ≤ ${MAX_SYNCS} syncs`,
          met: amount <= MAX_TIMES_FLOOR * floor && syncs <= MAX_SYNCS,
        },
      },
    ];
    if (driven.events !== 10_000) return rows;
    const first = { what: 'the same, 10 events', amount: smallest, ratio: 'times' } as const;
    return [...rows, { what, amount, beside: first, bar: { text: '≤ 4 ×', met: amount <= 4 * smallest } }];
  });
}

/** One turn of the lock that nobody else wants. */
export async function lockRow(root: string): Promise<Row> {
  const lock = new GenerationLock(path.join(root, 'locks'), systemPorts(root, 'bench', silentLog));
  const turns: number[] = [];
  const floors: number[] = [];
  for (let count = 0; count < ROUNDS + WARM_UP; count += 1) {
    turns.push(await timed(async () => (await lock.acquire()).release()));
    floors.push(await timed(() => writeFileSync(path.join(root, `small${count}`), 'x')));
  }
  const amount = medianOf(turns);
  const beside = { what: 'write of a small file', amount: medianOf(floors), ratio: 'times' } as const;
  return { what: 'one uncontended turn of the lock', amount, beside };
}
