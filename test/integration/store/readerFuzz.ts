import { type Random, mutateBytes, mutateJson } from '../../support/faults/fuzz';

/** How a reader took an input: a short text, the same for inputs that it treats alike. */
export type Outcome = string;

/** Something that reads what others may have written. */
export interface FuzzedReader {
  readonly name: string;
  /** Sound inputs, which mutations begin with. */
  readonly seeds: readonly Uint8Array[];
  /** Whether inputs are JSON texts (or lines of them), whose values are mutated too. */
  readonly json?: boolean;
  /** Which part of all cases it gets, beside the others'. */
  readonly weight: number;
  /** Reads an input. Throws when a property doesn't hold; whatever else it throws is a bug too. */
  readonly read: (input: Uint8Array) => Outcome | Promise<Outcome>;
}

/** What came of fuzzing a reader. */
export interface FuzzReport {
  readonly name: string;
  readonly cases: number;
  readonly outcomes: number;
  readonly accepted: number;
  /** The most CPU time (user and system, of this process) that one case took, in ms. */
  readonly slowestMs: number;
}

/** No case may take longer, in ms of CPU time. */
export const MAX_CASE_MS = 1000;
/** Inputs with new outcomes are mutated further; so many are kept beside the seeds. */
const MAX_CORPUS = 400;

const TEXTS: readonly [string, ...string[]] = [
  '__proto__',
  ...['constructor', '\u0000', '\u{1F4A5}', '\ufeff', '\r\n', '../../etc', '"', '{', '}]', '[[[[', '\\u0000'],
  ...['null', '1e999', '-0', '99999999999999999999', '&a [*a, *a]', '!!binary x', '--', '--json', '=', '\t', '%s'],
];

/** Random changes of a text that bytes alone seldom make. */
function mutateText(input: Uint8Array, random: Random): Uint8Array {
  const text = Buffer.from(input).toString('utf8');
  const keys = [...text.matchAll(/"[A-Za-z_]+"(?=:)|^\s*[\w-]+(?=:)/gmu)];
  const key = keys[random.below(keys.length)];
  const put = random.pick(TEXTS);
  if (key !== undefined && random.below(2) === 0) {
    const name = key[0].startsWith('"') ? '"__proto__"' : '__proto__';
    const at = key.index;
    return Buffer.from(`${text.slice(0, at)}${random.below(2) === 0 ? name : put}${text.slice(at + key[0].length)}`);
  }
  const at = random.below(text.length + 1);
  const repeated = random.below(50) === 0 ? put.repeat(2000) : put;
  return Buffer.from(`${text.slice(0, at)}${repeated}${text.slice(at + random.below(20))}`);
}

/** Mutates one of the JSON values of a text: all of it, or a line. */
function mutateValue(input: Uint8Array, random: Random): Uint8Array {
  const text = Buffer.from(input).toString('utf8');
  const lines = text.trimEnd().split('\n');
  const at = lines.length > 1 && lines.every((line) => line.startsWith('{')) ? random.below(lines.length) : undefined;
  try {
    const changed = JSON.stringify(mutateJson(JSON.parse(at === undefined ? text : (lines[at] ?? '')), random));
    if (at === undefined) return Buffer.from(`${changed}\n`);
    lines[at] = changed;
    return Buffer.from(`${lines.join('\n')}\n`);
  } catch {
    return mutateText(input, random);
  }
}

function mutated(reader: FuzzedReader, corpus: readonly Uint8Array[], random: Random): Uint8Array {
  // Half begin with a sound input: what was refused once is refused again nearly always, and earlier.
  const one = (): Uint8Array => {
    const from = random.below(2) === 0 ? reader.seeds : corpus;
    return from[random.below(from.length)] ?? new Uint8Array();
  };
  let input = one();
  for (let turn = random.below(3); turn >= 0; turn -= 1) {
    const how = random.below(reader.json === true ? 4 : 2);
    if (how === 0) input = input.length === 0 ? mutateText(input, random) : mutateBytes(input, random, one());
    else input = how === 1 ? mutateText(input, random) : mutateValue(input, random);
  }
  return input;
}

function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}

/** Keys of an object are never those of all objects: else a file changed what every object has. */
function pollution(): string[] {
  const names = Object.getOwnPropertyNames(Object.prototype);
  return names.length === BUILT_IN.size ? [] : names.filter((name) => !BUILT_IN.has(name));
}
const BUILT_IN = new Set(Object.getOwnPropertyNames(Object.prototype));

/**
 * Feeds a reader mutated inputs. An input with an outcome that wasn't seen before is mutated further, so that the search
 * goes where the reader does something new. Throws with the input (base64) of the first case that breaks a rule.
 */
export async function fuzzReader(reader: FuzzedReader, cases: number, random: Random): Promise<FuzzReport> {
  const corpus = [...reader.seeds];
  const seen = new Map<Outcome, number>();
  let slowestMs = 0;
  for (let made = 0; made < cases; made += 1) {
    const input =
      made < reader.seeds.length ? (reader.seeds[made] ?? new Uint8Array()) : mutated(reader, corpus, random);
    const began = process.cpuUsage();
    try {
      const outcome = await reader.read(input);
      slowestMs = Math.max(slowestMs, cpuMs(began));
      if (!seen.has(outcome) && corpus.length < MAX_CORPUS && input.length < 100_000) corpus.push(input);
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
    } catch (error) {
      throw new Error(`${reader.name}, seed ${random.seed}, case ${made}: ${Buffer.from(input).toString('base64')}`, {
        cause: error,
      });
    }
    const polluted = pollution();
    if (polluted.length > 0)
      throw new Error(`${reader.name}, seed ${random.seed}, case ${made}: all objects now have ${polluted.join()}`);
    if (slowestMs > MAX_CASE_MS)
      throw new Error(`${reader.name}, seed ${random.seed}, case ${made}: took ${slowestMs} ms`);
  }
  const accepted = [...seen].reduce((sum, [outcome, count]) => sum + (outcome.startsWith('accepted') ? count : 0), 0);
  return { name: reader.name, cases, outcomes: seen.size, accepted, slowestMs };
}

/** A refusal as an outcome: its code and message without what comes from the input. */
export function refusalOf({ code, message }: { readonly code: string; readonly message: string }): Outcome {
  return `${code}: ${message.replaceAll(/"[^"]*"|'[^']*'|\d+|[^\x20-\x7e]+/gu, '').slice(0, 60)}`;
}

/** What an accepted value looks like, roughly: its top-level keys and how long its lists are, at most 3. */
export function shapeOf(value: unknown): Outcome {
  if (typeof value !== 'object' || value === null) return `accepted ${typeof value}`;
  const parts = Object.entries(value as Record<string, unknown>).map(([key, item]) =>
    Array.isArray(item) ? `${key}${Math.min(3, item.length)}` : `${key}:${item === null ? 'null' : typeof item}`,
  );
  return `accepted ${parts.sort().join(' ').slice(0, 300)}`;
}

/**
 * What a reader lost of its input: the path of the first key that was there with a value and isn't any more, or list that
 * became shorter. `null` may become absent or empty; `__proto__` is nobody's field.
 */
export function lostOf(before: unknown, after: unknown, path = ''): string | undefined {
  if (before === null || typeof before !== 'object') return undefined;
  if (Array.isArray(before)) {
    if (!Array.isArray(after) || after.length !== before.length) return path === '' ? '(all)' : path;
    return before
      .map((item, index) => lostOf(item, after[index], `${path}.${index}`))
      .find((lost) => lost !== undefined);
  }
  for (const [key, value] of Object.entries(before)) {
    if (key === '__proto__' || value === null || value === undefined) continue;
    if (typeof after !== 'object' || after === null || !Object.hasOwn(after, key)) return `${path}.${key}`;
    const lost = lostOf(value, (after as Record<string, unknown>)[key], `${path}.${key}`);
    if (lost !== undefined) return lost;
  }
  return undefined;
}
