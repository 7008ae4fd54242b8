import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { InboxWatcher } from '../../../src/store/inbox/inboxWatcher';
import { silentLog } from '../../../src/service/ports';
import { type TestStore, makeStore } from '../../support/fixtures/store';
import { WorkerPool } from '../../support/processes/workerPool';

const WS = 'work';

let pool: WorkerPool;
let store: TestStore;
let watcher: InboxWatcher;
let heard: string[];
let wake: () => void;

beforeAll(async () => {
  pool = await WorkerPool.open('test/support/processes/inboxWorker.ts');
});
afterAll(async () => {
  await pool.close();
});
beforeEach(() => {
  store = makeStore();
  heard = [];
  wake = () => undefined;
  const hear = (what: string) => () => {
    heard.push(what);
    wake();
  };
  watcher = new InboxWatcher(store.atlas.ports.paths, silentLog, {
    onInbox: hear('inbox'),
    onWorkspaces: hear('workspaces'),
  });
});
afterEach(() => {
  watcher.close();
  store.dispose();
});

/** Waits until it was told of, and forgets what was told so far. */
async function told(what: string): Promise<void> {
  while (!heard.includes(what)) await new Promise<void>((resolve) => (wake = resolve));
  heard = [];
}

/** Only Linux counts them. */
const COUNTS_WATCHES = process.platform === 'linux';

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

describe('the watcher of inboxes', () => {
  it('tells of the first item of a workspace that had no inbox, and of each change of an item', async () => {
    unwrap(store.atlas.workspaces.ensure(store.folder, undefined));
    watcher.follow([WS], false);
    const inbox = await store.atlas.inbox();
    unwrap(await inbox.add(WS, { content: 'one' }));
    await told('inbox');
    watcher.follow([WS], false);
    unwrap(await inbox.add(WS, { content: 'two' }));
    await told('inbox');
    unwrap(await inbox.next(WS, {}));
    await told('inbox');
    unwrap(await inbox.complete(WS, 1, 'done'));
    await told('inbox');
    unwrap(await inbox.cancel(WS, 2));
    await told('inbox');
  });

  it("tells of another process's claims", async () => {
    unwrap(store.atlas.workspaces.ensure(store.folder, undefined));
    const inbox = await store.atlas.inbox();
    for (const content of ['one', 'two']) unwrap(await inbox.add(WS, { content }));
    watcher.follow([WS], false);
    const claimant = pool.start('claims', store.root, [WS]);
    await claimant.speaks();
    await claimant.asked('go');
    await told('inbox');
    expect(unwrap(inbox.list(WS)).open.map(({ status }) => status)).toEqual(['processing', 'processing']);
  });

  it('tells of a wake once it is published', async () => {
    unwrap(store.atlas.workspaces.ensure(store.folder, undefined));
    watcher.follow([WS], false);
    const folder = store.atlas.ports.paths.workspace(WS);
    mkdirSync(path.join(folder, '.due.wake-email-7'));
    mkdirSync(path.join(folder, 'other'));
    renameSync(path.join(folder, '.due.wake-email-7'), path.join(folder, '.wake-email-7'));
    await told('inbox');
  });

  it.runIf(COUNTS_WATCHES)('takes two watches a workspace, and gives back those of one that is left', () => {
    const before = watches();
    for (const name of ['a', 'b']) mkdirSync(store.atlas.ports.paths.inbox(name), { recursive: true });
    watcher.follow(['a', 'b'], false);
    watcher.follow(['a', 'b'], false);
    expect(watches() - before).toBe(4);
    watcher.follow(['b'], false);
    expect(watches() - before).toBe(2);
    watcher.follow(['b'], true);
    expect(watches() - before).toBe(3);
    watcher.close();
    expect(watches() - before).toBe(0);
  });

  it('tells of a workspace that is waited for, in a store that has none', async () => {
    mkdirSync(store.root, { recursive: true });
    watcher.follow([], true);
    unwrap(store.atlas.workspaces.ensure(store.folder, undefined));
    await told('workspaces');
    watcher.follow([], true);
    unwrap(store.atlas.workspaces.ensure(path.join(store.root, 'elsewhere'), undefined));
    await told('workspaces');
  });

  it('follows a folder that was destroyed and made again', async () => {
    const inbox = store.atlas.ports.paths.inbox(WS);
    mkdirSync(inbox, { recursive: true });
    watcher.follow([WS], false);
    rmSync(store.atlas.ports.paths.workspace(WS), { recursive: true });
    await told('inbox');
    mkdirSync(inbox, { recursive: true });
    watcher.follow([WS], false);
    mkdirSync(path.join(inbox, '1.json'));
    await told('inbox');
  });

  it.runIf(COUNTS_WATCHES)('does not follow links', () => {
    const before = watches();
    mkdirSync(store.atlas.ports.paths.workspaces, { recursive: true });
    symlinkSync(store.folder, store.atlas.ports.paths.workspace(WS));
    watcher.follow([WS], false);
    expect(watches() - before).toBe(0);
  });
});
