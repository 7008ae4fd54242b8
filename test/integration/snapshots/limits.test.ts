import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { openSnapshots } from '../../../src/snapshots/snapshots';
import { systemGit } from '../../../src/snapshots/storage/snapshotPorts';
import { SnapshotWorld } from '../../support/fixtures/snapshotWorld';

let world: SnapshotWorld;

beforeEach(() => {
  world = new SnapshotWorld();
});

afterEach(() => {
  world.dispose();
});

async function reasonOf(worktree: string, home: string): Promise<string | undefined> {
  const ports = { ...systemPorts(world.root, '0.0.0', silentLog), git: systemGit };
  const opened = await openSnapshots(ports, { root: world.root, worktree, settings: world.settings, home });
  return opened.ok ? undefined : opened.error.reason;
}

describe('a folder that is never captured', () => {
  it('is a home folder, what holds it, the root, and what is no folder', async () => {
    expect(await reasonOf(world.folder, world.folder)).toBe('home_folder');
    expect(await reasonOf(world.base, path.join(world.folder))).toBe('home_folder');
    expect(await reasonOf('/', world.folder)).toBe('root_folder');
    expect(await reasonOf(path.join(world.base, 'gone'), world.base)).toBe('no_folder');
    expect(await reasonOf(world.folder, world.base)).toBeUndefined();
  });
});

describe('what is too much', () => {
  it('is refused with sizes before a byte is written, by what is new alone', async () => {
    world.write('a', 'x');
    const snapshots = await world.open({}, { maxFileSize: 10_000_000, maxSize: 400_000 });
    unwrap(await snapshots.capture());
    const used = snapshots.upkeep.sizes().bytes;
    world.write('large', Buffer.alloc(600_000, 'x'));
    expect(await snapshots.capture()).toMatchObject({
      ok: false,
      error: { reason: 'over_limit', sizes: { needed: 600_000, used, limit: 400_000 } },
    });
    expect(snapshots.upkeep.sizes().bytes).toBe(used);
    world.remove('large');
    expect(unwrap(await snapshots.capture()).unchanged).toBe(true);
  });

  it('is left out with its size, a tracked file too, and is unknown to restores', async () => {
    world.write('big', Buffer.alloc(world.settings.maxFileSize + 1));
    world.write('pipe', 'x');
    world.commit();
    mkdirSync(path.join(world.folder, 'nested'));
    world.gitIn(path.join(world.folder, 'nested'), 'init', '-q');
    world.write('nested/file', 'x');
    const { snapshot, leftOut } = await world.capture();
    expect(leftOut).toEqual([
      { path: 'big', size: world.settings.maxFileSize + 1, reason: 'too_large' },
      { path: 'nested/', reason: 'repository' },
    ]);
    world.write('big', 'small now');
    const snapshots = await world.open();
    const preview = unwrap(await snapshots.preview({ tree: snapshot.tree }));
    expect(preview.paths).toMatchObject([{ path: 'big', action: 'keep', reason: 'left_out_then' }]);
    const now = unwrap(await snapshots.diffWithNow(snapshot.tree));
    expect(now).toEqual({ changes: [], unknown: ['big', 'nested/'] });
  });

  it('ends where it is cancelled, and nothing is recorded', async () => {
    world.write('a', 'x');
    const snapshots = await world.open();
    expect(await snapshots.capture({ signal: AbortSignal.abort() })).toMatchObject({
      ok: false,
      error: { reason: 'cancelled' },
    });
    expect(unwrap(await snapshots.capture()).snapshot.files).toBe(1);
  });
});

describe('a worktree without git', () => {
  it('is captured and restored as any other, and holds no store', async () => {
    world.dispose();
    world = new SnapshotWorld('no repository');
    world.write('.gitignore', '*.log\n');
    world.write('a', 'one');
    world.write('x.log', 'one');
    const root = path.join(world.folder, 'my [store]');
    const ports = { ...systemPorts(root, '0.0.0', silentLog), git: systemGit };
    const where = { root, worktree: world.folder, settings: world.settings, home: path.join(world.base, 'home') };
    const snapshots = unwrap(await openSnapshots(ports, where));
    const { snapshot } = unwrap(await snapshots.capture());
    expect(unwrap(await snapshots.contents.list(snapshot.tree)).map(({ path: at }) => at)).toEqual(['.gitignore', 'a']);
    world.write('a', 'two');
    unwrap(await snapshots.restore(unwrap(await snapshots.preview({ tree: snapshot.tree }))));
    expect(world.read('a')).toBe('one');
  });
});

describe('known paths', () => {
  it('give the same snapshot as all of them', async () => {
    world.write('.gitignore', '*.log\n');
    for (const name of ['a', 'b/c', 'b/d', 'gone']) world.write(name, 'one');
    const snapshots = await world.open();
    unwrap(await snapshots.capture());
    world.write('a', 'two');
    world.write('b/new', 'new');
    world.write('b/x.log', 'ignored');
    world.remove('gone');
    const known = unwrap(await snapshots.capture({ knownPaths: ['a', 'b/new', 'b/x.log', 'gone'] }));
    const all = unwrap(await snapshots.capture());
    expect(all).toMatchObject({ unchanged: true, snapshot: { tree: known.snapshot.tree, files: 5 } });
  });
});

describe('a sparse checkout and a submodule', () => {
  it('are known to be elsewhere: what is not checked out is no deletion, and a submodule is never moved', async () => {
    const inner = path.join(world.base, 'inner');
    mkdirSync(inner);
    world.gitIn(inner, 'init', '-q');
    world.gitIn(inner, 'commit', '-q', '--allow-empty', '-m', 'inner');
    world.write('in/a', 'a');
    world.write('out/b', 'b');
    world.git('submodule', '--quiet', 'add', inner, 'sub');
    world.commit();
    world.git('sparse-checkout', 'set', '--no-cone', '/in/', '/.gitmodules', '/sub');
    const commit = world.gitIn(inner, 'rev-parse', 'HEAD').trim();
    const untouched = world.gitPicture();
    const { snapshot, leftOut } = await world.capture();
    expect(leftOut).toEqual([{ path: 'sub/', reason: 'submodule', commit }]);
    expect(world.gitPicture()).toEqual(untouched);
    world.git('sparse-checkout', 'disable');
    world.write('in/a', 'changed');
    const snapshots = await world.open();
    const preview = unwrap(await snapshots.preview({ tree: snapshot.tree }));
    expect(preview.paths).toMatchObject([
      { path: 'in/a', action: 'write' },
      { path: 'out/b', action: 'keep', reason: 'not_checked_out_then' },
    ]);
    unwrap(await snapshots.restore(preview));
    expect(world.read('out/b')).toBe('b');
    expect(world.read('in/a')).toBe('a');
  });
});
