import { readFileSync } from 'node:fs';

/** Only longer ones are listed, in ms. */
const WORTH_LISTING_MS = 16;

/** How long this thread let nothing else run, in ms. */
export interface Held {
  readonly longest: number;
  /** The longest without what other programs took from it; NaN where the system doesn't tell. */
  readonly longestOnProcessor: number;
  readonly blocks: readonly (readonly [byTheClock: number, onProcessor: number])[];
}

/** Time that this thread had a processor, in ms. Linux alone tells. */
function onProcessor(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return NaN;
  }
}

/** Measures from when it is made how long this thread lets nothing else run. */
export class HoldUps {
  private longest = 0;
  private longestOnProcessor = 0;
  private readonly blocks: [number, number][] = [];
  private readonly timer: NodeJS.Timeout;

  constructor() {
    let [last, lastOnProcessor] = [performance.now(), onProcessor()];
    this.timer = setInterval(() => {
      const [now, nowOnProcessor] = [performance.now(), onProcessor()];
      const [clock, processor] = [now - last, nowOnProcessor - lastOnProcessor];
      this.longest = Math.max(this.longest, clock);
      this.longestOnProcessor = Math.max(this.longestOnProcessor, processor);
      if (processor > WORTH_LISTING_MS) this.blocks.push([Math.round(clock), Math.round(processor)]);
      [last, lastOnProcessor] = [now, nowOnProcessor];
    }, 1);
  }

  /** Ends the measurement. */
  end(): Held {
    clearInterval(this.timer);
    const { longest, longestOnProcessor, blocks } = this;
    return { longest, longestOnProcessor, blocks };
  }
}
