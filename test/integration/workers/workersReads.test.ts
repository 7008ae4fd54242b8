import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { GitObjects } from '../../../src/workers/git/gitObjects';
import { type Clone, Clones } from '../../support/fixtures/forgeClones';
import { type ForgeWorld, makeForgeWorld } from '../../support/fixtures/forgeWorld';

/* How often an operation asks where branches are: once of what nobody else can have moved meanwhile. */

let world: ForgeWorld;
let clones: Clones;
let a: Clone;

beforeEach(() => {
  world = makeForgeWorld();
  clones = new Clones(world);
  a = clones.add('a');
});
afterEach(() => {
  vi.restoreAllMocks();
  world.dispose();
});

/** How often our branches, those of one remote, and those of all remotes are read. */
async function readsOf<T>(
  operation: () => Promise<T>,
): Promise<{ readonly reads: readonly number[]; readonly said: T }> {
  const spy = vi.spyOn(GitObjects.prototype, 'branches');
  const said = await operation();
  const asked = spy.mock.calls.map(([prefixes]) => prefixes.join());
  spy.mockRestore();
  const kinds = ['refs/heads/forge/', 'refs/remotes/origin/forge/', 'refs/remotes/'];
  expect(asked.filter((prefix) => !kinds.includes(prefix))).toEqual([]);
  return { reads: kinds.map((kind) => asked.filter((prefix) => prefix === kind).length), said };
}

async function wholeLife(): Promise<Record<string, readonly number[]>> {
  const { workers } = a;
  const add = await readsOf(async () => workers.slinging.addTasks([{ id: 't0', type: 'x', input: {} }]));
  const sling = await readsOf(async () => a.sling('w1', 't1'));
  unwrap(sling.said);
  const claim = await readsOf(async () => workers.claim({ worker: 'w1' }));
  const { lease } = unwrap(claim.said);
  const end = await readsOf(async () => workers.steps.ending.end(lease, 'complete'));
  unwrap(end.said);
  const clear = await readsOf(async () => workers.steps.clear('w1'));
  unwrap(clear.said);
  const list = await readsOf(async () => workers.statuses.all());
  return {
    add: add.reads,
    sling: sling.reads,
    claim: claim.reads,
    end: end.reads,
    clear: clear.reads,
    list: list.reads,
  };
}

describe('where branches are', { timeout: 60_000 }, () => {
  it('is read once an operation, and by a claim once more under the lock', async () => {
    expect(await wholeLife()).toEqual({
      add: [1, 0, 1],
      sling: [1, 0, 1],
      claim: [2, 0, 1],
      end: [1, 0, 1],
      clear: [1, 0, 1],
      list: [1, 0, 1],
    });
  });

  it('is read once more where it is shared: after a change, or what was fetched', async () => {
    unwrap(await a.sling('w0', 'first'));
    const first = await readsOf(async () => a.workers.sharing.sync());
    expect(first.reads).toEqual([1, 1, 1]);
    expect(await wholeLife()).toEqual({
      add: [2, 1, 0],
      sling: [1, 1, 0],
      claim: [2, 1, 0],
      end: [2, 1, 0],
      clear: [2, 1, 0],
      list: [1, 1, 0],
    });
  });
});
