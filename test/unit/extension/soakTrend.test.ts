import { describe, expect, it } from 'vitest';
import { type Timed, trendsOf } from '../../soak/trend';

/** Eighty samples in twenty minutes that go up and down by 2 MB, of a heap that also does what `grows` says. */
function samples(grows: (minute: number) => number): Timed[] {
  return Array.from({ length: 80 }, (_each, index) => {
    const minute = index / 4;
    const heap = 50 + (index % 5) / 2 + grows(minute);
    const still = {
      external: 7,
      rss: 150,
      descriptors: 33,
      inotifyWatches: 7,
      resources: 30,
      listeners: 361,
      emitters: 186,
      ...{
        reports: 2,
        abandoned: 0,
        captures: 100,
        filesOfTask: 9,
        filesOfSession: 4,
        otherFiles: 30,
        databaseFiles: 900,
        databaseSize: 3,
      },
    };
    return { minute, heap, ...still };
  });
}

const flat = (grows: (minute: number) => number): string[] =>
  trendsOf(samples(grows)).flatMap(({ what, flat }) => (flat ? [] : [what]));

describe('what a soak says of its samples', () => {
  it('takes what only goes up and down for flat, and a cache that fills at the start', () => {
    expect(flat(() => 0)).toEqual([]);
    expect(flat((minute) => 10 * Math.min(1, minute / 5))).toEqual([]);
  });

  it('finds what grows by more than a megabyte in ten minutes, also when it began late', () => {
    expect(flat((minute) => minute * 0.12)).toEqual(['heap']);
    expect(flat((minute) => Math.max(0, minute - 12))).toEqual(['heap']);
  });

  it('takes what waits for the next look for flat until more waits than a look may leave', () => {
    const waiting = (most: number): string[] =>
      trendsOf(samples(() => 0).map((sample, index) => ({ ...sample, reports: (index * most) / 79 }))).flatMap(
        ({ what, flat }) => (flat ? [] : [what]),
      );
    expect(waiting(299)).toEqual([]);
    expect(waiting(301)).toEqual(['reports']);
  });

  it('gives the slope as growth in ten minutes', () => {
    const heap = trendsOf(samples((minute) => minute * 0.3)).find(({ what }) => what === 'heap');
    expect(heap?.slope).toBeCloseTo(3, 0);
    expect(heap).toMatchObject({ first: 50, last: expect.closeTo(50 + 2 + 19.75 * 0.3, 5) as number });
  });
});
