import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../../src/core/shared/errors';
import { type TestStore, makeStore } from '../../../support/fixtures/store';
import { WorkerPool } from '../../../support/processes/workerPool';

const PROCESSES = 8;
const EACH = 50;

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
});
afterEach(() => {
  store.dispose();
});

describe('many processes on one store', () => {
  it(
    `make ${PROCESSES} × ${EACH} checkpoints on one task, under the eyes of a reader that never stops`,
    { timeout: 120_000 },
    async () => {
      mkdirSync(store.root, { recursive: true });
      writeFileSync(path.join(store.root, 'config.yaml'), 'hooks:\n  max_checkpoints: 1000\n');
      const ref = await store.running();
      const args = [ref.workspace, ref.id];
      const reader = pool.start('read', store.root, args);
      await reader.speaks();
      const writers = Array.from({ length: PROCESSES }, () =>
        pool.start('checkpoints', store.root, [...args, String(EACH)]),
      );
      const said = (await Promise.all(writers.map(async (writer) => writer.done()))).flat();
      reader.process.stdin?.end();
      const reads = Number((await reader.done()).at(-1));
      expect(reads).toBeGreaterThan(100);
      const { hook, suspect } = unwrap(store.atlas.store.read(ref));
      expect(suspect).toBe(false);
      const ids = hook.checkpoints.map((item) => item.checkpoint_id);
      expect(ids).toHaveLength(PROCESSES * EACH);
      expect(new Set(ids).size).toBe(PROCESSES * EACH);
      expect(new Set(said)).toEqual(new Set(ids));
      const lines = readFileSync(store.atlas.ports.paths.journal(ref), 'utf8').trimEnd().split('\n');
      expect(lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual(
        lines.map((_, index) => index + 1),
      );
      rmSync(store.atlas.ports.paths.hook(ref));
      expect(unwrap(await store.atlas.reconcile(ref)).hook).toEqual(hook);
    },
  );

  it('start tasks at the same second, each with an id of its own', { timeout: 60_000 }, async () => {
    const starters = Array.from({ length: 4 }, () => pool.start('start', store.root, [store.folder, '5']));
    const ids = (await Promise.all(starters.map(async (starter) => starter.done()))).flat();
    expect(ids).toHaveLength(20);
    expect(new Set(ids).size).toBe(20);
    expect(store.atlas.catalog.openTasks()).toHaveLength(20);
    expect(store.atlas.workspaces.names()).toHaveLength(1);
  });

  it('that find the same crash record it once', { timeout: 60_000 }, async () => {
    const ref = await store.running();
    const owner = pool.start('own', store.root, [ref.workspace, ref.id]);
    await owner.speaks();
    await owner.kill();
    const finders = Array.from({ length: 5 }, () => pool.start('detect', store.root, [ref.workspace, ref.id]));
    const said = (await Promise.all(finders.map(async (finder) => finder.done()))).flat();
    expect(said.filter((line) => line.endsWith('true'))).toEqual(['crashed true']);
    const { hook } = unwrap(store.atlas.store.read(ref));
    expect(hook.history.filter((event) => event.trigger === 'crash_detected')).toHaveLength(1);
    const before = readFileSync(store.atlas.ports.paths.hook(ref), 'utf8');
    unwrap(await store.atlas.recovery.detect(unwrap(store.atlas.store.read(ref))));
    expect(readFileSync(store.atlas.ports.paths.hook(ref), 'utf8')).toBe(before);
  });

  it('with two repositories of the same name get two workspaces, however they race', { timeout: 60_000 }, async () => {
    const base = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'atlas-same-')));
    for (let round = 0; round < 4; round += 1) {
      const folders = [1, 2].map((number) => path.join(base, `${round}-${number}`, `name${round}`));
      for (const folder of folders) mkdirSync(folder, { recursive: true });
      const racers = [...folders, ...folders].map((folder) => pool.start('ensure', store.root, [folder]));
      const [a, b, again, twice] = (await Promise.all(racers.map(async (racer) => racer.done()))).map(([name]) => name);
      expect([again, twice]).toEqual([a, b]);
      expect(a).not.toBe(b);
    }
    rmSync(base, { recursive: true });
  });
});
