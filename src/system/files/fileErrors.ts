import { AtlasError, type AtlasErrorCode, messageOf } from '../../core/shared/errors';

/** The code of a Node file error (`ENOENT` …); empty for anything else. */
export function codeOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return '';
  return typeof thrown.code === 'string' ? thrown.code : '';
}

const HINTS: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full. Free some space and try again. No recorded data is lost.',
  EDQUOT: 'The disk quota is exceeded. Free some space and try again. No recorded data is lost.',
  EROFS: 'The file system is read-only. Remount it, or set ATLAS_HOME to a writable folder.',
  EACCES: 'Give your user permission to read and write the Atlas folder, or set ATLAS_HOME to another one.',
  EPERM: 'Give your user permission to read and write the Atlas folder, and close programs that hold its files open.',
  EBUSY: 'Another program has the file open. Close it and try again.',
  EMFILE: 'Too many files are open. Close some programs or raise the open file limit.',
  ENFILE: 'Too many files are open on this machine. Close some programs.',
  EISDIR: 'There is a folder where a file belongs. Move it away.',
  ENOTREG: 'There is a pipe, socket or device where a file belongs. Move it away.',
  ENOTDIR: 'There is a file where a folder belongs. Move it away.',
  EFBIG: 'The file is far too large for a task record. Move it away and run "Atlas: Run Doctor".',
};

/** A file error as one for people: what happened to which file, and what fixes it. */
export function fileError(code: AtlasErrorCode, what: string, thrown: unknown): AtlasError {
  const hint = HINTS[codeOf(thrown)];
  return new AtlasError(code, `${what}: ${messageOf(thrown)}`, {
    ...(hint === undefined ? {} : { hint }),
    cause: thrown,
  });
}

/** What was thrown where files are read or written, as a failure: one of ours as it is, all else as one of files. */
export function failureOf(
  code: AtlasErrorCode,
  what: string,
  thrown: unknown,
): { readonly ok: false; readonly error: AtlasError } {
  return { ok: false, error: thrown instanceof AtlasError ? thrown : fileError(code, what, thrown) };
}
