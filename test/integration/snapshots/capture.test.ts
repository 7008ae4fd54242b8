import { lstatSync, utimesSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { SnapshotWorld } from '../../support/fixtures/snapshotWorld';

let world: SnapshotWorld;

beforeEach(() => {
  world = new SnapshotWorld();
});

afterEach(() => {
  vi.useRealTimers();
  world.dispose();
});

describe('a capture', () => {
  it('holds tracked, changed and untracked files, modes and links, and not what is ignored', async () => {
    world.write('.gitignore', 'ignored\nbuild/\n');
    world.write('tracked', 'one\n');
    world.write('gone', 'gone\n');
    world.commit();
    world.write('tracked', 'two\r\n');
    world.remove('gone');
    world.write('new folder/ file\n"x"', 'new');
    world.write('run', '#!/bin/sh\n', 0o755);
    world.write('secret', 'x', 0o600);
    world.link('nowhere', 'link');
    world.write('ignored', 'x');
    world.write('build/x', 'x');
    world.write(Buffer.from([0x66, 0xff, 0xfe]), 'bytes');
    const { snapshot } = await world.capture();
    const { contents } = await world.open();
    const files = unwrap(await contents.list(snapshot.tree));
    expect(files.map(({ path, kind, mode }) => `${kind} ${mode.toString(8)} ${path}`)).toEqual([
      'file 644 .gitignore',
      'file 644 f\xff\xfe',
      'link 644 link',
      'file 644 new folder/ file\n"x"',
      'file 755 run',
      'file 600 secret',
      'file 644 tracked',
    ]);
    expect(snapshot.files).toBe(7);
    expect(unwrap(await contents.read(snapshot.tree, 'tracked', 100))?.bytes.toString()).toBe('two\r\n');
    expect(unwrap(await contents.read(snapshot.tree, 'new folder/ file\n"x"', 2))?.bytes.toString()).toBe('ne');
    expect(unwrap(await contents.read(snapshot.tree, 'gone', 2))).toBeUndefined();
  });

  it('writes nothing where nothing changed, and only what did else', async () => {
    world.write('a/b', 'one');
    const first = await world.capture();
    const second = await world.capture();
    expect(second).toMatchObject({ unchanged: true, snapshot: { tree: first.snapshot.tree, bytes_written: 0 } });
    world.write('a/b', 'two');
    world.write('a/c', 'new');
    const third = await world.capture();
    expect(third.unchanged).toBe(false);
    const { contents } = await world.open();
    const diff = unwrap(await contents.diff(first.snapshot.tree, third.snapshot.tree, { stat: true }));
    expect(diff.changes).toEqual([
      { path: 'a/b', kind: 'modified', additions: 1, deletions: 1 },
      { path: 'a/c', kind: 'added', additions: 1, deletions: 0 },
    ]);
    world.write('a/b', 'one');
    world.remove('a/c');
    expect((await world.capture()).snapshot.tree).toBe(first.snapshot.tree);
  });

  it('sees a change within the second of the one before, though size and time of modification are the same', async () => {
    const file = world.at('a');
    const long = new Date(1_700_000_000_000);
    /** Gives the whole second, by the file's own clock, in which that was done. */
    const change = (text: string): number => {
      world.write('a', text);
      utimesSync(file, long, long);
      return Math.floor(lstatSync(file).ctimeMs / 1000);
    };
    world.write('.gitignore', '');
    await world.capture();
    let [first, second] = [0, -1];
    // A machine that needs more than a second for a capture would prove nothing.
    for (let round = 0; first !== second; round += 1) {
      expect(round).toBeLessThan(50);
      first = change(`one ${round % 10}`);
      await world.capture();
      second = change(`two ${round % 10}`);
      const { snapshot } = await world.capture();
      const { contents } = await world.open();
      expect(unwrap(await contents.read(snapshot.tree, 'a', 100))?.bytes.toString()).toBe(`two ${round % 10}`);
    }
  });

  it('misses what lies behind a link that leads to itself, and counts it as gone', async () => {
    world.write('.gitignore', '/ignored\n');
    for (const path of ['folder/a', 'folder/deep/b', 'ignored/c', 'other/d']) world.write(path, path);
    world.git('add', '-A', '-f');
    // What was changed just now is looked at again in any case.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
    const { snapshot: whole } = await world.capture();
    expect(whole.files).toBe(5);
    for (const path of ['folder', 'ignored']) {
      world.remove(path);
      world.link(path, path);
    }
    const { snapshot } = await world.capture();
    const { contents } = await world.open();
    const paths = unwrap(await contents.list(snapshot.tree)).map(({ path }) => path);
    expect(paths).toEqual(['.gitignore', 'folder', 'other/d']);
    expect(snapshot.files).toBe(3);
    const { paths: planned } = unwrap(await (await world.open()).preview({ tree: whole.tree }));
    expect(planned.map(({ path, action }) => `${action} ${path}`)).toContain('blocked ignored/c');
    unwrap(await world.restore(whole.tree));
    expect(Object.keys(world.picture()).sort()).toEqual([
      '.gitignore',
      'folder/a',
      'folder/deep/b',
      'ignored',
      'other/d',
    ]);
  });
});

describe('a restore', () => {
  it('brings files back byte for byte, and undoing it brings the others back', async () => {
    world.write('.gitignore', 'ignored\n');
    world.write('a/b', 'one');
    world.write('c', 'one');
    world.write('swap', 'file');
    world.link('c', 'link');
    world.write('ignored', 'first');
    const { snapshot } = await world.capture();
    const before = world.picture();
    world.write('a/b', 'two');
    world.remove('c');
    world.remove('swap');
    world.write('swap/inner', 'inner');
    world.write('new/deep/file', 'new', 0o600);
    world.remove('link');
    world.write('link', 'file now');
    world.write('ignored', 'second');
    const after = world.picture();
    const restored = unwrap(await world.restore(snapshot.tree));
    expect(restored.skipped).toEqual([]);
    expect(world.picture({ folders: true })).toEqual({ ...before, ignored: after['ignored'] });
    await world.undo();
    expect(world.picture({ folders: true })).toEqual(after);
    expect(unwrap(await (await world.open()).preview({ tree: (await world.capture()).snapshot.tree })).paths).toEqual(
      [],
    );
  });
});
