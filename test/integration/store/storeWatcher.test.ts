import { mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { silentLog } from '../../../src/service/ports';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { StoreWatcher } from '../../../src/store/storeWatcher';
import { type TestStore, editFile, makeStore } from '../../support/fixtures/store';
import { WorkerPool } from '../../support/processes/workerPool';

let store: TestStore;
let pool: WorkerPool;
let watcher: StoreWatcher;
let heard: TaskRef[];
let wake: () => void;

beforeAll(async () => {
  pool = await WorkerPool.open();
});
afterAll(async () => {
  await pool.close();
});
beforeEach(() => {
  store = makeStore();
  heard = [];
  wake = () => undefined;
  mkdirSync(store.atlas.ports.paths.open, { recursive: true });
  watcher = new StoreWatcher(store.atlas.ports.paths, silentLog, (refs) => {
    heard.push(...refs);
    wake();
  });
});
afterEach(() => {
  watcher.close();
  store.dispose();
});

/** Waits until a task was told of, and forgets what was told so far. */
async function told(ref: TaskRef): Promise<void> {
  while (!heard.some((other) => other.id === ref.id)) await new Promise<void>((resolve) => (wake = resolve));
  heard = [];
}

/** How many inotify watches this process has, as the kernel counts them. */
function watches(): number {
  return readdirSync('/proc/self/fdinfo')
    .flatMap((fd) => {
      try {
        return readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8').split('\n');
      } catch {
        return [];
      }
    })
    .filter((line) => line.startsWith('inotify ')).length;
}

describe('the watcher of a store', () => {
  it("tells of another process's changes, one after the other, though each replaces the file", async () => {
    const ref = await store.running();
    watcher.start([ref]);
    for (let turn = 0; turn < 3; turn += 1) {
      await pool.start('checkpoints', store.root, [ref.workspace, ref.id, '1']).done();
      await told(ref);
    }
  });

  it('tells of a task that was started elsewhere, and of its end', async () => {
    watcher.start([]);
    const [id = ''] = await pool.start('start', store.root, [store.folder, '1']).done();
    const ref = { workspace: 'work', id };
    await told(ref);
    unwrap(await store.other().send(ref, { type: 'abandon', by: 'human' }));
    await told(ref);
  });

  it('tells of a foreign program, whether it writes in place or renames', async () => {
    const ref = await store.running();
    watcher.start([ref]);
    const hook = store.atlas.ports.paths.hook(ref);
    editFile(hook, (text) => `${text} `);
    await told(ref);
    for (let turn = 0; turn < 3; turn += 1) {
      writeFileSync(path.join(store.folder, 'new'), readFileSync(hook));
      renameSync(path.join(store.folder, 'new'), hook);
      await told(ref);
    }
  });

  it('tells of tasks that are added while it watches, and no more of those that are removed', async () => {
    const [first, second] = [await store.running(), await store.running()];
    watcher.start([]);
    watcher.add(first);
    watcher.add(second);
    // The watch of a folder that is added begins in its own time; the marker tells of our own changes at once.
    unwrap(await store.other().checkpoint(first, 'x'));
    await told(first);
    watcher.remove(first);
    watcher.remove(first);
    unwrap(await store.other().checkpoint(second, 'x'));
    await told(second);
  });

  it('has one watch for each open task and one for the markers, whatever else lies in the store', async () => {
    const refs: TaskRef[] = [];
    for (let index = 0; index < 20; index += 1) {
      const ref = await store.start();
      if (index < 5) refs.push(ref);
      else unwrap(await store.other().send(ref, { type: 'abandon', by: 'human' }));
    }
    const before = watches();
    watcher.start(refs);
    expect(watches() - before).toBeLessThanOrEqual(refs.length + 2);
    expect(watches() - before).toBeGreaterThan(refs.length);
  });

  it('says nothing of HOOK.md, the journal and the log, of files that are no markers, or after it was closed', async () => {
    const ref = await store.running();
    const other = await store.running();
    watcher.start([ref, other]);
    const folder = store.atlas.ports.paths.task(ref);
    for (const name of ['HOOK.md', 'task.log', 'x.tmp']) writeFileSync(path.join(folder, name), 'x');
    writeFileSync(path.join(store.atlas.ports.paths.open, '.DS_Store'), '');
    unwrap(await store.other().checkpoint(other, 'x'));
    while (heard.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    expect(new Set(heard.map((item) => item.id))).toEqual(new Set([other.id]));
    const before = watches();
    watcher.close();
    expect(watches()).toBeLessThan(before);
  });
});
