import { type BigIntStats, lstatSync } from 'node:fs';
import { pathBelow } from '../../git/read/gitPath';
import { codeOf } from '../../system/files/fileErrors';
import { parentsOf, type TreePath } from '../../core/snapshot/treePath';

/** What lies at a path of a worktree. Links are not followed, but for those on the way: {@link ParentLook} looks at these. */
export interface FileLook {
  readonly kind: 'file' | 'link' | 'folder' | 'other';
  readonly size: number;
  /** Permission bits. */
  readonly mode: number;
  /** The newer of the times of its content and its entry that isn't ahead of the clock, in ms. */
  readonly changedMs: number;
  /** The same in two looks only if nothing was changed in between, as far as the file system tells. */
  readonly stamp: string;
}

function kindOf(stat: BigIntStats): FileLook['kind'] {
  if (stat.isFile()) return 'file';
  if (stat.isSymbolicLink()) return 'link';
  return stat.isDirectory() ? 'folder' : 'other';
}

/** What lies at a path; `undefined` for nothing. Throws where it can't be looked at (`EACCES` …). */
export function lookAt(worktree: string, path: TreePath): FileLook | undefined {
  let stat: BigIntStats | undefined;
  try {
    stat = lstatSync(pathBelow(worktree, path), { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if (codeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
  if (stat === undefined) return undefined;
  const now = Date.now() + 1000;
  const times = [Number(stat.mtimeMs), Number(stat.ctimeMs)].filter((time) => time <= now);
  return {
    kind: kindOf(stat),
    size: Number(stat.size),
    mode: Number(stat.mode) & 0o777,
    changedMs: Math.max(0, ...times),
    stamp: [stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs, stat.mode].join(':'),
  };
}

/** As {@link lookAt}, where what can't be looked at is `undefined` too. */
export function tryLookAt(worktree: string, path: TreePath): FileLook | undefined {
  try {
    return lookAt(worktree, path);
  } catch {
    return undefined;
  }
}

/** Looks at the folders that paths lie in, at each once. */
export class ParentLook {
  private readonly known = new Map<TreePath, FileLook['kind'] | undefined>();

  constructor(private readonly worktree: string) {}

  /** The first parent of a path that is no folder, or isn't there. */
  firstOdd(path: TreePath): { readonly parent: TreePath; readonly kind: FileLook['kind'] | undefined } | undefined {
    for (const parent of parentsOf(path)) {
      if (!this.known.has(parent)) this.known.set(parent, tryLookAt(this.worktree, parent)?.kind);
      const kind = this.known.get(parent);
      if (kind !== 'folder') return { parent, kind };
    }
    return undefined;
  }

  /** Whether a path can't be looked at since a link above it leads to itself. */
  isBehindLoop(path: TreePath): boolean {
    if (this.firstOdd(path)?.kind !== 'link') return false;
    try {
      lookAt(this.worktree, path);
      return false;
    } catch (error) {
      return codeOf(error) === 'ELOOP';
    }
  }

  /** As {@link tryLookAt}; what only a link on the way leads to isn't at the path. */
  tryLookAt(path: TreePath): FileLook | undefined {
    return this.firstOdd(path) === undefined ? tryLookAt(this.worktree, path) : undefined;
  }
}
