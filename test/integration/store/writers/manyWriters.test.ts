import { chmodSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../../src/core/shared/errors';
import type { Processes } from '../../../../src/core/shared/ports';
import { checkChain } from '../../../../src/store/task/journalChain';
import type { TaskRef } from '../../../../src/core/task/taskRef';
import { SystemProcesses, systemProbe } from '../../../../src/system/processes';
import { SettlingLock } from '../../../../src/system/locks/settlingLock';
import { signalProcess } from '../../../support/drivers/commandRuns';
import { until } from '../../../support/fixtures/hookWorld';
import { type TestStore, contentsOf, makeStore } from '../../../support/fixtures/store';
import { WorkerPool } from '../../../support/processes/workerPool';

const MINUTE = 60_000;
const YEAR = 365 * 24 * 60 * MINUTE;
const RACERS = 8;

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

/** The descriptions of a task's checkpoints, after its files were found whole and to be those of its journal. */
async function checkWhole(ref: TaskRef): Promise<string[]> {
  const { paths, files } = store.atlas.ports;
  const fixed = unwrap(await store.other().reconcile(ref));
  expect(fixed.findings).toEqual([]);
  expect(unwrap(checkChain(files, paths.journal(ref)))).toBeUndefined();
  const bytes = readFileSync(paths.hook(ref), 'utf8');
  rmSync(paths.hook(ref));
  unwrap(await store.other().reconcile(ref));
  expect(readFileSync(paths.hook(ref), 'utf8')).toBe(bytes);
  return fixed.hook.checkpoints.map((item) => item.description);
}

/** Processes of which one was told that it runs on another machine, or in another namespace. */
function elsewhere(what: 'machineId' | 'pidNamespace'): Processes {
  return new SystemProcesses({ ...systemProbe(), [what]: 'another' });
}

describe('many processes that read the same crash', () => {
  it(`and apply its plan: one of ${RACERS} does, and the others change nothing`, { timeout: 60_000 }, async () => {
    const ref = await store.running();
    const owner = pool.start('own', store.root, [ref.workspace, ref.id]);
    await owner.speaks();
    await owner.kill();
    unwrap(await store.atlas.recovery.detect(unwrap(store.atlas.store.read(ref))));
    const racers = Array.from({ length: RACERS }, () => pool.start('recover', store.root, [ref.workspace, ref.id]));
    for (const racer of racers) await racer.speaks();
    for (const racer of racers) racer.process.stdin?.end();
    const said = (await Promise.all(racers.map(async (racer) => racer.done()))).map((lines) => lines.at(-1));
    expect(said.sort()).toEqual([
      ...Array.from({ length: RACERS - 1 }, () => 'illegal_transition'),
      'recovered step_pending',
    ]);
    const { hook } = unwrap(store.atlas.store.read(ref));
    const triggers = hook.history.map((event) => event.trigger);
    expect(triggers).toEqual(['init', 'setup_complete', 'start_step', 'crash_detected', 'retry_step']);
    await checkWhole(ref);
  });
});

// A process is stopped and continued by signals, which Windows doesn't have.
describe.skipIf(process.platform === 'win32')('a holder that was stopped in the middle of its change', () => {
  const isStopped = (pid: number): boolean => /\) [Tt] /u.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

  it.skipIf(process.platform !== 'linux').each(['machineId', 'pidNamespace'] as const)(
    'and can not be seen (other %s): others wait in vain, a person settles it, and it gives way when it wakes up',
    { timeout: 60_000 },
    async (what) => {
      const ref = await store.running();
      const holder = pool.start('stopped', store.root, [ref.workspace, ref.id]);
      await holder.speaks();
      const pid = holder.process.pid ?? 0;
      await until('it is stopped', () => isStopped(pid));
      const other = store.other({ processes: elsewhere(what) });
      const waited = await other.store.locked(ref, () => ({ ok: true, value: undefined }), 100);
      expect(waited).toMatchObject({ ok: false, error: { code: 'lock_timeout' } });
      expect(waited.ok ? '' : waited.error.message).toContain(`process ${pid}`);
      expect(waited.ok ? '' : waited.error.hint).toContain('Doctor');
      const folder = path.join(store.atlas.ports.paths.task(ref), 'locks');
      const here = new SettlingLock(folder, store.atlas.ports);
      const { generation } = here.inspect();
      expect(here.settle(generation), 'who can see that it lives does not settle').toBe(false);
      expect(new SettlingLock(folder, other.ports).settle(generation)).toBe(true);
      unwrap(await other.checkpoint(ref, 'of another'));
      const files = contentsOf(store.root);
      signalProcess(pid, 'SIGCONT');
      const said = (await holder.done()).at(-1);
      expect(said).not.toBe('made');
      expect(contentsOf(store.root)).toEqual(files);
      expect(await checkWhole(ref)).toEqual(['of another']);
    },
  );
});

describe('a clock that jumps', () => {
  it('in the middle of a step condemns nobody who lives, and leaves the journal in order', async () => {
    let ahead = 0;
    const clock = { now: (): number => Date.now() + ahead };
    const ref = await store.running();
    const owner = pool.start('own', store.root, [ref.workspace, ref.id]);
    await owner.speaks();
    const atlas = store.other({ clock });
    const kinds = new Set<string>();
    const jumps = [60 * MINUTE, -60 * MINUTE, YEAR, 0, -YEAR, 6 * MINUTE, 2 * YEAR, 0];
    for (const [index, jump] of jumps.entries()) {
      ahead = jump;
      kinds.add((await atlas.recovery.diagnose(unwrap(atlas.store.read(ref)))).kind);
      expect(unwrap(await atlas.recovery.detect(unwrap(atlas.store.read(ref)))).recorded).toBe(false);
      unwrap(await atlas.checkpoint(ref, `jump ${index}`));
    }
    expect(kinds).not.toContain('crashed');
    expect(await checkWhole(ref)).toEqual(jumps.map((_jump, index) => `jump ${index}`));
    ahead = 0;
    await owner.kill();
    expect(await atlas.recovery.diagnose(unwrap(atlas.store.read(ref)))).toMatchObject({
      kind: 'crashed',
      cause: 'window_died',
    });
  });

  it('to a year ahead, and back, leaves a silent task unknown rather than crashed', async () => {
    let ahead = YEAR;
    const atlas = store.other({ clock: { now: () => Date.now() + ahead } });
    const ref = await store.start();
    unwrap(await atlas.send(ref, { type: 'start_step' }));
    ahead = 0;
    expect(await atlas.recovery.diagnose(unwrap(atlas.store.read(ref)))).toEqual({
      kind: 'recent',
      clockSuspect: true,
    });
  });
});

describe('an operating system that refuses', () => {
  it.skipIf(process.platform === 'win32')(
    'any more files: the change is refused with what fixes it, and the next one is made',
    { timeout: 60_000 },
    async () => {
      const ref = await store.running();
      const worker = pool.start('starved', store.root, [ref.workspace, ref.id]);
      const [refused, after] = await worker.done();
      expect(refused).toMatch(/^\w+ Too many files are open/u);
      expect(after).toBe('made after');
      expect(await checkWhole(ref)).toEqual(['before', 'after']);
    },
  );

  // Root may write everywhere.
  it.skipIf(process.platform === 'win32' || process.getuid?.() === 0)(
    'to write into the folder: the change is refused with what fixes it, and the next one is made',
    async () => {
      const ref = await store.running();
      const folder = store.atlas.ports.paths.task(ref);
      const { mode } = statSync(folder);
      const locks = path.join(folder, 'locks');
      for (const each of [locks, folder]) {
        chmodSync(each, 0o555);
        const files = contentsOf(folder);
        expect(await store.other().checkpoint(ref, 'refused')).toMatchObject({ ok: false });
        chmodSync(each, mode);
        expect(contentsOf(folder)).toEqual(files);
      }
      unwrap(await store.other().checkpoint(ref, 'made'));
      expect(await checkWhole(ref)).toEqual(['made']);
    },
  );
});
