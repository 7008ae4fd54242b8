/** The most characters (code points) that `last_output` and `partial_output` keep. */
export const MAX_OUTPUT_LENGTH = 500;

/** The most characters (code points) of what is kept of a step's result. */
export const MAX_SUMMARY_LENGTH = 20_000;

/** The first `max` code points of a text; a surrogate pair is never split. */
export function cut(text: string, max: number = MAX_OUTPUT_LENGTH): string {
  if (text.length <= max) return text;
  return Array.from(text.slice(0, max * 2))
    .slice(0, max)
    .join('');
}

/**
 * A text on one line, without control and direction-changing characters (which hide or reorder what follows them),
 * white space folded, cut at `max` code points with an ellipsis.
 */
export function oneLine(text: string, max = 200): string {
  const flat = text
    // eslint-disable-next-line no-control-regex -- control characters are what is removed here
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\s]+/gu, ' ')
    .replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu, '')
    .trim();
  const short = cut(flat, max);
  return short.length < flat.length ? `${cut(flat, max - 1)}…` : flat;
}

/** A text whose lines stay lines, without the control and direction-changing characters that {@link oneLine} removes; tabs stay. */
export function plainLines(text: string): string {
  return (
    text
      .replace(/\r\n?|[\u2028\u2029]/gu, '\n')
      // eslint-disable-next-line no-control-regex -- control characters are what is removed here
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+/gu, '')
  );
}

/** Items joined as in a sentence: `a, b and c`. */
export function sentenceList(items: readonly string[], word = 'and'): string {
  if (items.length < 2) return items[0] ?? '';
  return `${items.slice(0, -1).join(', ')} ${word} ${items[items.length - 1] ?? ''}`;
}

/** A count with its noun: `1 file`, `2 files`. */
export function count(n: number, noun: string, plural = `${noun}s`): string {
  return `${n} ${n === 1 ? noun : plural}`;
}

/** A name that may hold anything, in quotes and on one line: what can't be seen is escaped as in JSON. */
export function quoted(name: string, max = 200): string {
  const escaped = JSON.stringify(cut(name, max)).replace(/(?! )[\p{C}\p{Z}\p{DI}]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
  );
  return name.length > max ? `${escaped}…` : escaped;
}

/** A text with a capital as its first letter, in the reader's language. */
export function capitalized(text: string): string {
  return text.charAt(0).toLocaleUpperCase() + text.slice(1);
}

/** A kibibyte, in bytes. */
export const KIB = 1024;
/** A mebibyte, in bytes. */
export const MIB = 1024 * KIB;

/** A gibibyte, in bytes. */
export const GIB = 1024 * MIB;

/** A number of bytes for a person: `256 KiB`, `1.5 MiB`. */
export function sizeText(bytes: number): string {
  if (bytes < KIB) return count(bytes, 'byte');
  const [unit, name] = bytes < MIB ? [KIB, 'KiB'] : bytes < GIB ? [MIB, 'MiB'] : [GIB, 'GiB'];
  return `${Math.ceil((bytes / unit) * 10) / 10} ${name}`;
}

const SIZE = /^(\d+(?:\.\d+)?)\s*(?:([kmg])i?)?b?$/iu;
const SIZE_UNITS: Readonly<Record<string, number>> = { k: KIB, m: MIB, g: GIB };

/** The bytes that a person means by `50 MB`, `1.5GiB` or `4096`; units count in 1,024s. `undefined` for anything else. */
export function parseSize(text: string): number | undefined {
  const [, number = '', unit = ''] = SIZE.exec(text.trim()) ?? [];
  const bytes = number === '' ? Number.NaN : Math.round(Number(number) * (SIZE_UNITS[unit.toLowerCase()] ?? 1));
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
