import { renameSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../src/core/shared/errors';
import { SnapshotWorld } from '../support/fixtures/snapshotWorld';

/* Snapshots where names that differ only in case, or in normal form, are one name. */

let world: SnapshotWorld;

beforeEach(() => {
  world = new SnapshotWorld();
});

afterEach(() => {
  world.dispose();
});

async function pathsOf(tree: string): Promise<string[]> {
  const { contents } = await world.open();
  return unwrap(await contents.list(tree)).map(({ path }) => path);
}

const bytes = (name: string): string => Buffer.from(name).toString('latin1');

describe.each([
  ['case', 'dir/file', 'dir/File'],
  ['normal form', 'dir/B\u00E4r', 'dir/Ba\u0308r'],
  ['case beyond ASCII', 'dir/B\u00E4r', 'dir/B\u00C4R'],
  ["case of its folder's name", 'dir/file', 'Dir/file'],
])('a file that is called otherwise in %s alone', (_what, was, is) => {
  it.each(['tracked', 'untracked'])('is captured and comes back (%s)', async (kind) => {
    world.write(was, 'one');
    if (kind === 'tracked') world.commit();
    const first = await world.capture();
    expect(await pathsOf(first.snapshot.tree)).toEqual([bytes(was)]);
    renameSync(world.at(was.split('/')[0] ?? ''), world.at(is.split('/')[0] ?? ''));
    renameSync(world.at(was), world.at(is));
    world.write(is, 'two');
    const second = await world.capture();
    const paths = await pathsOf(second.snapshot.tree);
    expect(paths).toHaveLength(1);
    expect(paths[0]?.normalize('NFC').toLowerCase()).toBe(bytes(was).normalize('NFC').toLowerCase());
    unwrap(await world.restore(first.snapshot.tree));
    expect(world.read(was)).toBe('one');
    await world.undo();
    expect(world.read(is)).toBe('two');
    expect(Object.keys(world.picture())).toHaveLength(1);
  });
});

it('a file that git tracks by another spelling is captured, also where ignore files are not checked out', async () => {
  world.write('sub/.gitignore', 'x\n');
  world.write('dir/file', 'one');
  world.commit();
  world.git('sparse-checkout', 'set', '--no-cone', '/*', '!/sub/');
  renameSync(world.at('dir/file'), world.at('dir/File'));
  const { snapshot } = await world.capture();
  expect(await pathsOf(snapshot.tree)).toContain('dir/File');
});
