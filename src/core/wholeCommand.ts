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
