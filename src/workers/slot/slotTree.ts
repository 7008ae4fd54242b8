import { basename, dirname, join } from 'node:path';
import { AtlasError } from '../../core/shared/errors';
import type { FileSystem, Ids } from '../../core/shared/ports';
import { ensureFolder, renameWithRetry, replaceFile, unlinkWithRetry } from '../../system/files/atomicFile';
import { LIMITS } from '../../core/worker/limits';
import { codeOf } from '../../system/files/fileErrors';
import { readForeignFile } from '../../system/files/foreignFile';
import { isSafePath, repositoryHeads } from '../git/treePaths';

const MAX_FILES = LIMITS.folderFiles;
const MAX_BYTES = LIMITS.branchBytes;

const OWN_FOLDER = 'evidence';
/** The files of a hook that are the protocol's own, by what is in them. */
export const SLOT_FILES = {
  task: 'task.json',
  context: 'context.json',
  result: 'result.json',
  status: 'status.json',
  inputHash: `${OWN_FOLDER}/input-hash.txt`,
  outputHash: `${OWN_FOLDER}/output-hash.txt`,
} as const;
/** Where they lie: no folder can be kept there, nor a file in the place of their folder. */
export const OWN_FILES: ReadonlySet<string> = new Set<string>([...Object.values(SLOT_FILES), '.gitattributes']);

/** A file that lies in a folder. */
export interface FolderFile {
  readonly bytes: Uint8Array;
  readonly executable: boolean;
}

/** The files of a folder. */
export interface FolderContent {
  /** By path with `/`. */
  readonly files: ReadonlyMap<string, FolderFile>;
  /** What can't be kept: links, devices, names that not every system has, repositories inside. */
  readonly skipped: readonly string[];
}

/**
 * Reads all files of a folder, each once, so that what is hashed is what is kept. Links are not followed. Fails with `usage` where
 * there is too much; throws file errors.
 */
export function readFolder(files: FileSystem, folder: string): FolderContent {
  const found = new Map<string, FolderFile>();
  const skipped: string[] = [];
  let bytes = 0;
  const waiting = [''];
  for (let inside = waiting.pop(); inside !== undefined; inside = waiting.pop()) {
    for (const name of files.list(join(folder, inside)).sort()) {
      const path = inside === '' ? name : `${inside}/${name}`;
      if (path === '.git') continue;
      const stat = files.stat(join(folder, path));
      if (stat === undefined) continue;
      if (!isSafePath(path) || (stat.kind !== 'file' && stat.kind !== 'folder')) skipped.push(path);
      else if (stat.kind === 'folder' ? OWN_FILES.has(path) : path === OWN_FOLDER) skipped.push(path);
      else if (stat.kind === 'folder') waiting.push(path);
      else {
        bytes += stat.size;
        if (found.size >= MAX_FILES || bytes > MAX_BYTES) throw tooMuch(folder);
        const content = readForeignFile(join(folder, path), MAX_BYTES);
        if (!content.ok && content.error.cause !== undefined) throw content.error;
        // Something else took its place just now.
        if (!content.ok) skipped.push(path);
        else
          found.set(path, {
            bytes: content.value,
            executable: (stat.mode & 0o100) !== 0 && process.platform !== 'win32',
          });
      }
    }
  }
  for (const head of repositoryHeads(found.keys())) {
    found.delete(head);
    skipped.push(head);
  }
  return { files: found, skipped };
}

/**
 * Whether a folder, in which these names are, holds a file that is meant, as {@link readFolder} would read it, in folders that are;
 * nothing is read. Throws file errors.
 */
export function holdsFile(
  files: FileSystem,
  folder: string,
  names: readonly string[],
  isMeant: (path: string) => boolean,
): boolean {
  const waiting = [''];
  for (let inside = waiting.shift(), seen = 0; inside !== undefined && seen < MAX_FILES; inside = waiting.shift()) {
    for (const name of inside === '' ? names : files.list(join(folder, inside))) {
      const path = inside === '' ? name : `${inside}/${name}`;
      if (path === '.git' || !isMeant(path) || !isSafePath(path)) continue;
      seen += 1;
      const kind = files.stat(join(folder, path))?.kind;
      if (kind === 'file') return true;
      if (kind === 'folder') waiting.push(path);
    }
  }
  return false;
}

function tooMuch(folder: string): AtlasError {
  const message = `${folder} contains more than ${MAX_FILES} files or ${MAX_BYTES / 1024 / 1024} MiB.`;
  return new AtlasError('usage', message, {
    hint: 'Move large results out of the folder and name them in the result.',
  });
}

/**
 * Writes files below a folder, whole each, and removes those that are `undefined`. Paths were checked, and nobody else writes there now.
 * Throws file errors.
 */
export function writeFolder(
  files: FileSystem,
  ids: Ids,
  folder: string,
  changes: ReadonlyMap<string, FolderFile | undefined>,
): void {
  // What is half written lies beside the folder: in it, a crash would leave what looks like a worker's own file.
  sweep(files, folder);
  for (const [path, file] of changes) {
    const target = join(folder, path);
    const blocked = linkAbove(files, folder, path);
    if (blocked !== undefined) clearPlace(files, ids, blocked);
    if (file === undefined) remove(files, target);
    else {
      if (files.stat(target)?.kind === 'folder') clearPlace(files, ids, target);
      ensureFolder(files, dirname(target));
      // The branch keeps it; what a loss of power takes from the folder is shown again.
      replaceFile(files, ids, target, file.bytes, {
        durable: false,
        beside: folder,
        mode: file.executable ? 0o755 : 0o644,
      });
    }
  }
}

/** Makes room for one of ours: what holds something that somebody made gets another name beside it, and is kept. */
function clearPlace(files: FileSystem, ids: Ids, path: string): void {
  const kind = files.stat(path)?.kind;
  if (kind === 'file' || kind === 'folder') renameWithRetry(files, path, `${path}.${ids.hex(4)}.aside`);
  else unlinkWithRetry(files, path);
}

/** Removes what somebody who was killed had half written. */
function sweep(files: FileSystem, folder: string): void {
  const name = basename(folder);
  for (const each of files.list(dirname(folder))) {
    if (!each.startsWith(`${name}.`) || !/^\.[0-9a-f]{8}\.tmp$/u.test(each.slice(name.length))) continue;
    const path = join(dirname(folder), each);
    if (files.stat(path)?.kind === 'file') remove(files, path);
  }
}

/** What is no folder where a folder belongs: written through a link, a file would land elsewhere. */
function linkAbove(files: FileSystem, folder: string, path: string): string | undefined {
  const parts = path.split('/').slice(0, -1);
  const above = parts.map((_, index) => join(folder, ...parts.slice(0, index + 1)));
  return above.find((each) => {
    const kind = files.stat(each)?.kind;
    return kind !== undefined && kind !== 'folder';
  });
}

function remove(files: FileSystem, path: string): void {
  try {
    unlinkWithRetry(files, path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR') throw error;
  }
}
