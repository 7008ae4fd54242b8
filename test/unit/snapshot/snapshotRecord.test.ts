import { describe, expect, it } from 'vitest';
import { removalOrder } from '../../../src/core/snapshot/retention';
import { type SnapshotRecord, parseSnapshotRecord } from '../../../src/core/snapshot/snapshotRecord';

const RECORD: SnapshotRecord = {
  tree: 'a'.repeat(40),
  format: 1,
  database: 'repo-0123456789abcdef',
  started_at: '2026-11-20T10:00:00.000Z',
  ended_at: '2026-11-20T10:00:01.000Z',
  files: 3,
  bytes_written: 1000,
  left_out: [{ path: 'big.bin', size: 100_000_000, reason: 'too_large' }],
  left_out_total: 1,
  head: 'b'.repeat(40),
};

describe('what a checkpoint records of its snapshot', () => {
  it('is read as it was written', () => {
    expect(parseSnapshotRecord(JSON.parse(JSON.stringify(RECORD)))).toEqual(RECORD);
    expect(parseSnapshotRecord({ ...RECORD, tree: 'c'.repeat(64), later: 'field' })).toMatchObject({ later: 'field' });
  });

  it.each([
    ['no object', 'tree'],
    ['nothing', undefined],
    ['a list', [RECORD]],
    ['a tree that is no ID', { ...RECORD, tree: '../../x' }],
    ['a newer format', { ...RECORD, format: 2 }],
    ['a database that is a path', { ...RECORD, database: '../x' }],
    ['no time', { ...RECORD, ended_at: 'now' }],
    ['a negative number', { ...RECORD, files: -1 }],
    ['an unknown reason', { ...RECORD, left_out: [{ path: 'x', reason: 'moon' }] }],
    ['a head that is no text', { ...RECORD, head: 1 }],
  ])('%s is none', (_what, value) => {
    expect(parseSnapshotRecord(value)).toBeUndefined();
  });
});

describe('the order in which snapshots go', () => {
  it('is restore points first, the oldest first, and never what is held', () => {
    const snapshot = (tree: string, at: number, automatic: boolean, held = false) => ({ tree, at, automatic, held });
    const order = removalOrder([
      snapshot('old', 1, false),
      snapshot('held', 0, true, true),
      snapshot('new point', 9, true),
      snapshot('new', 5, false),
      snapshot('old point', 2, true),
    ]);
    expect(order.map(({ tree }) => tree)).toEqual(['old point', 'new point', 'old', 'new']);
  });
});
