import { stripVTControlCharacters } from 'node:util';
import { unwrap } from '../../core/shared/errors';
import { plainLines } from '../../core/shared/text';
import type { TaskRef } from '../../core/task/taskRef';
import type { OpenAtlas } from '../../service/createAtlas';

/** So much of the end of an output is read, in bytes. */
const TAIL_BYTES = 8192;

/** The file with what a command printed: its output, and where there is none its errors; `undefined` where neither was kept. */
export async function keptOutputPath(
  atlas: Pick<OpenAtlas, 'receipts' | 'ports'>,
  ref: TaskRef,
  receiptId: string,
): Promise<string | undefined> {
  const { files } = await atlas.receipts();
  let kept: string | undefined;
  for (const stream of ['stdout', 'stderr'] as const) {
    if (!files.isKept(ref, receiptId, stream)) continue;
    const path = unwrap(files.outputPath(ref, receiptId, stream));
    kept = path;
    if ((atlas.ports.files.stat(path)?.size ?? 0) > 0) return path;
  }
  return kept;
}

/** The last lines that a command printed, as plain text; `undefined` where nothing was kept. */
export async function lastLinesOf(
  atlas: Pick<OpenAtlas, 'receipts' | 'ports'>,
  ref: TaskRef,
  receiptId: string,
  most: number,
): Promise<string | undefined> {
  const path = await keptOutputPath(atlas, ref, receiptId);
  const size = path === undefined ? 0 : (atlas.ports.files.stat(path)?.size ?? 0);
  if (path === undefined || size === 0) return undefined;
  const length = Math.min(size, TAIL_BYTES);
  const text = Buffer.from(atlas.ports.files.readAt(path, size - length, length)).toString('utf8');
  const lines = plainLines(stripVTControlCharacters(text)).trimEnd().split('\n');
  // Where the beginning was cut off, the first line may be half of one.
  return lines
    .slice(length < size && lines.length > 1 ? 1 : 0)
    .slice(-most)
    .join('\n');
}
