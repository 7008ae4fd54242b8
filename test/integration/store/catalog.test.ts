import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { NodeFileSystem } from '../../../src/system/files/nodeFileSystem';
import { type TestStore, makeStore, tapped } from '../../support/fixtures/store';

const MINUTE_MS = 60_000;

describe('the catalog of a window that stays open', () => {
  let store: TestStore;

  afterEach(() => store.dispose());

  it('reads a task once while it is asked for, and forgets one that nobody asks for', async () => {
    store = makeStore();
    const ref = await store.running();
    let now = Date.now();
    let reads = 0;
    const files = tapped(new NodeFileSystem(), (operation) => (reads += Number(operation === 'read')));
    const { catalog } = store.other({ files, clock: { now: () => now } });
    const readsOf = (ask: () => unknown): number => {
      const before = reads;
      ask();
      return reads - before;
    };
    const read = (): unknown => unwrap(catalog.read(ref));
    expect(readsOf(read)).toBeGreaterThan(0);
    for (let turn = 0; turn < 20; turn += 1) {
      now += MINUTE_MS;
      expect(readsOf(read)).toBe(0);
    }
    const other = await store.running();
    for (let turn = 0; turn < 3; turn += 1) {
      now += 3 * MINUTE_MS;
      unwrap(catalog.read(other));
    }
    expect(readsOf(read)).toBeGreaterThan(0);
  });

  it('takes no task for an edited one that it read while another process was writing it', async () => {
    store = makeStore();
    const ref = await store.running();
    const { catalog, ports } = store.other();
    const hookMd = ports.paths.markdown(ref);
    const before = readFileSync(hookMd);
    unwrap(await store.atlas.checkpoint(ref, 'half way'));
    const after = readFileSync(hookMd);
    writeFileSync(hookMd, before);
    expect(unwrap(catalog.read(ref)).suspect).toBe(true);
    writeFileSync(hookMd, after);
    expect(unwrap(catalog.read(ref)).suspect).toBe(false);
  });
});
