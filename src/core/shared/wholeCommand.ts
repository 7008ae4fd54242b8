/** What a terminal acts on or does not show: control, format and ignorable characters, lone surrogates, and all spaces but the usual one. */
const UNSEEN = /(?! )[\p{C}\p{Z}\p{DI}]/u;

/**
 * All of a command on one line, so that what a person allows is what runs: characters that a terminal acts on or does not
 * show, and runs of spaces that could push the rest out of sight, are written as in the shell's `$'…'`; nothing is cut.
 */
export function wholeCommand(command: string): string {
  if (!UNSEEN.test(command) && !/ {2}|^ | $|^\$'/u.test(command)) return command;
  const spaces = (run: string): string => '\\x20'.repeat(run.length);
  const escaped = Array.from(command, escapedCharacter)
    .join('')
    .replace(/ {2,}|^ | $/gu, spaces);
  return `$'${escaped}'`;
}

function escapedCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (character === '\\' || character === "'") return `\\${character}`;
  if (!UNSEEN.test(character)) return character;
  if (character === '\n') return '\\n';
  if (character === '\t') return '\\t';
  const hex = (digits: number): string => code.toString(16).padStart(digits, '0');
  if (code < 0x80) return `\\x${hex(2)}`;
  return code > 0xffff ? `\\U${hex(8)}` : `\\u${hex(4)}`;
}
