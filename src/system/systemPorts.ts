import { randomFillSync } from 'node:crypto';
import type { Clock, Ids } from '../core/shared/ports';

/** The machine's clock. */
export const systemClock: Clock = { now: () => Date.now() };

/** Asking for random numbers costs more than they do, and a change needs five ids. */
const pool = Buffer.alloc(1024);
let used = pool.length;

/** Ids from the machine's random numbers, of up to 1,024 bytes. */
export const systemIds: Ids = {
  hex: (count) => {
    if (used + count > pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    used += count;
    return pool.toString('hex', used - count, used);
  },
};
