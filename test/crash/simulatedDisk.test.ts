import { beforeEach, describe, expect, it } from 'vitest';
import { type Fate, type Pending, SECTOR, SimulatedDisk, sectorsOf } from '../support/faults/simulatedDisk';

let disk: SimulatedDisk;
beforeEach(() => {
  disk = new SimulatedDisk();
  disk.makeFolder('/d');
  disk.settle();
});

/** The disk after a loss of power. */
function cut(fateOf: (op: Pending, index: number) => Fate): SimulatedDisk {
  return SimulatedDisk.afterPowerLoss(disk.save(), fateOf);
}
const text = (of: SimulatedDisk, path: string): string => Buffer.from(of.read(path, 1e6)).toString('latin1');
const nothing = (): Fate => 'lost';
const everything = (): Fate => 'kept';

describe('the simulated disk', () => {
  it('gives what was written, as long as the power is on', () => {
    disk.write('/d/a', 'one');
    disk.append('/d/a', ' two');
    disk.rename('/d/a', '/d/b');
    disk.link('/d/b', '/d/c');
    expect(disk.list('/d')).toEqual(['b', 'c']);
    expect(text(disk, '/d/c')).toBe('one two');
    expect(disk.stat('/d/b')?.ino).toBe(disk.stat('/d/c')?.ino);
    disk.truncate('/d/b', 3);
    expect(text(disk, '/d/c')).toBe('one');
    expect(() => disk.write('/d/b', '', { exclusive: true })).toThrow('EEXIST');
    expect(() => disk.read('/d/none', 1)).toThrow('ENOENT');
    expect(() => disk.list('/d/b')).toThrow('ENOTDIR');
    expect(disk.stat('/d/b/below')).toBeUndefined();
    expect(() => disk.removeEmptyFolder('/d')).toThrow('ENOTEMPTY');
    disk.removeFolder('/d');
    expect(disk.stat('/d')).toBeUndefined();
  });

  it('forgets a write that was not synced, and its file', () => {
    disk.write('/d/a', 'one');
    expect(cut(nothing).list('/d')).toEqual([]);
    expect(text(cut(everything), '/d/a')).toBe('one');
    expect(
      text(
        cut(({ type }) => (type === 'link' ? 'kept' : 'lost')),
        '/d/a',
      ),
    ).toBe('');
  });

  it('forgets the entry of a file whose folder was not synced, though the file was', () => {
    disk.write('/d/a', 'one', { sync: true });
    expect(cut(nothing).list('/d')).toEqual([]);
    disk.syncFolder('/d');
    expect(text(cut(nothing), '/d/a')).toBe('one');
    expect(disk.pending).toEqual([]);
  });

  it('keeps of an append what was synced before', () => {
    disk.write('/d/a', 'one', { sync: true });
    disk.syncFolder('/d');
    disk.append('/d/a', 'two');
    expect(text(cut(nothing), '/d/a')).toBe('one');
    disk.append('/d/a', 'three', { sync: true });
    expect(text(cut(nothing), '/d/a')).toBe('onetwothree');
  });

  it('has either the old or the new file after a rename that was not synced', () => {
    disk.write('/d/a', 'old', { sync: true });
    disk.syncFolder('/d');
    disk.write('/d/t', 'new', { sync: true });
    disk.rename('/d/t', '/d/a');
    expect(text(cut(nothing), '/d/a')).toBe('old');
    expect(cut(everything).list('/d')).toEqual(['a']);
    expect(text(cut(everything), '/d/a')).toBe('new');
    // The rename without the creation: what renames goes on from is never needed.
    expect(
      text(
        cut(({ type }) => (type === 'rename' ? 'kept' : 'lost')),
        '/d/a',
      ),
    ).toBe('new');
    disk.syncFolder('/d');
    expect(text(cut(nothing), '/d/a')).toBe('new');
  });

  it('shows an empty file after a rename whose data was not synced', () => {
    disk.write('/d/a', 'old', { sync: true });
    disk.syncFolder('/d');
    disk.write('/d/t', 'new');
    disk.rename('/d/t', '/d/a');
    expect(
      text(
        cut(({ type }) => (type === 'data' ? 'lost' : 'kept')),
        '/d/a',
      ),
    ).toBe('');
  });

  it('brings a file back whose unlink was not synced', () => {
    disk.write('/d/a', 'one', { sync: true });
    disk.syncFolder('/d');
    disk.unlink('/d/a');
    expect(text(cut(nothing), '/d/a')).toBe('one');
    disk.syncFolder('/d');
    expect(cut(nothing).stat('/d/a')).toBeUndefined();
  });

  it('tears a write at the borders of sectors', () => {
    disk.write('/d/a', 'x'.repeat(100), { sync: true });
    disk.syncFolder('/d');
    disk.append('/d/a', 'y'.repeat(3 * SECTOR));
    const [op] = disk.pending;
    if (op?.type !== 'data') throw new Error('no write');
    expect(sectorsOf(op)).toBe(4);
    const torn = (filler: 'zeros' | 'garbage' | 'short'): string =>
      text(
        cut(() => ({ torn: [false, true, false, false], filler })),
        '/d/a',
      );
    const arrived = 'y'.repeat(SECTOR);
    const zeros = torn('zeros');
    expect(zeros).toHaveLength(100 + 3 * SECTOR);
    expect(zeros.slice(0, 100)).toBe('x'.repeat(100));
    expect(zeros.slice(100, SECTOR)).toBe('\0'.repeat(SECTOR - 100));
    expect(zeros.slice(SECTOR, 2 * SECTOR)).toBe(arrived);
    expect(zeros.slice(2 * SECTOR)).toBe('\0'.repeat(SECTOR + 100));
    expect(torn('garbage').slice(2 * SECTOR)).toBe('\xa5'.repeat(SECTOR + 100));
    expect(torn('short')).toHaveLength(2 * SECTOR);
  });

  it('leaves the disk that goes on as it is', () => {
    disk.write('/d/a', 'one');
    const state = disk.save();
    disk.write('/d/a', 'two', { sync: true });
    expect(text(SimulatedDisk.at(state), '/d/a')).toBe('one');
    SimulatedDisk.at(state).unlink('/d/a');
    expect(text(disk, '/d/a')).toBe('two');
    expect(disk.pending.map(({ type }) => type)).toEqual(['link']);
  });
});
