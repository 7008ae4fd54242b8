import type { Sample } from '../support/hostProbe/sample';

/** A sample and when it was taken, in minutes since the start. */
export type Timed = Sample & { readonly minute: number };

/** What may not grow, and by how much in ten minutes it may seem to: what a collection leaves differs each time. */
const BOUNDS: Readonly<Record<keyof Sample, number>> = {
  heap: 1,
  external: 1,
  rss: 10,
  descriptors: 1,
  inotifyWatches: 1,
  resources: 1,
  listeners: 1,
  emitters: 1,
};

/** How one figure went: its first, middle and last sample, and by how much it grew in ten minutes. */
export interface Trend {
  readonly what: keyof Sample;
  readonly first: number;
  readonly middle: number;
  readonly last: number;
  /** The slope of the line that fits the last three quarters best, per ten minutes. */
  readonly slope: number;
  readonly bound: number;
  readonly flat: boolean;
}

/** The slope of the straight line that has the least squared distance from some points. */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map(([each]) => each)), mean(points.map(([, each]) => each))];
  const above = points.reduce((sum, [px, py]) => sum + (px - x) * (py - y), 0);
  return above / points.reduce((sum, [px]) => sum + (px - x) ** 2, 0);
}

/** How each figure went. The first quarter, in which caches fill and code is compiled, does not count. */
export function trendsOf(samples: readonly Timed[]): Trend[] {
  const counted = samples.slice(Math.floor(samples.length / 4));
  return (Object.entries(BOUNDS) as [keyof Sample, number][]).map(([what, bound]) => {
    const at = (index: number): number => samples.at(index)?.[what] ?? NaN;
    const slope = slopeOf(counted.map((sample) => [sample.minute / 10, sample[what]]));
    const ends = { first: at(0), middle: at(Math.floor(samples.length / 2)), last: at(-1) };
    return { what, ...ends, slope, bound, flat: slope < bound };
  });
}
