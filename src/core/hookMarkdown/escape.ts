import { MAX_SUMMARY_LENGTH, oneLine } from '../shared/text';

/** What shows nothing (direction marks, joiners, tags, variation selectors) but can carry or reorder text. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;
const LINE_BREAKS = /\r\n?|[\v\f\u0085\u2028\u2029]/gu;

const LONGEST_LINE = MAX_SUMMARY_LENGTH;

/** Outside text as one visible line. */
export function flat(text: string, max: number): string {
  return oneLine(text.replace(INVISIBLE, ''), max);
}

/**
 * Outside text for a place where Markdown is read: on one line, with all that could begin a link, emphasis, code,
 * HTML, an entity, mathematics, a list, a heading or a table cell escaped. It reads as it was written.
 */
export function prose(text: string, max = 500): string {
  const marked = flat(text, max)
    .replace(/[\\`*[\]|~$@]/gu, '\\$&')
    .replace(/&/gu, '&amp;')
    .replace(/</gu, '&lt;')
    .replace(/>/gu, '&gt;');
  // What is a letter anywhere takes V8 a millisecond to set up.
  const words = marked.includes('_') ? marked.replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_') : marked;
  return words
    .replace(/(?<=\/)\//gu, '\\/')
    .replace(/(?<=[Ww]{3})\./gu, '\\.')
    .replace(/^(?:[-+=#]|\d+(?=[.)]))/u, (start) => (/\d/u.test(start) ? `${start}\\` : `\\${start}`));
}

function longestRun(text: string, character: string): number {
  let longest = 0;
  let run = 0;
  for (const each of text) {
    run = each === character ? run + 1 : 0;
    longest = Math.max(longest, run);
  }
  return longest;
}

/** Outside text as inline code, fenced by more backticks than it has anywhere in a row. Not for tables. */
export function code(text: string, max = 300): string {
  const shown = flat(text, max);
  if (shown === '') return '(empty)';
  const fence = '`'.repeat(longestRun(shown, '`') + 1);
  const pad = shown.startsWith('`') || shown.endsWith('`') ? ' ' : '';
  return `${fence}${pad}${shown}${pad}${fence}`;
}

/** As `code`, for a table: there a pipe divides cells even inside code, so such a text is escaped instead. */
export function codeCell(text: string, max = 200): string {
  return /[|\\]/u.test(text) ? prose(text, max) : code(text, max);
}

/** Outside text of several lines as a fenced block, with a fence longer than any inside. */
export function block(text: string): string {
  const shown = text
    .replace(INVISIBLE, '')
    .replace(LINE_BREAKS, '\n')
    .split('\n')
    .map((line) => visibleLine(line))
    .join('\n')
    .trimEnd();
  const fence = '`'.repeat(Math.max(3, longestRun(shown, '`') + 1));
  return `${fence}text\n${shown}\n${fence}`;
}

/** Keeps indentation, which `oneLine` folds. */
function visibleLine(line: string): string {
  const indent = /^[ \t]*/u.exec(line)?.[0] ?? '';
  return indent + oneLine(line, LONGEST_LINE);
}

/** A path as text in a sentence that isn't Markdown: nothing invisible, but its spaces as they are. */
export function pathText(path: string): string {
  return path.replace(INVISIBLE, '').replace(/[\p{Cc}\u2028\u2029]/gu, '');
}

/** Lines of one paragraph that stay lines when rendered. */
export function stacked(lines: readonly string[]): string {
  return lines.join('  \n');
}

/** A numbered list. */
export function numbered(items: readonly string[]): string {
  return items.map((item, index) => `${index + 1}. ${item}`).join('\n');
}

/** A list with dashes. */
export function bullets(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join('\n');
}

/** A table; the cells must be escaped already. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}
