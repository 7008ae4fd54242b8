import { AtlasError, type Result, ok } from '../../core/shared/errors';
import type { FileSystem } from '../../core/shared/ports';
import { failureOf } from '../../system/files/fileErrors';
import { sha256 } from './recordFile';
import { type JournalContent, parseJournalLine } from './journal';

/** How each line of ours begins: what the chain is made of stands first. */
const LINE_HEAD = /^\{"seq":\d+,"prev":"([0-9a-f]*)",/u;
const HEAD_BYTES = 128;
const LINE_FEED = 0x0a;
const MAX_JOURNAL_BYTES = 512 * 1024 * 1024;

/**
 * Where a journal's chain breaks, if it does; many times faster than reading it all. What a line says is looked at only
 * where it doesn't begin as ours do, and in the last one, whose hash stands nowhere. A torn last line is left out.
 */
export function checkChain(files: FileSystem, path: string): Result<JournalContent['brokenAt']> {
  let bytes: Uint8Array;
  try {
    const stat = files.stat(path);
    if (stat !== undefined && stat.kind !== 'file')
      throw new AtlasError('unsafe_path', `${path} is a ${stat.kind}, not a file.`);
    bytes = files.read(path, MAX_JOURNAL_BYTES);
  } catch (error) {
    return failureOf('unreadable', `${path} could not be read`, error);
  }
  return ok(breakIn(bytes));
}

function breakIn(bytes: Uint8Array): JournalContent['brokenAt'] {
  let previous = '';
  for (let start = 0, number = 1; start < bytes.length; number += 1) {
    const end = bytes.indexOf(LINE_FEED, start);
    if (end === -1) break;
    const raw = bytes.subarray(start, end);
    const head = LINE_HEAD.exec(Buffer.from(raw.subarray(0, HEAD_BYTES)).toString('latin1'))?.[1];
    const read = head === undefined || bytes.indexOf(LINE_FEED, end + 1) === -1;
    const line = read ? parseJournalLine(raw) : undefined;
    if (read && line === undefined) return { line: number, why: 'it is not a journal line' };
    if ((line?.prev ?? head) !== previous) return { line: number, why: "it doesn't follow from the line before" };
    previous = sha256(raw);
    start = end + 1;
  }
  return undefined;
}
