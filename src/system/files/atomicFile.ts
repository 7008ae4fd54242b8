import { dirname } from 'node:path';
import type { FileData, FilePath, FileStat, FileSystem, Ids } from '../../core/shared/ports';
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
export function renameWithRetry(files: FileSystem, from: string, to: FilePath): void {
  tryWhileBusy(() => files.rename(from, to));
}

/** Removes a file, trying again as {@link renameWithRetry} does. */
export function unlinkWithRetry(files: FileSystem, path: FilePath): void {
  tryWhileBusy(() => files.unlink(path));
}

/** Removes a file of ours that nobody needs, where that can be done. */
export function discardFile(files: FileSystem, path: string): void {
  try {
    files.unlink(path);
  } catch {
    // It was never made, or the disk is gone; whoever made it knows more.
  }
}

/**
 * Replaces a file so that a reader sees the old or the new content, whole. With `durable`, the new content is on
 * disk when this returns. The temporary file lies beside it, or `beside` another path, and is removed on failure.
 * @returns what the new file is, if its time tells it from any other write
 */
export function replaceFile(
  files: FileSystem,
  ids: Ids,
  path: string,
  data: FileData,
  options: { durable: boolean; mode?: number; stampMs?: number; beside?: string },
): FileStat | undefined {
  const temporary = `${options.beside ?? path}.${ids.hex(4)}.tmp`;
  let stat: FileStat | undefined;
  try {
    files.write(temporary, data, { exclusive: true, sync: options.durable, mode: options.mode ?? 0o644 });
    if (options.stampMs !== undefined) stat = stamp(files, temporary, options.stampMs);
    renameWithRetry(files, temporary, path);
  } catch (error) {
    discardFile(files, temporary);
    throw error;
  }
  if (options.durable) files.syncFolder(dirname(path));
  return stat;
}

/** Coarser clocks than this (FAT, some network disks) can't tell two writes apart, in ms. */
const STAMP_PRECISION_MS = 0.01;

/**
 * Gives a file a time that no other write has by chance, before anybody sees the file: the system's own advances only
 * every few milliseconds, so that an edit right after ours, of the same size, could not be told from ours.
 */
function stamp(files: FileSystem, path: string, nowMs: number): FileStat | undefined {
  const unique = Math.floor(nowMs) + Math.random();
  files.touch(path, unique);
  const stat = files.stat(path);
  return stat !== undefined && Math.abs(stat.mtimeMs - unique) < STAMP_PRECISION_MS ? stat : undefined;
}

/** Whether two looks at a path met the same file with the same content, as far as the file system tells. */
export function isSameFile(a: FileStat | undefined, b: FileStat | undefined): boolean {
  return a !== undefined && b !== undefined && a.ino === b.ino && a.size === b.size && a.mtimeMs === b.mtimeMs;
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

/** How often a folder is made whose parent another process may remove meanwhile; in some, such as /proc, none can be made. */
const FOLDER_TRIES = 3;

/** Makes a folder and those above it, durably; one that is there is fine. Throws what the file system says. */
export function ensureFolder(files: FileSystem, path: string, mode = 0o755, tries = FOLDER_TRIES): void {
  if (files.stat(path)?.kind === 'folder') return;
  try {
    files.makeFolder(path, mode);
    // What is written into it is lost with it.
    files.syncFolder(dirname(path));
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' && dirname(path) !== path && tries > 1) {
      ensureFolder(files, dirname(path), mode);
      ensureFolder(files, path, mode, tries - 1);
      return;
    }
    // A link to a folder (the root may be one) or another process that was quicker.
    if (code !== 'EEXIST' || files.stat(files.realPath(path))?.kind !== 'folder') throw error;
  }
}

/** Removes a file that may be gone already. */
export function removeFile(files: FileSystem, path: string): void {
  try {
    unlinkWithRetry(files, path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}
