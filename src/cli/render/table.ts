import { oneLine } from '../../core/shared/text';

/** Narrower than this (characters), rows are written one below the other. */
const NARROW = 60;
const GAP = '  ';
const SMALLEST = 8;

/** A column: its title, and whether its cells may be cut to fit. */
export interface Column {
  readonly title: string;
  readonly flexible?: true;
}

/** How a colour begins or ends. */
// eslint-disable-next-line no-control-regex -- that is what a terminal is told it with
const COLOR = /\u001b\[\d+m/gu;

const PLAIN = /^[\x20-\x7e]*$/u;

/** How many cells of a terminal a text takes: combining marks and colours none, East Asian wide characters and pictures two. */
function widthOf(text: string): number {
  // Loading what divides other texts takes as long as everything else that a table needs.
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of new Intl.Segmenter().segment(text.replace(COLOR, ''))) {
    width +=
      /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}]/u.test(
        segment,
      )
        ? 2
        : 1;
  }
  return width;
}

function cutTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  if (PLAIN.test(text)) return `${text.slice(0, width - 1)}…`;
  let cut = '';
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (widthOf(cut + segment) > width - 1) break;
    cut += segment;
  }
  return `${cut}…`;
}

function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
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
  const widths = head.map(({ title }, index) =>
    Math.max(widthOf(title), ...cells.map((row) => widthOf(row[index] ?? ''))),
  );
  shrink(head, widths, columns);
  const line = (row: readonly string[]): string =>
    row
      .map((cell, index) => padded(cutTo(cell, widths[index] ?? 0), widths[index] ?? 0))
      .join(GAP)
      .trimEnd();
  return [head.map(({ title }) => title), ...cells].map((row) => `${line(row)}\n`).join('');
}

/** Takes from the widest column that may be cut until all fit. */
function shrink(head: readonly Column[], widths: number[], columns: number | undefined): void {
  if (columns === undefined) return;
  const total = (): number => widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));
  for (;;) {
    if (total() <= columns) return;
    let widest = -1;
    for (const [index, { flexible }] of head.entries()) {
      if (flexible === true && (widths[index] ?? 0) > (widths[widest] ?? SMALLEST)) widest = index;
    }
    if (widest === -1) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

function blocks(head: readonly Column[], rows: readonly (readonly string[])[], columns: number): string {
  const label = Math.max(...head.map(({ title }) => widthOf(title)));
  return rows
    .map((row) =>
      head
        .flatMap(({ title }, index) => {
          const cell = row[index] ?? '';
          if (cell === '') return [];
          return [
            `${padded(title, label)}${GAP}${wrapped(cell, Math.max(SMALLEST, columns - label - GAP.length), label + GAP.length)}\n`,
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
    if (widthOf(line) <= columns) return line;
    const own = /^ */u.exec(line)?.[0].length ?? 0;
    const indent = Math.max(0, Math.min(own + hang, columns - SMALLEST));
    return ' '.repeat(own) + wrapped(line.slice(own), columns - indent, indent);
  });
  return lines.join('\n');
}

/** A text in lines of a width, broken at spaces where there are some; later lines are indented. */
export function wrapped(text: string, width: number, indent: number): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    let rest = word;
    if (line !== '' && widthOf(line) + 1 + widthOf(rest) <= width) {
      line = `${line} ${rest}`;
      continue;
    }
    if (line !== '') lines.push(line.trimEnd());
    while (widthOf(rest) > width) {
      const head = cutTo(rest, width + 1).slice(0, -1);
      const taken = head === '' ? rest.slice(0, width) : head;
      lines.push(taken);
      rest = rest.slice(taken.length);
    }
    line = rest;
  }
  return [...lines, line].join(`\n${' '.repeat(indent)}`);
}

/** Labelled values, one a line; values that don't fit go on below themselves. Those without a value are left out. */
export function fields(items: readonly (readonly [string, string | undefined])[], columns: number | undefined): string {
  const shown = items.filter((item): item is readonly [string, string] => item[1] !== undefined && item[1] !== '');
  const label = Math.max(0, ...shown.map(([name]) => widthOf(name) + 1));
  const width = columns === undefined ? Number.POSITIVE_INFINITY : Math.max(SMALLEST, columns - label - 1);
  return shown.map(([name, value]) => `${padded(`${name}:`, label)} ${wrapped(value, width, label + 1)}\n`).join('');
}
