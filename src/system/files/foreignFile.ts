import { type Result, fail, ok } from '../../core/shared/errors';
import { codeOf, fileError } from './fileErrors';
import { readRegularFile } from './regularFile';

/**
 * Reads a file that somebody else may have put there. A link is not followed, a pipe or device is not waited for, and nothing
 * is read of a file that has more than `limit` bytes. Fails with `not_found`, `unsafe_path` (a link), `unreadable` (no file),
 * or `damaged` (too large).
 */
export function readForeignFile(path: string, limit: number): Result<Uint8Array> {
  try {
    return ok(readRegularFile(path, limit, 'refuse'));
  } catch (error) {
    switch (codeOf(error)) {
      case 'ENOENT':
      case 'ENOTDIR':
        return fail('not_found', `${path} does not exist.`);
      case 'ELOOP':
      case 'EMLINK':
        return fail('unsafe_path', `${path} is a symbolic link, which is not followed.`, { hint: 'Move it away.' });
      case 'EFBIG':
        return fail('damaged', `${path} is larger than the limit of ${limit} bytes.`);
      case 'EISDIR':
      case 'ENOTREG':
        return fail('unreadable', `${path} is not a file.`, { hint: 'Move it away.' });
      default:
        return { ok: false, error: fileError('unreadable', `${path} could not be read`, error) };
    }
  }
}
