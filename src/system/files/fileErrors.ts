import { AtlasError, type AtlasErrorCode, messageOf } from '../../core/shared/errors';

/** The code of a Node file error (`ENOENT` …); empty for anything else. */
export function codeOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return '';
  return typeof thrown.code === 'string' ? thrown.code : '';
}

const MENDS: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full: free some space and try again. Nothing that was recorded is lost.',
  EDQUOT: 'The disk quota is used up: free some space and try again. Nothing that was recorded is lost.',
  EROFS: 'The file system is read-only: remount it, or set ATLAS_HOME to a folder that can be written.',
  EACCES: 'Give your user permission to read and write the Atlas folder, or set ATLAS_HOME to another one.',
  EPERM: 'Give your user permission to read and write the Atlas folder, and close programs that hold its files open.',
  EBUSY: 'Another program holds the file open: close it and try again.',
  EMFILE: 'Too many files are open: close some programs or raise the limit of open files.',
  ENFILE: 'Too many files are open on this machine: close some programs.',
  EISDIR: 'A folder lies where a file belongs: move it away.',
  ENOTREG: 'A pipe, socket or device lies where a file belongs: move it away.',
  ENOTDIR: 'A file lies where a folder belongs: move it away.',
  EFBIG: 'The file is far larger than any hook file: move it away and run "Atlas: Run Doctor".',
};

/** A file error as one for people: what happened to which file, and what mends it. */
export function fileError(code: AtlasErrorCode, what: string, thrown: unknown): AtlasError {
  const mend = MENDS[codeOf(thrown)];
  return new AtlasError(code, `${what}: ${messageOf(thrown)}`, {
    ...(mend === undefined ? {} : { mend }),
    cause: thrown,
  });
}
