import { beforeEach, describe, expect, it } from 'vitest';
import { type Line, Slices } from '../../../src/system/slices';

/** What happened, in its order. */
let log: string[];
/** Slices so short that each piece of work has one of its own. */
const NO_LENGTH = 0;

/** A work of some pieces; each writes its name. */
async function work(name: string, pieces: number, slices = new Slices(NO_LENGTH)): Promise<void> {
  for (let piece = 0; piece < pieces; piece += 1) {
    await slices.turn();
    log.push(name);
  }
}

/** Writes a "|" at each turn of the event loop until the works are done. */
async function withTurns(works: readonly Promise<void>[]): Promise<string> {
  let turns = setImmediate(function turn() {
    log.push('|');
    turns = setImmediate(turn);
  });
  await Promise.all(works);
  clearImmediate(turns);
  return log.join('');
}

beforeEach(() => {
  log = [];
});

describe('work in slices', () => {
  it('has one piece of one work done in a turn of the event loop', async () => {
    const order = await withTurns([work('a', 3), work('b', 3), work('c', 2)]);
    expect(order.replaceAll('|', '')).toBe('abcabcab');
    expect(Math.max(...order.split('|').map((turn) => turn.length))).toBe(1);
  });

  it('goes on without a turn for the others until its slice is over', async () => {
    const order = await withTurns([work('a', 5, new Slices(60_000)), work('b', 2)]);
    expect(order.replaceAll('|', '')).toBe('aaaaabb');
    expect(order).toContain('aaaaa');
  });

  it('has every other line go on between two works of one line', async () => {
    const line: Line = [];
    const many = Array.from({ length: 20 }, async () => work('r', 2, new Slices(NO_LENGTH, line)));
    const order = await withTurns([...many, work('o', 3)]);
    expect(order.replaceAll('|', '').slice(0, 6)).toBe('rororo');
    expect(order.replaceAll('|', '')).toHaveLength(43);
  });
});
