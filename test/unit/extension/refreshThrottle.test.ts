import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RefreshThrottle } from '../../../src/extension/shared/refreshThrottle';

describe('when the tree is drawn', () => {
  let draws = 0;
  let pace: RefreshThrottle;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    draws = 0;
    pace = new RefreshThrottle(() => (draws += 1));
  });

  afterEach(() => vi.useRealTimers());

  /** Changes for so long, ten times a second; gives how often the tree was drawn meanwhile. */
  function changeFor(seconds: number): number {
    const before = draws;
    for (let count = 0; count < seconds * 10; count += 1) {
      pace.soon();
      vi.advanceTimersByTime(100);
    }
    return draws - before;
  }

  it('is drawn at once and once for several changes, and those of the next tenth of a second together', () => {
    for (let count = 0; count < 5; count += 1) pace.soon();
    expect(draws).toBe(0);
    vi.advanceTimersByTime(0);
    expect(draws).toBe(1);
    for (let count = 0; count < 5; count += 1) pace.soon();
    vi.advanceTimersByTime(99);
    expect(draws).toBe(1);
    vi.advanceTimersByTime(1);
    expect(draws).toBe(2);
    vi.advanceTimersByTime(10_000);
    expect(draws).toBe(2);
  });

  it('is drawn for each change of a person or an agent at work', () => {
    for (let count = 1; count <= 200; count += 1) {
      pace.soon();
      vi.advanceTimersByTime(100);
      expect(draws).toBe(count);
      vi.advanceTimersByTime(900);
    }
  });

  it('is drawn about once a second while changes never end, and the last one is drawn too', () => {
    expect(changeFor(5)).toBe(50);
    const steady = changeFor(600);
    expect(steady).toBeGreaterThanOrEqual(590);
    expect(steady).toBeLessThanOrEqual(610);
    const before = draws;
    pace.soon();
    vi.advanceTimersByTime(2000);
    expect(draws).toBeGreaterThan(before);
  });

  it('is drawn at once again after a pause', () => {
    changeFor(60);
    vi.advanceTimersByTime(60_000);
    expect(changeFor(5)).toBe(50);
  });

  it('is not drawn any more after its end', () => {
    pace.soon();
    pace.dispose();
    vi.advanceTimersByTime(10_000);
    expect(draws).toBe(0);
  });
});
