import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** Read at once, in bytes. */
const PIECE = 256 * 1024;
/** Of a transcript that was never read, this much of its end is looked at, in bytes: the rest is older than what is kept. */
export const TAIL_BYTES = 1024 * 1024;
/** Longer lines are skipped: they hold contents of files, or makers' prompts. */
const MAX_LINE_BYTES = 1024 * 1024;

/** Where a transcript's new lines begin and end. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/**
 * Hands the whole lines of a file on, in pieces, with memory that doesn't grow with the file. A last line without an
 * end isn't written yet and is left for the next time.
 * @param readTo how far it was read, in bytes; a file that is shorter by now was rewritten and is read from its end
 * @param wanted whether a line is looked at, by its first bytes
 * @returns how far it was read now; `undefined` where it can't be read
 */
export function readLines(
  path: string,
  readTo: number | undefined,
  wanted: (start: string) => boolean,
  take: (line: string) => void,
): number | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return undefined;
  }
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) return undefined;
    return pieces(file, rangeOf(readTo, stat.size), wanted, take);
  } catch {
    return undefined;
  } finally {
    closeSync(file);
  }
}

function rangeOf(readTo: number | undefined, size: number): Range & { readonly whole: boolean } {
  const known = readTo === undefined || readTo > size ? undefined : readTo;
  const from = Math.max(known ?? 0, size - TAIL_BYTES);
  return { from, to: size, whole: from === (known ?? 0) };
}

function pieces(
  file: number,
  { from, to, whole }: ReturnType<typeof rangeOf>,
  wanted: (start: string) => boolean,
  take: (line: string) => void,
): number {
  const buffer = Buffer.alloc(PIECE);
  let parts: Buffer[] = [];
  let length = 0;
  // What lies before the first end of a line began before the piece that is read.
  let skips = !whole;
  let done = from;
  for (let at = from; at < to;) {
    const count = readSync(file, buffer, 0, Math.min(PIECE, to - at), at);
    if (count === 0) break;
    let start = 0;
    for (let end = buffer.indexOf(10); end !== -1 && end < count; end = buffer.indexOf(10, start)) {
      if (!skips && length + end - start <= MAX_LINE_BYTES) {
        parts.push(buffer.subarray(start, end));
        offer(parts, wanted, take);
      }
      [parts, length, skips, start] = [[], 0, false, end + 1];
      done = at + start;
    }
    length += count - start;
    if (length <= MAX_LINE_BYTES) parts.push(Buffer.from(buffer.subarray(start, count)));
    else parts = [];
    at += count;
  }
  return done;
}

function offer(parts: readonly Buffer[], wanted: (start: string) => boolean, take: (line: string) => void): void {
  const [first] = parts;
  if (first === undefined) return;
  const start = (first.length >= 400 ? first : Buffer.concat(parts)).subarray(0, 400).toString('latin1');
  if (wanted(start)) take(Buffer.concat(parts).toString('utf8'));
}
