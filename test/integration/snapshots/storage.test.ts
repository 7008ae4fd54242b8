import { chmodSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { listStored, openStored } from '../../../src/snapshots/storedSnapshots';
import { systemGit } from '../../../src/snapshots/storage/snapshotPorts';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { SnapshotWorld } from '../../support/fixtures/snapshotWorld';

/** A thousand by `npm run test:snapshots`. */
const ROUNDS = Number(process.env['ATLAS_SNAPSHOT_ROUNDS'] ?? '40');

let world: SnapshotWorld;

beforeEach(() => {
  world = new SnapshotWorld();
});

afterEach(() => {
  world.dispose();
});

async function contentOf(tree: string, name: string): Promise<string | undefined> {
  const { contents } = await world.open();
  return unwrap(await contents.read(tree, name, 1_000_000))?.bytes.toString();
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

describe("the user's git", () => {
  it('is not changed to a time stamp, and its garbage collection loses no snapshot', async () => {
    for (let at = 0; at < 120; at += 1) world.write(`src/file${at}`, `${at}\n`.repeat(20));
    world.commit('first');
    world.git('gc', '-q');
    world.write('src/file1', 'amended\n');
    world.commit('second');
    world.write('stashed', 'x');
    world.git('stash', '-q', '-u');
    world.write('src/file2', 'changed\n');
    const status = world.git('status', '--porcelain');
    const untouched = world.gitPicture();
    const { snapshot } = await world.capture();
    const other = await world.capture();
    expect(other.snapshot.tree).toBe(snapshot.tree);
    unwrap(await world.restore(snapshot.tree));
    expect(world.gitPicture()).toEqual(untouched);
    expect(world.git('status', '--porcelain')).toBe(status);
    const was = world.picture();
    world.git('checkout', '-q', '--orphan', 'other');
    world.git('rm', '-rqf', '.');
    world.write('only', 'x');
    world.commit('other');
    world.git('branch', '-qD', 'main');
    world.git('stash', 'clear');
    world.git('reflog', 'expire', '--expire=now', '--all');
    world.git('gc', '-q', '--prune=now');
    expect(() => world.git('cat-file', '-e', 'HEAD~1')).toThrow();
    unwrap(await world.restore(snapshot.tree));
    expect(world.picture()).toEqual(was);
  });

  it(`is as it was after ${ROUNDS} captures and restores, to the time stamps`, { timeout: ROUNDS * 5000 }, async () => {
    for (let at = 0; at < 40; at += 1) world.write(`src/file${at}`, `${at}\n`.repeat(20));
    world.write('.gitignore', '*.log\n');
    world.commit('first');
    world.write('src/file1', 'stashed\n');
    world.git('stash', '-q');
    world.write('src/file2', 'staged\n');
    world.git('add', '-A');
    const snapshots = await world.open();
    const first = unwrap(await snapshots.capture()).snapshot;
    const was = world.picture();
    // Git itself refreshes its index as it looks: it has done so before, with times that are old enough.
    world.git('status', '--porcelain');
    const untouched = world.gitPicture();
    for (let round = 0; round < ROUNDS; round += 1) {
      world.write(`src/file${round % 40}`, `round ${round}\n`);
      if (round % 3 === 0) world.remove(`src/file${(round + 7) % 40}`);
      world.write(`new/file${round % 5}`, `${round}`, round % 2 === 0 ? 0o755 : 0o644);
      unwrap(await snapshots.capture());
      if (round % 4 === 3) {
        unwrap(await snapshots.restore(unwrap(await snapshots.preview({ tree: first.tree }))));
        expect(world.picture()).toEqual(was);
      }
    }
    expect(world.gitPicture()).toEqual(untouched);
  });

  it('is left alone where its index is split, whose second file git would freshen', async () => {
    for (let at = 0; at < 60; at += 1) world.write(`file${at}`, `${at}`);
    world.write('.gitignore', 'kept\n');
    world.write('kept', 'tracked though ignored');
    world.git('config', 'core.splitIndex', 'true');
    world.git('add', '-A', '-f');
    world.git('update-index', '--split-index');
    expect(readdirSync(path.join(world.folder, '.git')).some((name) => name.startsWith('sharedindex.'))).toBe(true);
    const untouched = world.gitPicture();
    const { snapshot } = await world.capture();
    expect(snapshot.files).toBe(62);
    expect(world.gitPicture()).toEqual(untouched);
  });
});

describe('an object database', () => {
  it('is readable by its owner alone', async () => {
    world.write('secret', 'x');
    const { snapshot } = await world.capture();
    const base = path.join(world.root, 'snapshots', snapshot.database);
    const open = filesIn(base).filter((file) => (statSync(file).mode & 0o077) !== 0 && !file.includes('/locks/'));
    expect(statSync(path.dirname(base)).mode & 0o077).toBe(0);
    expect(open).toEqual([]);
  });

  it('is packed, and freed of what no snapshot needs', async () => {
    const trees: string[] = [];
    for (let at = 0; at < 6; at += 1) {
      world.write('big', Buffer.alloc(200_000, `${at}${Math.sin(at)}`));
      world.write(`file${at}`, `only in later ones ${at}`);
      trees.push((await world.capture()).snapshot.tree);
    }
    const { upkeep } = await world.open();
    expect(unwrap(await upkeep.pack(1000))).toBe(false);
    expect(unwrap(await upkeep.pack(1))).toBe(true);
    expect(upkeep.sizes()).toMatchObject({ looseObjects: 0, packs: 1 });
    const [first = '', , kept = ''] = trees;
    const freed = unwrap(await upkeep.free(async () => Promise.resolve([kept])));
    expect(freed.after.bytes).toBeLessThan(freed.before.bytes);
    expect(await contentOf(kept, 'file2')).toBe('only in later ones 2');
    const { contents } = await world.open();
    expect(await contents.list(first)).toMatchObject({ ok: false, error: { reason: 'lost' } });
    expect(unwrap(await upkeep.verify([kept], true))).toEqual([]);
    expect((await world.capture()).unchanged).toBe(true);
    world.write('big', 'small now');
    expect(await contentOf((await world.capture()).snapshot.tree, 'file5')).toBe('only in later ones 5');
  });

  it('that is damaged says which snapshots lost which files; the rest and later captures work', async () => {
    world.write('a', 'content of a');
    const first = (await world.capture()).snapshot;
    world.write('b', 'content of b');
    const second = (await world.capture()).snapshot;
    const { contents, upkeep } = await world.open();
    const id = unwrap(await contents.list(second.tree)).find(({ path: at }) => at === 'b')?.id ?? '';
    const object = path.join(world.root, 'snapshots', second.database, 'objects', id.slice(0, 2), id.slice(2));
    chmodSync(object, 0o600);
    writeFileSync(object, 'rotten');
    expect(unwrap(await upkeep.verify([first.tree, second.tree], true))).toEqual([
      { tree: second.tree, lost: ['b'], isWhole: false },
    ]);
    rmSync(object);
    expect(unwrap(await upkeep.verify([first.tree, second.tree], false))).toMatchObject([{ tree: second.tree }]);
    world.remove('b');
    expect(await world.restore(second.tree)).toMatchObject({ ok: false, error: { reason: 'lost' } });
    expect(Object.keys(world.picture({ folders: true }))).toEqual(['a']);
    unwrap(await world.restore(first.tree));
    world.write('b', 'content of b');
    const again = await world.capture();
    expect(await contentOf(again.snapshot.tree, 'b')).toBe('content of b');
  });

  it('that is deleted is made again, and old snapshots are lost, not wrong', async () => {
    world.write('a', 'one');
    const { snapshot } = await world.capture();
    rmSync(path.join(world.root, 'snapshots', snapshot.database, 'objects'), { recursive: true });
    const { contents } = await world.open();
    expect(await contents.list(snapshot.tree)).toMatchObject({ ok: false, error: { reason: 'lost' } });
    const again = await world.capture();
    expect(again.unchanged).toBe(false);
    expect(await contentOf(again.snapshot.tree, 'a')).toBe('one');
  });

  it('can be read when the worktree is gone', async () => {
    world.write('a', 'one');
    const { snapshot } = await world.capture();
    const was = path.join(world.folder, '.git');
    world.remove('');
    expect(existsSync(world.folder)).toBe(false);
    const ports = { ...systemPorts(world.root, '0.0.0', silentLog), git: systemGit };
    expect(listStored(ports, world.root)).toEqual([snapshot.database]);
    const stored = unwrap(openStored(ports, world.root, snapshot.database));
    expect(stored.path).toBe(was);
    expect(unwrap(await stored.contents.read(snapshot.tree, 'a', 10))?.bytes.toString()).toBe('one');
    expect(unwrap(await stored.upkeep.verify([snapshot.tree], true))).toEqual([]);
    expect(openStored(ports, world.root, '../x').ok).toBe(false);
  });
});

describe('what an index no longer knows', () => {
  it.each([
    ['lost', (file: string) => rmSync(file)],
    ['damaged', (file: string) => writeFileSync(file, 'rotten')],
    ['locked', (file: string) => writeFileSync(`${file}.lock`, '')],
  ])('%s: it is made again, and the snapshot is the same', async (_how, damage) => {
    world.write('a/b', 'one');
    world.write('c', 'one');
    const { snapshot } = await world.capture();
    const worktrees = path.join(world.root, 'snapshots', snapshot.database, 'worktrees');
    for (const file of filesIn(worktrees).filter((name) => /\/index-[0-9a-f]+$/u.test(name))) damage(file);
    expect((await world.capture()).snapshot.tree).toBe(snapshot.tree);
    world.write('c', 'two');
    expect(await contentOf((await world.capture()).snapshot.tree, 'c')).toBe('two');
  });
});
