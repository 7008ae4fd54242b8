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

// eslint-disable-next-line no-control-regex -- control characters are what is shown here
const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\p{Cs}]|[^\S ]| {2,}|^ | $/gu;

/**
 * All of a command on one line, so that what a person allows is what runs: characters that a terminal acts on or does not show, and runs
 * of spaces that could push the rest out of sight, are written as in the shell's `$'…'`; nothing is cut.
 */
export function wholeCommand(command: string): string {
  if (command.replace(UNSEEN, '') === command && !command.startsWith("$'")) return command;
  const escaped = command
    .replaceAll('\\', '\\\\')
    .replaceAll("'", "\\'")
    .replace(UNSEEN, (text) => [...text].map(escapeOf).join(''));
  return `$'${escaped}'`;
}

function escapeOf(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  if (char === '\n') return '\\n';
  if (char === '\t') return '\\t';
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
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
