import { createHash, randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';

/** What a process that was killed left; no run takes as long, in ms. */
const LEFT_MS = 60 * 60_000;

/**
 * An index of a worktree that only Atlas has git write, so that what stands in it of files' times and sizes was noted
 * when git read them for us. Each run works on a copy, which takes the place of the one before when it is done.
 */
export class OwnIndex {
  private constructor(
    private readonly scratch: string,
    /** How the names of this worktree's indexes begin. */
    private readonly family: string,
    private readonly name: string,
  ) {}

  /**
   * Opens the index of a worktree.
   * @param reading what decides how its files are read: with something else, it is another index
   */
  static open(scratch: string, worktree: string, reading: string): OwnIndex {
    mkdirSync(scratch, { recursive: true });
    const family = `index-${digest(worktree)}-`;
    const own = new OwnIndex(scratch, family, `${family}${digest(reading)}`);
    own.sweep((name, age) => name.includes('.tmp') && age > LEFT_MS);
    const kept = join(scratch, own.name);
    const stat = statSync(kept, { throwIfNoEntry: false });
    if (stat?.isFile() === true) {
      copyFileSync(kept, own.path);
      // Git reads a file again that is as new as the index: rounded down, a few more are.
      utimesSync(own.path, stat.atime, stat.mtime);
    }
    return own;
  }

  private readonly temporary = `.${randomBytes(6).toString('hex')}.tmp`;

  /** The copy that is worked on. */
  get path(): string {
    return join(this.scratch, this.name + this.temporary);
  }

  /** Makes what was worked on the index that the next run begins with. */
  keep(): void {
    renameSync(this.path, join(this.scratch, this.name));
    this.sweep((name) => !name.includes('.tmp') && name !== this.name);
  }

  dispose(): void {
    for (const path of [this.path, `${this.path}.lock`]) rmSync(path, { force: true });
  }

  private sweep(isOver: (name: string, ageMs: number) => boolean): void {
    for (const name of readdirSync(this.scratch)) {
      if (!name.startsWith(this.family)) continue;
      const path = join(this.scratch, name);
      const stat = statSync(path, { throwIfNoEntry: false });
      if (stat !== undefined && isOver(name, Date.now() - stat.mtimeMs)) rmSync(path, { force: true });
    }
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
