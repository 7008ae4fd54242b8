import { describe, expect, it } from 'vitest';
import { Scale, findGaps, placeMarks, ticks } from '../../../webview/taskPanel/timelineScale';

const HOUR = 3_600_000;
const MINUTE = 60_000;

describe('the timeline', () => {
  it('is to scale', () => {
    const scale = new Scale(0, HOUR, 620, 10);
    expect([0, HOUR / 2, HOUR].map((at) => scale.x(at))).toEqual([10, 310, 610]);
    expect(new Scale(5, 5, 100, 10).x(5)).toBe(50);
  });

  it('stacks marks that would overlap, and reuses the lowest free row', () => {
    const scale = new Scale(0, 100, 100, 0);
    expect(placeMarks([0, 5, 6, 30], scale, 10).map((place) => place.row)).toEqual([0, 1, 2, 0]);
    const many = placeMarks(
      Array.from({ length: 20 }, () => 1),
      scale,
      10,
    );
    expect(Math.max(...many.map((place) => place.row))).toBe(4);
  });

  it('finds the gaps that can be seen, also before the first and after the last', () => {
    const scale = new Scale(0, 3 * HOUR, 400, 0);
    expect(findGaps([HOUR, HOUR + MINUTE], scale).map((gap) => gap.ms)).toEqual([HOUR, 2 * HOUR - MINUTE]);
    expect(findGaps([0, 5 * MINUTE], new Scale(0, 5 * MINUTE, 400, 0))).toEqual([]);
  });

  it('ticks at round local times, far enough apart, also for a span without length', () => {
    const scale = new Scale(7 * MINUTE, 2 * HOUR, 500, 0);
    const { step, ticks: lines } = ticks(scale, 80, 0);
    expect(step).toBe(30 * MINUTE);
    expect(lines.map((line) => line.at / MINUTE)).toEqual([30, 60, 90, 120]);
    expect(ticks(new Scale(0, 48 * HOUR, 200, 0), 80, -5 * HOUR).ticks.map((line) => line.at / HOUR)).toEqual([5, 29]);
    expect(ticks(new Scale(5000, 5000, 200, 0), 80, 0).ticks.length).toBeLessThan(3);
    expect(ticks(new Scale(0, 365 * 24 * HOUR * 40, 300, 0), 80, 0).ticks.length).toBeLessThan(5);
  });
});
