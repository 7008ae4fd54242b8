import { join } from 'node:path';
import type { LeftOut } from '../../core/snapshot/snapshotRecord';
import { isTreeId } from '../../core/snapshot/snapshotRecord';
import type { TreePath } from '../../core/snapshot/treePath';
import { NO_LINKS, discardFile, replaceFile } from '../../system/files/atomicFile';
import { codeOf } from '../../system/files/fileErrors';
import { jsonOf } from '../../system/files/readJson';
import type { Place } from '../storage/place';
import type { SnapshotPorts } from '../storage/snapshotPorts';

/** Far above any that is written, in bytes: a mode of its own for each of a million files. */
const MAX_BYTES = 512 * 1024 * 1024;
const FORMAT = 2;

/** What the user's index says beside contents, and when it said so. */
export interface UserIndexFacts {
  /** Of the index file; empty where there is none. */
  readonly stamp: string;
  /** Tracked, though an ignore file names them. */
  readonly ignoredTracked: readonly TreePath[];
  /** Commits by path. */
  readonly submodules: Readonly<Record<TreePath, string>>;
  /** Whether files are left out of the worktree (`skip-worktree`). */
  readonly isSparse: boolean;
  /** Whether ignore files are among what isn't checked out. */
  readonly hidesRules: boolean;
}

/** What the last capture of a worktree left for the next one. All of it can be made again. */
export interface WorktreeCache {
  readonly format: typeof FORMAT;
  /** Which object database it is about, and how files were read. */
  readonly database: string;
  readonly setup: string;
  /** The name of the index. */
  readonly index: string;
  /** The snapshot, and the tree of the files in it. */
  readonly tree: string;
  readonly filesTree: string;
  readonly files: number;
  /** Stamps of files that were changed so shortly before they were read that git's whole seconds may not tell a later change. */
  readonly young: readonly (readonly [TreePath, string])[];
  /** The usual permission bits of files and programs; `modes` has those of the others. */
  readonly base: readonly [number, number];
  readonly modes: readonly (readonly [TreePath, number])[];
  readonly leftOut: readonly LeftOut[];
  readonly rules: readonly (readonly [TreePath, string])[];
  readonly user: UserIndexFacts;
  /** Of the paths that are tracked though ignored, those that the index hasn't: they weren't there. */
  readonly absentTracked: readonly TreePath[];
  /** Ids of the snapshot's own blobs, and digests of their contents, by name. */
  readonly parts: Readonly<Record<string, readonly [digest: string, id: string]>>;
}

function cachePath(place: Place): string {
  return join(place.home, 'cache.json');
}

/** What the last capture left; `undefined` where there is none that fits. */
export function readCache(
  { files }: SnapshotPorts,
  place: Place,
  database: string,
  setup: string,
): WorktreeCache | undefined {
  try {
    const value = jsonOf(Buffer.from(files.read(cachePath(place), MAX_BYTES)).toString('utf8')) as
      Partial<WorktreeCache> | undefined;
    const fits = value?.format === FORMAT && value.database === database && value.setup === setup;
    if (!fits || !isTreeId(value.tree) || !isTreeId(value.filesTree)) return undefined;
    const { index } = value;
    if (typeof index !== 'string' || !/^index-[0-9a-f]+$/u.test(index)) return undefined;
    return files.stat(join(place.home, index))?.kind === 'file' ? (value as WorktreeCache) : undefined;
  } catch {
    return undefined;
  }
}

/** The snapshot that a worktree's next capture stands on. */
export function cachedTree({ files }: SnapshotPorts, home: string): string | undefined {
  try {
    const value = jsonOf(Buffer.from(files.read(join(home, 'cache.json'), MAX_BYTES)).toString('utf8'));
    const tree = (value as Partial<WorktreeCache> | undefined)?.tree;
    return isTreeId(tree) ? tree : undefined;
  } catch {
    return undefined;
  }
}

/** Puts what a capture found in the place of what the one before did. */
export function writeCache({ files, ids }: SnapshotPorts, place: Place, cache: WorktreeCache): void {
  replaceFile(files, ids, cachePath(place), JSON.stringify(cache), { durable: true, mode: 0o600 });
  removeStrays({ files }, place.home, cache.index);
}

/** Forgets what captures left: the next one reads every file. */
export function dropCache({ files }: Pick<SnapshotPorts, 'files'>, home: string): void {
  discardFile(files, join(home, 'cache.json'));
  removeStrays({ files }, home, '');
}

/** Removes what captures that were killed left. The caller holds the worktree's lock. */
function removeStrays({ files }: Pick<SnapshotPorts, 'files'>, home: string, index: string): void {
  for (const name of files.list(home))
    if (name !== index && /^(?:index-[0-9a-f]+(?:\.lock)?|cache\.json\..*\.tmp)$/u.test(name))
      discardFile(files, join(home, name));
}

/**
 * A copy of the last capture's index to work on. A link is one too: git replaces an index and never writes into it. Where
 * there are no links the copy has the time of its original, without which git would take changed files for unchanged.
 */
export function copyOfIndex({ files, ids }: SnapshotPorts, place: Place, index: string | undefined): string {
  const name = `index-${ids.hex(6)}`;
  if (index === undefined) return name;
  const [from, to] = [join(place.home, index), join(place.home, name)];
  try {
    files.link(from, to);
  } catch (error) {
    if (!NO_LINKS.has(codeOf(error))) throw error;
    const stat = files.stat(from);
    files.write(to, files.read(from, MAX_BYTES), { exclusive: true, mode: 0o600 });
    files.touch(to, Math.floor(stat?.mtimeMs ?? 0));
  }
  return name;
}
