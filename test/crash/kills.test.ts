import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../src/core/shared/errors';
import { taskRecordSchema } from '../../src/core/task/taskRecord';
import { taskSchema } from '../../src/core/task/task';
import type { TaskRef } from '../../src/core/task/taskRef';
import { type TestStore, contentsOf, makeStore } from '../support/fixtures/store';
import { type Worker, WorkerPool } from '../support/processes/workerPool';

/** How many processes are killed; a few hundred take about a minute. */
const KILLS = Number(process.env['ATLAS_KILLS'] ?? '40');
/** At most this long after it said something a process is killed, in ms: several changes take as long. */
const SPREAD_MS = 25;
const REPAIRED = new Set(['torn_line', 'replayed', 'task_aligned']);

let pool: WorkerPool;
let store: TestStore;
beforeAll(async () => {
  pool = await WorkerPool.open();
});
afterAll(async () => {
  await pool.close();
});
beforeEach(() => {
  store = makeStore();
  mkdirSync(store.root, { recursive: true });
  writeFileSync(path.join(store.root, 'config.yaml'), 'hooks:\n  max_step_attempts: 100\n');
});
afterEach(() => {
  store.dispose();
});

async function killedSometime(worker: Worker): Promise<void> {
  await worker.speaks();
  await after(Math.random() * SPREAD_MS);
  await worker.kill();
}

/** The highest length of the history that a worker said was reached, and the event that reached it. */
function acknowledged(workers: readonly Worker[]): { length: number; event: string }[] {
  return workers.flatMap(({ lines }) =>
    lines.map((line) => {
      const [length = '', event = ''] = line.split(' ');
      return { length: Number(length), event };
    }),
  );
}

/** What has to hold before anybody fixed anything: each file that is there is whole. */
function checkWhole(ref: TaskRef): void {
  const { paths } = store.atlas.ports;
  taskRecordSchema.parse(JSON.parse(readFileSync(paths.hook(ref), 'utf8')));
  taskSchema.parse(JSON.parse(readFileSync(paths.taskFile(ref), 'utf8')));
  expect(readFileSync(paths.markdown(ref), 'utf8')).toMatch(/^# [^]*\n$/u);
}

async function checkRepaired(ref: TaskRef, workers: readonly Worker[]): Promise<string[]> {
  checkWhole(ref);
  const first = unwrap(await store.other().reconcile(ref));
  for (const { kind } of first.findings) expect(REPAIRED).toContain(kind);
  for (const { length, event } of acknowledged(workers)) {
    expect(first.hook.history.slice(0, length).at(-1)?.trigger).toBe(event);
  }
  const files = contentsOf(store.root);
  const second = unwrap(await store.other().reconcile(ref));
  expect(second.findings).toEqual([]);
  expect(contentsOf(store.root)).toEqual(files);
  expect(unwrap(store.other().store.read(ref)).suspect).toBe(false);
  const markdown = readFileSync(store.atlas.ports.paths.markdown(ref), 'utf8');
  unwrap(await store.other().regenerate(ref));
  expect(readFileSync(store.atlas.ports.paths.markdown(ref), 'utf8')).toBe(markdown);
  return first.findings.map((finding) => finding.kind);
}

describe('processes killed at any moment', { timeout: 300_000 }, () => {
  it(`lose nothing that they acknowledged, one at a time (${KILLS} kills)`, async () => {
    let ref = await store.start();
    const found: string[] = [];
    let said = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      // A history that grows for ever would make each turn slower.
      if (kill % 25 === 24) ref = await store.start();
      const worker = pool.start('drive', store.root, [ref.workspace, ref.id, String(kill)]);
      await killedSometime(worker);
      said += worker.lines.length;
      found.push(...(await checkRepaired(ref, [worker])));
    }
    expect(said).toBeGreaterThanOrEqual(KILLS);
    console.log(`fixed after ${KILLS} kills: ${found.join(', ') || 'nothing'}`);
    const { hook } = unwrap(store.atlas.store.read(ref));
    writeFileSync(store.atlas.ports.paths.hook(ref), '');
    expect(unwrap(await store.atlas.reconcile(ref)).hook).toEqual(hook);
  });

  it(`lose nothing that they acknowledged, three at a time on one task (${KILLS} kills)`, async () => {
    let ref = await store.running();
    for (let kill = 0; kill < KILLS; kill += 3) {
      if (kill % 24 === 21) ref = await store.running();
      const workers = [0, 1, 2].map(() => pool.start('checkpoints', store.root, [ref.workspace, ref.id, '1000']));
      await Promise.all(workers.map(killedSometime));
      checkWhole(ref);
      const fixed = unwrap(await store.other().reconcile(ref));
      for (const { kind } of fixed.findings) expect(REPAIRED).toContain(kind);
      const ids = new Set(fixed.hook.history.map((event) => event.details?.['checkpoint_id']));
      for (const worker of workers) for (const id of worker.lines) expect(ids).toContain(id);
      const files = contentsOf(store.root);
      expect(unwrap(await store.other().reconcile(ref)).findings).toEqual([]);
      expect(contentsOf(store.root)).toEqual(files);
    }
  });

  it('while they start tasks leave each task whole, or none', async () => {
    for (let kill = 0; kill < Math.ceil(KILLS / 4); kill += 1) {
      const worker = pool.start('start', store.root, [store.folder, '1000']);
      await killedSometime(worker);
      const [workspace = ''] = store.atlas.workspaces.names();
      for (const id of worker.lines) {
        expect(unwrap(store.atlas.store.read({ workspace, id }))).toMatchObject({
          suspect: false,
          hook: { state: 'step_pending' },
        });
      }
      const swept: TaskRef[] = [];
      await store.other().catalog.sweep((ref) => swept.push(ref));
      expect(swept).toEqual([]);
      for (const ref of store.other().catalog.open()) {
        const fixed = await store.other().reconcile(ref);
        if (fixed.ok) expect(['initializing', 'step_pending']).toContain(fixed.value.hook.state);
        else expect(fixed.error.code).toBe('not_found');
      }
    }
  });
});
