import { readFileSync } from 'node:fs';

/** The longest times (ms) that nothing else could run: by the clock, and without what other programs took (NaN where the system doesn't tell). */
export interface HoldUp {
  readonly longest: number;
  readonly longestOnProcessor: number;
}

/** Time that this thread had a processor, in ms. Linux alone tells. */
function onProcessor(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return NaN;
  }
}

/** Looks every millisecond how long ago it last could. */
export class Ticker {
  private timer: NodeJS.Timeout | undefined;
  private longest = 0;
  private longestOnProcessor = 0;
  private last = 0;
  private lastOnProcessor = 0;

  /** Starts looking. */
  start(): void {
    clearInterval(this.timer);
    [this.longest, this.longestOnProcessor] = [0, 0];
    [this.last, this.lastOnProcessor] = [performance.now(), onProcessor()];
    this.timer = setInterval(() => this.look(), 1);
  }

  /** Ends it, and gives the longest hold-up since the start. */
  stop(): HoldUp {
    this.look();
    clearInterval(this.timer);
    return { longest: this.longest, longestOnProcessor: this.longestOnProcessor };
  }

  private look(): void {
    const [now, nowOnProcessor] = [performance.now(), onProcessor()];
    this.longest = Math.max(this.longest, now - this.last);
    this.longestOnProcessor = Math.max(this.longestOnProcessor, nowOnProcessor - this.lastOnProcessor);
    [this.last, this.lastOnProcessor] = [now, nowOnProcessor];
  }
}
