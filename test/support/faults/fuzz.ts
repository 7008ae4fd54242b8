import { randomInt } from 'node:crypto';

/** A generator of numbers that gives the same ones for the same seed (mulberry32). */
export class Random {
  constructor(readonly seed = randomInt(2 ** 31)) {
    this.state = seed;
  }

  private state: number;

  /** An integer from 0 up to, and without, a limit. */
  below(limit: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % Math.max(1, limit);
  }

  pick<T>(values: readonly [T, ...T[]]): T {
    return values[this.below(values.length)] ?? values[0];
  }
}

/** What can be done to bytes; `other` are bytes of the same kind. */
const BYTE_MUTATIONS: readonly [ByteMutation, ...ByteMutation[]] = [
  (bytes, random) => flipped(bytes, random.below(bytes.length), 1 << random.below(8)),
  (bytes, random) => flipped(bytes, random.below(bytes.length), 1 + random.below(255)),
  (bytes, random) => bytes.slice(0, random.below(bytes.length)),
  (bytes, random) => bytes.slice(random.below(bytes.length)),
  (bytes, random) => {
    const at = random.below(bytes.length + 1);
    return Uint8Array.from([...bytes.slice(0, at), random.below(256), ...bytes.slice(at)]);
  },
  (bytes, random) => {
    const at = random.below(bytes.length);
    return Uint8Array.from([...bytes.slice(0, at), ...bytes.slice(at + 1 + random.below(8))]);
  },
  (bytes, random, other) => {
    const at = random.below(bytes.length);
    return Uint8Array.from([...bytes.slice(0, at), ...other.slice(at)]);
  },
  (bytes, random, other) => {
    const at = random.below(bytes.length);
    const length = 1 + random.below(40);
    return Uint8Array.from([...bytes.slice(0, at), ...other.slice(at, at + length), ...bytes.slice(at + length)]);
  },
  (_bytes, random) => Uint8Array.from({ length: random.below(200) }, () => random.below(256)),
  (_bytes, _random, other) => other,
  (bytes, random) => {
    const turned = [...bytes];
    const [a, b] = [random.below(bytes.length), random.below(bytes.length)];
    [turned[a], turned[b]] = [turned[b] ?? 0, turned[a] ?? 0];
    return Uint8Array.from(turned);
  },
];
type ByteMutation = (bytes: Uint8Array, random: Random, other: Uint8Array) => Uint8Array;

function flipped(bytes: Uint8Array, at: number, mask: number): Uint8Array {
  const changed = Uint8Array.from(bytes);
  changed[at] = (changed[at] ?? 0) ^ mask;
  return changed;
}

/** Bytes with one to three random changes; may by chance be the same as before. */
export function mutateBytes(bytes: Uint8Array, random: Random, other: Uint8Array): Uint8Array {
  let changed = bytes;
  for (let turn = random.below(3); turn >= 0; turn -= 1) {
    changed = random.pick(BYTE_MUTATIONS)(changed, random, other);
  }
  return changed;
}

const VALUES: readonly [unknown, ...unknown[]] = [null, '', 0, -1, 1e300, true, [], {}, 'x', '\u0000', [null], '💥'];

/** A parsed JSON value in which something, somewhere, is removed, added or replaced. */
export function mutateJson(value: unknown, random: Random): unknown {
  if (typeof value !== 'object' || value === null || random.below(6) === 0) return random.pick(VALUES);
  const copy = structuredClone(value) as Record<string, unknown>;
  const keys = Object.keys(copy);
  const key = keys[random.below(keys.length)];
  const what = random.below(8);
  if (key === undefined || what === 0) copy[random.pick(['x', '__proto__', 'toString', '0'])] = random.pick(VALUES);
  else if (what === 1 && !Array.isArray(copy)) Reflect.deleteProperty(copy, key);
  else copy[key] = mutateJson(copy[key], random);
  return copy;
}
