import { randomBytes } from 'node:crypto';
import type { Clock, Ids } from '../core/ports';

/** The machine's clock. */
export const systemClock: Clock = { now: () => Date.now() };

/** Ids from the machine's random numbers. */
export const systemIds: Ids = { hex: (count) => randomBytes(count).toString('hex') };
