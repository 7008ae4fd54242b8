import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { FileStat, FileSystem, Ids } from '../../core/shared/ports';
import { discardFile, ensureFolder, renameWithRetry } from '../../system/files/atomicFile';

/** What a process that was killed left; no run takes as long, in ms. */
const LEFT_MS = 60 * 60_000;
/** Larger ones, of some millions of files, are made from nothing each time. */
const MAX_INDEX_BYTES = 512 * 1024 * 1024;

/** What an index of our own needs from outside. */
export interface IndexPorts {
  readonly files: FileSystem;
  readonly ids: Ids;
}

/**
 * An index of a worktree that only Atlas has git write, so that what stands in it of files' times and sizes was noted
 * when git read them for us. Each run works on a copy, which takes the place of the one before when it is done.
 */
export class OwnIndex {
  private constructor(
    private readonly files: FileSystem,
    private readonly scratch: string,
    /** How the names of this worktree's indexes begin. */
    private readonly family: string,
    private readonly name: string,
    /** The copy that is worked on. */
    readonly path: string,
    /** Which file it is a copy of, as {@link keep} says it; `undefined` where none was kept. */
    readonly copied: string | undefined,
  ) {}

  /**
   * Opens the index of a worktree.
   * @param reading what decides how its files are read: with something else, it is another index
   */
  static open({ files, ids }: IndexPorts, scratch: string, worktree: string, reading: string): OwnIndex {
    ensureFolder(files, scratch);
    const family = `index-${digest(worktree)}-`;
    const name = `${family}${digest(reading)}`;
    const path = join(scratch, `${name}.${Date.now()}.${ids.hex(4)}.tmp`);
    const kept = join(scratch, name);
    const stat = files.stat(kept);
    const isKept = stat?.kind === 'file' && stat.size <= MAX_INDEX_BYTES;
    if (isKept) {
      files.write(path, files.read(kept, MAX_INDEX_BYTES), { exclusive: true });
      // Git reads a file again that is as new as the index: rounded down, a few more are.
      files.touch(path, Math.floor(stat.mtimeMs));
    }
    // Another run may have put its own there meanwhile.
    const isSame = isKept && fileStamp(files, kept) === stampOf(stat);
    const own = new OwnIndex(files, scratch, family, name, path, isSame ? stampOf(stat) : undefined);
    own.sweep((each, age) => each.includes('.tmp') && age > LEFT_MS);
    return own;
  }

  /**
   * Makes what was worked on the index that the next run begins with.
   * @returns which file that is
   */
  keep(): string {
    const stamp = fileStamp(this.files, this.path);
    renameWithRetry(this.files, this.path, join(this.scratch, this.name));
    this.sweep((name) => !name.includes('.tmp') && name !== this.name);
    return stamp;
  }

  dispose(): void {
    for (const path of [this.path, `${this.path}.lock`]) discardFile(this.files, path);
  }

  private sweep(isOver: (name: string, ageMs: number) => boolean): void {
    for (const name of this.files.list(this.scratch)) {
      if (!name.startsWith(this.family)) continue;
      const path = join(this.scratch, name);
      const stat = this.files.stat(path);
      // A copy has the time of what it is a copy of: when its run began stands in its name.
      const began = Number(/\.(\d+)\.[0-9a-f]+\.tmp/u.exec(name)?.[1] ?? 0);
      if (stat !== undefined && isOver(name, Date.now() - Math.max(stat.mtimeMs, began))) discardFile(this.files, path);
    }
  }
}

/** Which file lies at a path and when it was written; it stays the same where the file is renamed. */
export function fileStamp(files: FileSystem, path: string): string {
  return stampOf(files.stat(path));
}

function stampOf(stat: FileStat | undefined): string {
  return stat === undefined ? '-' : `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
}

/** A short name for a text, in files' names. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
