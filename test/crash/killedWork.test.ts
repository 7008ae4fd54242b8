import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../src/core/shared/errors';
import { KILLED_WORK, type KilledWork } from '../support/faults/killedWork';
import { type TestStore, contentsOf, makeStore } from '../support/fixtures/store';
import { checkTasks, repair } from '../support/faults/storeInvariants';
import { checkReceipts } from '../support/fixtures/caseHelpers';
import { type Worker, WorkerPool } from '../support/processes/workerPool';

/** How many processes are killed at each kind of work. */
const KILLS = Number(process.env['ATLAS_KILLS'] ?? '6');
/** At most this long after it said something a process is killed, in ms: a round or two take as long. */
const SPREAD_MS: Readonly<Record<KilledWork | 'key', number>> = {
  ...{ validate: 120, recover: 40, clean: 40, hooks: 60, drain: 80, key: 60 },
};
const HOOK = '#!/bin/sh\necho theirs\n';

let pool: WorkerPool;
let store: TestStore;
beforeAll(async () => {
  pool = await WorkerPool.open();
});
afterAll(async () => {
  await pool.close();
});
const theirs = (): string => path.join(store.folder, '.git', 'hooks', 'post-commit');
beforeEach(() => {
  store = makeStore();
  mkdirSync(path.join(store.root, 'spool'), { recursive: true });
  writeFileSync(path.join(store.root, 'config.yaml'), 'hooks:\n  signing:\n    scheme: ed25519\n');
  const git = (...args: string[]): void => void execFileSync('git', args, { cwd: store.folder, stdio: 'ignore' });
  git('init', '--quiet', '--template=', '--initial-branch=main');
  for (const [key, value] of [
    ['user.name', 'Test'],
    ['user.email', 'test@example.invalid'],
    ['commit.gpgSign', 'false'],
  ] as const) {
    git('config', key, value);
  }
  git('commit', '--quiet', '--allow-empty', '--message', 'first');
  mkdirSync(path.dirname(theirs()));
  writeFileSync(theirs(), HOOK);
  chmodSync(theirs(), 0o755);
});
afterEach(() => {
  store.dispose();
});

async function killedSometime(worker: Worker, spread: number): Promise<void> {
  await worker.speaks();
  await after(Math.random() * spread);
  await worker.kill();
}

/** What each kind of work never may leave behind. */
async function checkWork(work: KilledWork, said: readonly string[]): Promise<void> {
  const atlas = store.other();
  const refs = atlas.workspaces
    .names()
    .flatMap((workspace) => atlas.workspaces.taskIds(workspace).map((id) => ({ workspace, id })));
  if (work === 'validate') {
    for (const ref of refs) if (atlas.store.read(ref).ok) await checkReceipts(atlas, ref);
    for (const [id, receipt] of said.map((line) => line.split(' '))) {
      const ref = refs.find((each) => each.id === id);
      if (ref === undefined) throw new Error(`${id ?? ''} is gone`);
      expect(unwrap(atlas.store.read(ref)).hook.receipts.map((each) => each.receipt_id)).toContain(receipt);
    }
  }
  if (work === 'hooks') expect(readFileSync(theirs(), 'utf8')).toContain('echo theirs');
  if (work === 'drain') {
    unwrap(await (await atlas.spool()).drain());
    const repository = await atlas.ports.git.locate(store.folder);
    if (repository === undefined) throw new Error('no repository');
    unwrap(await (await atlas.git()).scan(repository));
    const commits = Number(
      execFileSync('git', ['rev-list', '--count', 'HEAD'], { cwd: store.folder, encoding: 'utf8' }),
    );
    // Each commit but the one before the task has one checkpoint, however often somebody died.
    const made = refs.flatMap((ref) => unwrap(atlas.store.read(ref)).hook.history);
    const sources = made.filter(({ details }) => details?.['trigger'] === 'git_commit');
    expect(sources).toHaveLength(commits - 1);
  }
}

describe('work that is killed at any moment', { timeout: 3_600_000 }, () => {
  it.each(KILLED_WORK)(`%s: loses nothing that was told of (${KILLS} kills)`, async (work) => {
    if (work === 'drain') unwrap(await store.other().startStep(await store.start()));
    for (let kill = 0; kill < KILLS; kill += 1) {
      const worker = pool.start(`work-${work}`, store.root, [store.folder]);
      await killedSometime(worker, SPREAD_MS[work]);
      await repair(store.other());
      await checkTasks(store.other());
      const files = contentsOf(store.root);
      expect(await repair(store.other())).toEqual([]);
      expect(contentsOf(store.root)).toEqual(files);
      await checkWork(work, worker.lines.slice(1));
    }
  });

  it.each(['hd', 'ed25519'])(`making the %s key makes one, and tells of no other (${KILLS} kills)`, async (scheme) => {
    for (let kill = 0; kill < KILLS; kill += 1) {
      const root = path.join(store.root, `${scheme}-${kill}`);
      const worker = pool.start('key', root, [scheme, 'ready']);
      await killedSometime(worker, SPREAD_MS.key);
      const [, told] = worker.lines;
      const [again] = await pool.start('key', root, [scheme]).done();
      expect(told ?? again).toBe(again);
      const read = (name: string): string => readFileSync(path.join(root, 'keys', name), 'utf8');
      expect(read('master.key.bak')).toBe(read('master.key'));
      expect(read('receipts.pub.json')).toContain(again);
    }
  });
});
