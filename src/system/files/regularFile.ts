import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs';
import { codeOf } from './fileErrors';

/*
 * Files that somebody else could have placed. A pipe, a socket or a device where a file belongs must neither hang nor
 * answer: it is opened without waiting, and what it is and how large is asked of what was opened, not of its name.
 */

/** A flag of `open` that Windows doesn't have. */
function flag(name: 'O_NONBLOCK' | 'O_NOCTTY' | 'O_NOFOLLOW'): number {
  return (constants as Readonly<Record<string, number | undefined>>)[name] ?? 0;
}

/** With these, opening a pipe doesn't wait, and a terminal doesn't become ours. */
const SAFE = flag('O_NONBLOCK') | flag('O_NOCTTY');
const NO_LINK = flag('O_NOFOLLOW');

/** A file error with Node's shape. `ENOTREG` is ours: neither a file nor a folder. */
function fileProblem(
  code: 'EFBIG' | 'EISDIR' | 'ENOTREG' | 'ELOOP',
  path: string,
  what: string,
): NodeJS.ErrnoException {
  const error: NodeJS.ErrnoException = new Error(`${code}: ${path} ${what}`);
  error.code = code;
  error.path = path;
  return error;
}

function refuseUnlessRegular(fd: number, path: string): number {
  const stat = fstatSync(fd);
  if (stat.isDirectory()) throw fileProblem('EISDIR', path, 'is a folder, not a file');
  if (!stat.isFile()) throw fileProblem('ENOTREG', path, 'is a pipe, socket or device, not a file');
  return stat.size;
}

/**
 * Opens a regular file; anything else fails with `EISDIR` or `ENOTREG`, at once. The caller closes it.
 * @param flags as `open` takes them, without those that keep it from waiting
 * @param how `link: 'refuse'` fails with `ELOOP` where the path's last part is a link
 */
export function openRegularFile(
  path: string,
  flags: number,
  how: { readonly mode?: number; readonly link?: 'follow' | 'refuse' } = {},
): { readonly fd: number; readonly size: number } {
  const link = how.link === 'refuse' ? NO_LINK : 0;
  // Windows can't be told not to follow a link as it opens a file.
  if (how.link === 'refuse' && process.platform === 'win32' && lstatSync(path).isSymbolicLink())
    throw fileProblem('ELOOP', path, 'is a link');
  let fd: number;
  try {
    fd = openSync(path, flags | SAFE | link, how.mode);
  } catch (error) {
    // A socket can't be opened at all, and a pipe that nobody reads can't be written to.
    if (codeOf(error) === 'ENXIO' || codeOf(error) === 'EOPNOTSUPP')
      throw fileProblem('ENOTREG', path, 'is a pipe, socket or device, not a file');
    if (codeOf(error) === 'ELOOP' && link !== 0) throw fileProblem('ELOOP', path, 'is a link');
    throw error;
  }
  try {
    return { fd, size: refuseUnlessRegular(fd, path) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Reads a piece of an open file; shorter where the file ends. */
export function readPiece(fd: number, position: number, length: number): Uint8Array {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const count = readSync(fd, buffer, filled, length - filled, position + filled);
    if (count === 0) break;
    filled += count;
  }
  return buffer.subarray(0, filled);
}

/**
 * The content of a regular file of at most `limit` bytes. Throws Node's errors, `EFBIG` for a larger file and `EISDIR` or
 * `ENOTREG` for what is no file; never waits for a pipe.
 */
export function readRegularFile(path: string, limit: number, link: 'follow' | 'refuse' = 'follow'): Uint8Array {
  const { fd, size } = openRegularFile(path, constants.O_RDONLY, { link });
  try {
    if (size > limit) throw fileProblem('EFBIG', path, `has ${size} bytes, but at most ${limit} are read`);
    return readPiece(fd, 0, size);
  } finally {
    closeSync(fd);
  }
}
