import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs';
import { type Result, fail, ok } from '../core/errors';
import { codeOf, fileError } from './fileErrors';

const IS_WINDOWS = process.platform === 'win32';
/** Windows has neither of the two; there no file waits for another process to be opened. */
const FLAGS = IS_WINDOWS ? constants.O_RDONLY : constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/**
 * Reads a file that somebody else may have put there. A link is not followed, a pipe or device is not waited for, and nothing is read of a
 * file that has more than `limit` bytes. Fails with `not_found`, `unsafe_path` (a link), `unreadable` (no file), or `damaged` (too large).
 */
export function readRegularFile(path: string, limit: number): Result<Uint8Array> {
  let file: number | undefined;
  try {
    if (IS_WINDOWS && lstatSync(path).isSymbolicLink()) return isLink(path);
    file = openSync(path, FLAGS);
    const stat = fstatSync(file);
    if (!stat.isFile()) return fail('unreadable', `${path} is not a file.`, { mend: 'Move it away.' });
    if (stat.size > limit) return fail('damaged', `${path} has ${stat.size} bytes, at most ${limit} are read.`);
    return ok(readAll(file, stat.size));
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return fail('not_found', `${path} is not there.`);
    if (code === 'ELOOP' || code === 'EMLINK') return isLink(path);
    return { ok: false, error: fileError('unreadable', `${path} can't be read`, error) };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function isLink(path: string): Result<never> {
  return fail('unsafe_path', `${path} is a symbolic link, which is not followed.`, { mend: 'Move it away.' });
}

function readAll(file: number, size: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(size);
  let filled = 0;
  for (let count = -1; count !== 0 && filled < size; filled += count)
    count = readSync(file, bytes, filled, size - filled, filled);
  return bytes.subarray(0, filled);
}
