import truncatedWidth from 'fast-string-truncated-width';
import stringWidth from 'fast-string-width';
import { wrapAnsi } from 'fast-wrap-ansi';
import { oneLine } from '../../core/shared/text';

/** Narrower than this (characters), rows are written one below the other. */
const NARROW = 60;
const GAP = '  ';
const SMALLEST = 8;

/** A column's title; of a flexible one, cells may be cut to fit. */
type Column = string | { readonly flexible: string };

function titleOf(column: Column): string {
  return typeof column === 'string' ? column : column.flexible;
}

function cutTo(text: string, width: number): string {
  const { index, truncated } = truncatedWidth(text, { limit: width, ellipsis: '…', ellipsisWidth: 1 });
  return truncated ? `${text.slice(0, index)}…` : text;
}

function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - stringWidth(text)));
}

/**
 * Rows as a table that fits into a terminal. Where there is no terminal nothing is cut, and where it is too narrow for
 * columns, each row becomes a block of lines.
 * @param columns characters in a line; `undefined` for no terminal
 */
export function table(
  head: readonly Column[],
  rows: readonly (readonly string[])[],
  columns: number | undefined,
): string {
  const cells = rows.map((row) => head.map((_column, index) => oneLine(row[index] ?? '', 2000)));
  if (columns !== undefined && columns < NARROW) return blocks(head, cells, columns);
  const widths = head.map((column, index) =>
    Math.max(stringWidth(titleOf(column)), ...cells.map((row) => stringWidth(row[index] ?? ''))),
  );
  shrink(head, widths, columns);
  const line = (row: readonly string[]): string =>
    row
      .map((cell, index) => padded(cutTo(cell, widths[index] ?? 0), widths[index] ?? 0))
      .join(GAP)
      .trimEnd();
  return [head.map(titleOf), ...cells].map((row) => `${line(row)}\n`).join('');
}

/** Takes from the widest column that may be cut until all fit. */
function shrink(head: readonly Column[], widths: number[], columns: number | undefined): void {
  if (columns === undefined) return;
  const total = (): number => widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));
  for (;;) {
    if (total() <= columns) return;
    let widest = -1;
    for (const [index, column] of head.entries()) {
      if (typeof column === 'object' && (widths[index] ?? 0) > (widths[widest] ?? SMALLEST)) widest = index;
    }
    if (widest === -1) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

function blocks(head: readonly Column[], rows: readonly (readonly string[])[], columns: number): string {
  const label = Math.max(...head.map((column) => stringWidth(titleOf(column))));
  return rows
    .map((row) =>
      head
        .flatMap((column, index) => {
          const cell = row[index] ?? '';
          if (cell === '') return [];
          return [
            `${padded(titleOf(column), label)}${GAP}${wrapped(cell, Math.max(SMALLEST, columns - label - GAP.length), label + GAP.length)}\n`,
          ];
        })
        .join(''),
    )
    .join('\n');
}

/**
 * A text whose lines fit into a terminal; those that don't go on below themselves, as far in as they are.
 * @param columns characters in a line; `undefined` for no terminal
 * @param hang how much further in they go on
 */
export function fitted(text: string, columns: number | undefined, hang = 0): string {
  if (columns === undefined) return text;
  const lines = text.split('\n').map((line) => {
    if (stringWidth(line) <= columns) return line;
    const own = /^ */u.exec(line)?.[0].length ?? 0;
    const indent = Math.max(0, Math.min(own + hang, columns - SMALLEST));
    return ' '.repeat(own) + wrapped(line.slice(own), columns - indent, indent);
  });
  return lines.join('\n');
}

/** A text in lines of a width, broken at spaces where there are some; later lines are indented. */
export function wrapped(text: string, width: number, indent: number): string {
  return wrapAnsi(text, width, { hard: true }).replaceAll('\n', `\n${' '.repeat(indent)}`);
}

/** Labelled values, one a line; values that don't fit go on below themselves. Those without a value are left out. */
export function fields(items: readonly (readonly [string, string | undefined])[], columns: number | undefined): string {
  const shown = items.filter((item): item is readonly [string, string] => item[1] !== undefined && item[1] !== '');
  const label = Math.max(0, ...shown.map(([name]) => stringWidth(name) + 1));
  const width = columns === undefined ? Number.POSITIVE_INFINITY : Math.max(SMALLEST, columns - label - 1);
  return shown.map(([name, value]) => `${padded(`${name}:`, label)} ${wrapped(value, width, label + 1)}\n`).join('');
}
