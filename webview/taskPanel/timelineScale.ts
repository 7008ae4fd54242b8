/** The geometry of the timeline: pure, in px and ms. */

/** Where a mark is drawn; marks that would overlap are stacked in rows. */
export interface Place {
  readonly x: number;
  readonly row: number;
}

/** A stretch of time without a checkpoint. */
export interface Gap {
  readonly from: number;
  readonly to: number;
  readonly ms: number;
}

/** A line on the axis. */
export interface Tick {
  readonly x: number;
  readonly at: number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  ...[1, 5, 15, 30].map((n) => n * SECOND),
  ...[1, 5, 15, 30].map((n) => n * MINUTE),
  ...[1, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 7, 30, 90, 365].map((n) => n * DAY),
];
const MAX_ROWS = 5;
const GAP_MIN_MS = 10 * MINUTE;
const GAP_MIN_PX = 24;

/** A linear scale with a margin at both ends. */
export class Scale {
  constructor(
    readonly from: number,
    readonly to: number,
    readonly width: number,
    readonly margin: number,
  ) {}

  /** The place of a time; a span without length is drawn in the middle. */
  x(at: number): number {
    const inner = Math.max(0, this.width - 2 * this.margin);
    if (this.to <= this.from) return this.margin + inner / 2;
    return this.margin + ((at - this.from) / (this.to - this.from)) * inner;
  }
}

/** Places marks, given in order of time, so that none within `distance` of another is in the same row. */
export function placeMarks(times: readonly number[], scale: Scale, distance: number): Place[] {
  const ends: number[] = [];
  return times.map((at) => {
    const x = scale.x(at);
    const free = ends.findIndex((end) => x - end >= distance);
    const row = free === -1 ? Math.min(ends.length, MAX_ROWS - 1) : free;
    ends[row] = x;
    return { x, row };
  });
}

/** The stretches between neighbours that are long and wide enough to be told. */
export function findGaps(times: readonly number[], scale: Scale): Gap[] {
  const all = [scale.from, ...times, scale.to];
  return all.slice(1).flatMap((to, index): Gap[] => {
    const from = all[index] ?? to;
    const wide = scale.x(to) - scale.x(from) >= GAP_MIN_PX;
    return wide && to - from >= GAP_MIN_MS ? [{ from, to, ms: to - from }] : [];
  });
}

/** Round times for the axis, at least `distance` apart. `offset` (ms) is the local time zone's, so that days begin at midnight. */
export function ticks(
  scale: Scale,
  distance: number,
  offset: number,
): { readonly step: number; readonly ticks: Tick[] } {
  const perPx = (scale.to - scale.from) / Math.max(1, scale.width - 2 * scale.margin);
  const step =
    STEPS.find((each) => each >= perPx * distance) ?? Math.ceil((perPx * distance) / (365 * DAY)) * 365 * DAY;
  const made: Tick[] = [];
  for (let at = Math.ceil((scale.from + offset) / step) * step - offset; at <= scale.to; at += step) {
    made.push({ at, x: scale.x(at) });
  }
  return { step, ticks: made };
}
