/** The most characters (code points) that `last_output` and `partial_output` keep. */
export const MAX_OUTPUT_LENGTH = 500;

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

/** Ranges of characters that a terminal acts on or does not show: controls, direction marks, joiners, fillers, tags, lone surrogates. */
const UNSEEN: readonly (readonly [number, number])[] = [
  [0x00, 0x1f],
  [0x7f, 0xa0],
  [0xad, 0xad],
  [0x034f, 0x034f],
  [0x061c, 0x061c],
  [0x115f, 0x1160],
  [0x1680, 0x1680],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x2000, 0x200f],
  [0x2028, 0x202f],
  [0x205f, 0x206f],
  [0x3000, 0x3000],
  [0x3164, 0x3164],
  [0xd800, 0xdfff],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0xe0000, 0xe0fff],
];

function isUnseen(code: number): boolean {
  return UNSEEN.some(([from, to]) => code >= from && code <= to);
}

/**
 * All of a command on one line, so that what a person allows is what runs: characters that a terminal acts on or does not
 * show, and runs of spaces that could push the rest out of sight, are written as in the shell's `$'…'`; nothing is cut.
 */
export function wholeCommand(command: string): string {
  const characters = Array.from(command);
  const isPlain = !characters.some((character) => isUnseen(character.codePointAt(0) ?? 0));
  if (isPlain && !/ {2}|^ | $|^\$'/u.test(command)) return command;
  const spaces = (run: string): string => '\\x20'.repeat(run.length);
  const escaped = characters
    .map(escapedCharacter)
    .join('')
    .replace(/ {2,}|^ | $/gu, spaces);
  return `$'${escaped}'`;
}

function escapedCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (character === '\\' || character === "'") return `\\${character}`;
  if (!isUnseen(code)) return character;
  if (character === '\n') return '\\n';
  if (character === '\t') return '\\t';
  const hex = (digits: number): string => code.toString(16).padStart(digits, '0');
  if (code < 0x80) return `\\x${hex(2)}`;
  return code > 0xffff ? `\\U${hex(8)}` : `\\u${hex(4)}`;
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
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
