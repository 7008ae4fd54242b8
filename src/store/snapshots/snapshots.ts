import { createHash } from 'node:crypto';
import { join, relative, sep } from 'node:path';
import type { FileSnapshot } from '../../core/task/taskRecord';
import type { FileStat, FileSystem } from '../../core/shared/ports';
import { codeOf } from '../../system/files/fileErrors';
import { Slices } from '../../system/slices';
import { insideWorktree } from '../../system/files/worktreePath';

/** A larger file (bytes) is recorded without a hash. */
const MAX_HASHED_BYTES = 10 * 1024 * 1024;
/** Bytes read at once; small enough that a pause between two chunks is never long. */
const CHUNK = 512 * 1024;
/** How long snapshots are taken before others get a turn, in ms. */
const SLICE_MS = 15;
/** The most files of one checkpoint; the newest touched ones are kept. */
const MAX_FILES = 500;

/** How git, and `git/gitPath.ts`, shows a path whose bytes are no text. */
const QUOTED = /^".*\\[2-3][0-7]{2}.*"$/u;

async function hashFile(files: FileSystem, path: string, size: number): Promise<string> {
  const hash = createHash('sha256');
  for (let position = 0; position < size; position += CHUNK) {
    hash.update(files.readAt(path, position, Math.min(CHUNK, size - position)));
    if (position > 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return hash.digest('hex').slice(0, 16);
}

function missing(path: string): FileSnapshot {
  return { path, size: 0, mod_time: '', sha256: '', exists: false };
}

/** A link inside the worktree is what its target is only if that is inside too. */
function statInside(files: FileSystem, worktree: string, full: string): FileStat | undefined {
  const own = files.stat(full);
  if (own === undefined) return undefined;
  const real = files.realPath(full);
  return insideWorktree(worktree, real) === undefined ? undefined : files.stat(real);
}

async function snapshot(
  files: FileSystem,
  worktree: string,
  path: string,
  known: FileSnapshot | undefined,
): Promise<FileSnapshot | undefined> {
  // A name that is no text can't be opened by its text: recorded without what can't be known.
  if (QUOTED.test(path)) return { path, size: 0, mod_time: '', sha256: '', exists: true };
  const full = join(worktree, path);
  try {
    const stat = statInside(files, worktree, full);
    if (stat === undefined) return files.stat(full) === undefined ? missing(path) : undefined;
    if (stat.kind !== 'file') return undefined;
    const modTime = new Date(stat.mtimeMs).toISOString();
    const same =
      known?.exists === true && known.size === stat.size && known.mod_time === modTime && known.sha256 !== '';
    const large = stat.size > MAX_HASHED_BYTES;
    const hash = same ? known.sha256 : large ? '' : await hashFile(files, full, stat.size);
    return { path, size: stat.size, mod_time: modTime, sha256: hash, exists: true };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return missing(path);
    // It is there but can't be read: recorded without what can't be known.
    return { path, size: 0, mod_time: '', sha256: '', exists: true };
  }
}

/**
 * The state of some files of a worktree (a real path). Paths that lead out of it, links out of it and folders are
 * left out. A file whose size and time are those of an earlier snapshot keeps that hash.
 */
export async function takeSnapshots(
  files: FileSystem,
  worktree: string,
  paths: readonly string[],
  known: readonly FileSnapshot[] = [],
): Promise<FileSnapshot[]> {
  const before = new Map(known.map((file) => [file.path, file]));
  const inside = [...new Set(paths.flatMap((path) => insideWorktree(worktree, path) ?? []))].slice(-MAX_FILES);
  const taken: FileSnapshot[] = [];
  const slices = new Slices(SLICE_MS);
  for (const path of inside) {
    const one = await snapshot(files, worktree, path, before.get(path));
    if (one !== undefined) taken.push(one);
    await slices.turn();
  }
  return taken;
}

/** Paths relative to artifacts/ of all files in it, with `/`, sorted; at most `limit`. */
export function listArtifacts(files: FileSystem, folder: string, limit = 1000): string[] {
  const found: string[] = [];
  const visit = (path: string): void => {
    if (files.stat(path)?.kind !== 'folder') return;
    for (const name of files.list(path).sort()) {
      if (found.length >= limit) return;
      const full = join(path, name);
      const kind = files.stat(full)?.kind;
      if (kind === 'folder') visit(full);
      else if (kind === 'file') found.push(relative(folder, full).split(sep).join('/'));
    }
  };
  visit(folder);
  return found;
}
