import { dirname } from 'node:path';
import type { FileSystem, Ids } from '../core/ports';
import { codeOf } from './fileErrors';

/** A virus scanner or an indexer on Windows holds a new file for a moment; to rename onto it or to remove it then fails. */
const BUSY = new Set(['EPERM', 'EBUSY', 'EACCES']);
/** What a file system without hard links says. */
export const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);
const TRIES = 8;

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function tryWhileBusy(operate: () => void): void {
  for (let attempt = 1; ; attempt += 1) {
    try {
      operate();
      return;
    } catch (error) {
      if (attempt >= TRIES || !BUSY.has(codeOf(error))) throw error;
      pause(2 ** attempt);
    }
  }
}

/** Renames, trying again for at most about 250 ms while another program holds the target. */
export function renameWithRetry(files: FileSystem, from: string, to: string): void {
  tryWhileBusy(() => files.rename(from, to));
}

/** Removes a file, trying again as {@link renameWithRetry} does. */
export function unlinkWithRetry(files: FileSystem, path: string): void {
  tryWhileBusy(() => files.unlink(path));
}

/**
 * Replaces a file so that a reader sees the old or the new content, whole. With `durable`, the new content is on
 * disk when this returns. The temporary file lies beside it and is removed on failure.
 */
export function replaceFile(
  files: FileSystem,
  ids: Ids,
  path: string,
  data: string | Uint8Array,
  options: { durable: boolean; mode?: number },
): void {
  const temporary = `${path}.${ids.hex(4)}.tmp`;
  try {
    files.write(temporary, data, { exclusive: true, sync: options.durable, mode: options.mode ?? 0o644 });
    renameWithRetry(files, temporary, path);
  } catch (error) {
    try {
      files.unlink(temporary);
    } catch {
      // It was never made, or the disk is gone; the first error tells.
    }
    throw error;
  }
  if (options.durable) files.syncFolder(dirname(path));
}

/** Makes a file that isn't there yet, whole and durably; false if another process was quicker. */
export function createFile(
  files: FileSystem,
  ids: Ids,
  path: string,
  data: string | Uint8Array,
  mode = 0o644,
): boolean {
  const temporary = `${path}.${ids.hex(4)}.tmp`;
  try {
    files.write(temporary, data, { exclusive: true, sync: true, mode });
    files.link(temporary, path);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    if (!NO_LINKS.has(codeOf(error))) throw error;
    if (files.stat(path) !== undefined) return false;
    renameWithRetry(files, temporary, path);
  } finally {
    if (files.stat(temporary) !== undefined) unlinkWithRetry(files, temporary);
  }
  files.syncFolder(dirname(path));
  return true;
}

/** Makes a folder and those above it, durably; one that is there is fine. */
export function ensureFolder(files: FileSystem, path: string, mode = 0o755): void {
  if (files.stat(path)?.kind === 'folder') return;
  try {
    files.makeFolder(path, mode);
    // What is written into it is lost with it.
    files.syncFolder(dirname(path));
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' && dirname(path) !== path) {
      ensureFolder(files, dirname(path), mode);
      ensureFolder(files, path, mode);
      return;
    }
    // A link to a folder (the root may be one) or another process that was quicker.
    if (code !== 'EEXIST' || files.stat(files.realPath(path))?.kind !== 'folder') throw error;
  }
}
