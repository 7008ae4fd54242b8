import type { Sample } from '../support/vscode/probe/sample';
import type { StoreSample } from './storeSample';

/** What a window and the store hold. */
type Held = Sample & StoreSample;

/** A sample and when it was taken, in minutes since the start. */
export type Timed = Held & { readonly minute: number };

/**
 * What grows to a limit: a task has entries of 50 checkpoints and 50 restore points, 48 files of its lock, and its own. What
 * agents report waits for the next look, and is gone after it: a hundred and more on a busy machine, of many thousands in all.
 */
const LIMITS = { filesOfTask: 165, reports: 300 } as const;

/**
 * What may not grow, and by how much in ten minutes it may seem to: what a collection leaves differs each time, and the
 * files of checkpoints are packed now and then only.
 */
const BOUNDS: Readonly<Record<Exclude<keyof Held, keyof typeof LIMITS>, number>> = {
  heap: 1,
  external: 1,
  rss: 10,
  descriptors: 1,
  inotifyWatches: 1,
  resources: 1,
  listeners: 1,
  emitters: 1,
  abandoned: 0.5,
  captures: 5,
  filesOfSession: 1,
  otherFiles: 10,
  databaseFiles: 1000,
  databaseSize: 10,
};

/** How one figure went: its first, middle and last sample, and by how much it grew in ten minutes. */
export interface Trend {
  readonly what: keyof Held;
  readonly first: number;
  readonly middle: number;
  readonly last: number;
  /** The slope of the last three quarters, per ten minutes. */
  readonly slope: number;
  /** Of the slope; of the figure itself where that has a limit. */
  readonly bound: number;
  readonly flat: boolean;
}

/**
 * The slope of the line through some points: the median of the slopes between any two (Theil and Sen). A moment in which a
 * dozen programs were running does not bend it, as it would the line of least squares.
 */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const slopes = points.flatMap(([x, y], index) => points.slice(index + 1).map(([x2, y2]) => (y2 - y) / (x2 - x)));
  slopes.sort((a, b) => a - b);
  return slopes[Math.floor(slopes.length / 2)] ?? NaN;
}

/** How each figure went. The first quarter, in which caches fill and code is compiled, does not count. */
export function trendsOf(samples: readonly Timed[]): Trend[] {
  const counted = samples.slice(Math.floor(samples.length / 4));
  return (Object.entries({ ...BOUNDS, ...LIMITS }) as [keyof Held, number][]).map(([what, bound]) => {
    const at = (index: number): number => samples.at(index)?.[what] ?? NaN;
    const slope = slopeOf(counted.map((sample) => [sample.minute / 10, sample[what]]));
    const ends = { first: at(0), middle: at(Math.floor(samples.length / 2)), last: at(-1) };
    const judged = what in LIMITS ? Math.max(...samples.map((sample) => sample[what])) : slope;
    return { what, ...ends, slope, bound, flat: judged < bound };
  });
}
