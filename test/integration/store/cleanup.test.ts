import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_CONFIG } from '../../../src/core/config/config';
import { unwrap } from '../../../src/core/shared/errors';
import type { TerminalState } from '../../../src/core/task/taskRecord';
import { Atlas } from '../../../src/service/atlas';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { NodeFileSystem } from '../../../src/system/files/nodeFileSystem';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { type TestStore, checkpoint, contentsOf, makeStore, nodeError, tapped } from '../../support/fixtures/store';

const HOUR = 3_600_000;
const RETENTION = DEFAULT_CONFIG.retentionMs;

let store: TestStore;
let ahead = 0;
let atlas: Atlas;
beforeEach(() => {
  ahead = 0;
  store = makeStore();
  atlas = store.other({ clock: { now: () => Date.now() + ahead } });
});
afterEach(() => {
  store.dispose();
});

async function ended(state: Exclude<TerminalState, 'completed'>): Promise<TaskRef> {
  const ref = await store.running();
  unwrap(await atlas.send(ref, { type: state === 'failed' ? 'fail' : 'abandon', by: 'human' }));
  return ref;
}

describe('cleaning', () => {
  it('keeps everything that the settings may want, while they are broken', async () => {
    const ref = await ended('abandoned');
    const open = await store.running();
    writeFileSync(path.join(store.root, 'config.yaml'), 'hooks:\n  max_checkpoints: [\n');
    const made: string[] = [];
    for (let each = 0; each <= DEFAULT_CONFIG.maxCheckpoints; each += 1)
      made.push((await checkpoint(atlas, open, `number ${each}`)).hook.checkpoints.at(-1)?.checkpoint_id ?? '');
    const kept = unwrap(atlas.store.read(open)).hook.checkpoints.map((each) => each.checkpoint_id);
    expect(kept).toEqual(made);
    ahead = 200 * HOUR;
    const { config } = await atlas.configs.forWorktree(undefined);
    expect(atlas.cleanup.plan(config.retentionMs)).toEqual([]);
    expect(atlas.cleanup.plan(RETENTION)).toMatchObject([{ id: ref.id }]);
  });

  it('removes the hook files of what is over for long, keeps the rest, and says what it did', async () => {
    const [failed, abandoned, open] = [await ended('failed'), await ended('abandoned'), await store.running()];
    const { paths } = atlas.ports;
    atlas.owners.adopt(abandoned, 'window');
    writeFileSync(path.join(paths.artifacts(abandoned), 'result.txt'), 'kept');
    writeFileSync(paths.verified(abandoned), 'x');
    writeFileSync(`${paths.hook(abandoned)}.corrupt-20260101T000000-000Z-abcd`, 'x');
    ahead = 200 * HOUR;
    const plan = atlas.cleanup.plan(RETENTION);
    expect(plan).toMatchObject([{ id: abandoned.id, state: 'abandoned' }]);
    const before = contentsOf(paths.task(failed));
    const result = await atlas.cleanup.run(plan);
    expect(result).toMatchObject({ cleaned: [{ id: abandoned.id }], failed: [] });
    expect(readdirSync(paths.task(abandoned)).sort()).toEqual(['artifacts', 'locks', 'task.json', 'task.log']);
    expect(readFileSync(path.join(paths.artifacts(abandoned), 'result.txt'), 'utf8')).toBe('kept');
    expect(unwrap(atlas.store.readTask(abandoned)).metadata).toHaveProperty('hook_cleaned_at');
    expect(contentsOf(paths.task(failed))).toEqual(before);
    expect(unwrap(atlas.store.read(open)).hook.state).toBe('step_running');
    expect(atlas.cleanup.plan(RETENTION)).toEqual([]);
    const swept: TaskRef[] = [];
    await atlas.catalog.sweep((ref) => swept.push(ref));
    expect(swept).toEqual([]);
  });

  it('looks again under the lock: what is not over is not cleaned, whatever the plan says', async () => {
    const open = await store.running();
    const before = contentsOf(store.root);
    const item = { ...open, state: 'failed', updatedAt: '', overdueMs: 1 } as const;
    expect(await atlas.cleanup.run([item])).toMatchObject({ cleaned: [], failed: [{ item: { id: open.id } }] });
    expect(contentsOf(store.root)).toEqual(before);
  });

  it('that was interrupted anywhere is finished by the next run, and loses no open task', async () => {
    const { paths } = atlas.ports;
    for (let stop = 1; stop <= 8; stop += 1) {
      const [over, open] = [await ended('abandoned'), await store.start()];
      let removals = 0;
      const files = tapped(new NodeFileSystem(), (operation, args) => {
        const inTask = String(args[0]).includes(over.id) && !String(args[0]).includes('locks');
        if (inTask && ['unlink', 'removeFolder', 'rename'].includes(operation) && (removals += 1) >= stop)
          throw nodeError('EIO');
      });
      const broken = store.other({ files, clock: { now: () => Date.now() + 200 * HOUR } });
      const plan = broken.cleanup.plan(RETENTION).filter((item) => item.id === over.id);
      expect(plan).toHaveLength(1);
      await broken.cleanup.run(plan);
      ahead = 200 * HOUR;
      const begun = unwrap(atlas.store.readTask(over)).metadata['hook_cleaned_at'] !== undefined;
      await atlas.cleanup.run([]);
      expect(existsSync(paths.hook(over))).toBe(!begun);
      await atlas.cleanup.run(atlas.cleanup.plan(RETENTION));
      expect(
        readdirSync(paths.task(over))
          .filter((name) => !name.endsWith('.tmp'))
          .sort(),
      ).toEqual(['artifacts', 'locks', 'task.json', 'task.log']);
      expect(unwrap(atlas.store.read(open)).hook.state).toBe('step_pending');
      ahead = 0;
    }
  });

  it('stops when it is cancelled', async () => {
    await ended('abandoned');
    ahead = 200 * HOUR;
    const plan = atlas.cleanup.plan(RETENTION);
    expect(await atlas.cleanup.run(plan, () => true)).toEqual({ cleaned: [], failed: [] });
    expect(atlas.cleanup.plan(RETENTION).map(({ id }) => id)).toEqual(plan.map(({ id }) => id));
  });

  it('of a whole workspace removes its tasks and markers, and nothing else', async () => {
    const ref = await store.running();
    const other = path.join(store.folder, 'other');
    mkdirSync(other);
    const kept = unwrap(await atlas.startTask({ title: 'x', template: 'bug', folder: other })).ref;
    expect(unwrap(atlas.cleanup.destroy(ref.workspace))).toBe(1);
    expect(atlas.catalog.open()).toEqual([kept]);
    expect(atlas.cleanup.destroy(ref.workspace)).toMatchObject({ ok: false, error: { code: 'not_found' } });
    expect(atlas.cleanup.destroy('../..')).toMatchObject({ ok: false });
    expect(existsSync(store.folder)).toBe(true);
  });
});

/** Mounts a small file system of its own; `undefined` where that isn't allowed. */
function mountSmall(): string | undefined {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'atlas-small-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' });
    return folder;
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
}

const small = mountSmall();

describe.skipIf(small === undefined)('a disk that is really full', () => {
  afterEach(() => {
    if (small === undefined) return;
    execFileSync('umount', [small]);
    rmSync(small, { recursive: true });
  });

  it('loses nothing acknowledged, says so, and works again once there is room', async () => {
    if (small === undefined) throw new Error('no mount');
    const full = new Atlas(systemPorts(path.join(small, 'home'), '0.0.0', silentLog));
    const { ref } = unwrap(await full.startTask({ title: 'x', template: 'commit', folder: store.folder }));
    unwrap(await full.startStep(ref));
    const ballast = path.join(small, 'ballast');
    const acknowledged: string[] = [];
    let refused = 0;
    for (let room = 40; room > 0 && refused < 5; room -= 1) {
      const name = `with ${room}`;
      const free = Number(execFileSync('stat', ['-f', '-c', '%a', small], { encoding: 'utf8' })) * 4096;
      const used = new NodeFileSystem().stat(ballast)?.size ?? 0;
      if (refused === 0) new NodeFileSystem().write(ballast, Buffer.alloc(Math.max(0, used + free - room * 4096)));
      const result = await full.checkpoint(ref, name);
      if (result.ok || result.error.code === 'recorded_not_written') acknowledged.push(name);
      if (result.ok) continue;
      refused += 1;
      expect(result.error.hint).toContain('disk is full');
    }
    expect(refused).toBeGreaterThan(0);
    rmSync(ballast);
    await checkpoint(full, ref, 'room again');
    const names = unwrap(full.store.read(ref)).hook.checkpoints.map((item) => item.description);
    expect(names).toEqual([...acknowledged, 'room again'].slice(-50));
    expect(unwrap(await full.reconcile(ref)).findings).toEqual([]);
  });
});
