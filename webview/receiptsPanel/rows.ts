import type { ReceiptRow, ReceiptsFilter } from '../../src/protocol/receiptsPanel';

/** How many rows the table begins with, and how many more come at a time: all of a thousand would be slow to draw. */
export const PAGE_ROWS = 100;

/** The filter that lets everything through. */
export const NO_FILTER: ReceiptsFilter = { text: '', result: 'all', standing: 'all', files: 'all' };

/** Whether a filter lets everything through. */
export function isEmpty(filter: ReceiptsFilter): boolean {
  const { text, result, standing, files } = filter;
  return text.trim() === '' && result === 'all' && standing === 'all' && files === 'all';
}

/** The rows that a filter lets through; each word of its text must be in the command, the step or the id. */
export function matching(rows: readonly ReceiptRow[], filter: ReceiptsFilter): readonly ReceiptRow[] {
  if (isEmpty(filter)) return rows;
  const words = filter.text
    .toLowerCase()
    .split(/\s+/u)
    .filter((word) => word !== '');
  return rows.filter((row) => {
    if (filter.standing !== 'all' && row.standing !== filter.standing) return false;
    if (filter.result !== 'all' && row.failed !== (filter.result === 'failed')) return false;
    if (filter.files !== 'all' && row.currency !== filter.files) return false;
    const text = `${row.command}\n${row.step}\n${row.id}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** How many rows, in whole pages, show all of those that have one of these keys. */
export function limitFor(rows: readonly ReceiptRow[], keys: readonly string[]): number {
  const last = rows.findLastIndex((row) => keys.includes(row.key));
  return Math.max(1, Math.ceil((last + 1) / PAGE_ROWS)) * PAGE_ROWS;
}

/** The ids of a row's elements: made from its place alone, the rest of a key is outside text. */
export function elementId(what: 'toggle' | 'details', key: string): string {
  return `${what}-${key.split(':', 1)[0] ?? ''}`;
}

/** A text with `{0}` and `{1}` filled in. */
export function filled(text: string, ...values: readonly (string | number)[]): string {
  return text.replace(/\{(\d)\}/gu, (whole, at: string) => String(values[Number(at)] ?? whole));
}
