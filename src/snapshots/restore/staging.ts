import { createHash, type Hash } from 'node:crypto';
import { join } from 'node:path';
import { ok } from '../../core/shared/errors';
import type { Goal } from '../../core/snapshot/restorePlan';
import { refuse } from '../../core/snapshot/problem';
import type { PrivateGit } from '../storage/privateGit';
import type { Outcome, SnapshotPorts } from '../storage/snapshotPorts';

/** A file that is put beside the worktree's before it is renamed into its place. */
export interface StagedFile {
  /** Where it is put. */
  readonly path: string;
  readonly goal: Goal;
}

const LINE_FEED = 0x0a;
const HEADER = /^[0-9a-f]+ blob (\d+)$/u;
/** Larger contents are written as they come, in bytes. */
const WHOLE = 4 * 1024 * 1024;

/**
 * Writes contents of the object database into new files, links as links. Each is compared with its id: what is damaged
 * is `lost`, and nothing of the worktree was changed yet.
 */
export async function stageFiles(
  { files }: SnapshotPorts,
  git: PrivateGit,
  staged: readonly StagedFile[],
): Promise<Outcome<void>> {
  if (staged.length === 0) return ok(undefined);
  const reader = new BatchReader(git.place.objectFormat, files, staged);
  const input = staged.map(({ goal }) => `${goal.id}\n`).join('');
  const done = await git.stream(['cat-file', '--batch'], { input }, (piece) => {
    reader.take(piece);
  });
  if (reader.problem !== undefined) return refuse('lost', reader.problem);
  if (!done.ok) return done;
  if (!reader.isDone) return refuse('lost', 'The object database ended before all contents were read.');
  await files.syncAll?.(staged.filter(({ goal }) => goal.mode !== '120000').map(({ path }) => path));
  return ok(undefined);
}

/** Takes the output of `git cat-file --batch` apart. */
class BatchReader {
  problem: string | undefined;
  private at = 0;
  private rest = Buffer.alloc(0);
  private current: Content | undefined;

  constructor(
    private readonly format: 'sha1' | 'sha256',
    private readonly files: SnapshotPorts['files'],
    private readonly staged: readonly StagedFile[],
  ) {}

  get isDone(): boolean {
    return this.at === this.staged.length && this.current === undefined;
  }

  take(piece: Buffer): void {
    let bytes = this.rest.length === 0 ? piece : Buffer.concat([this.rest, piece]);
    while (bytes.length > 0 && this.problem === undefined) {
      const used = this.current === undefined ? this.header(bytes) : this.content(this.current, bytes);
      if (used === 0) break;
      bytes = bytes.subarray(used);
    }
    this.rest = Buffer.from(bytes);
  }

  private header(bytes: Buffer): number {
    const end = bytes.indexOf(LINE_FEED);
    if (end === -1) return 0;
    const size = HEADER.exec(bytes.toString('latin1', 0, end))?.[1];
    const target = this.staged[this.at];
    if (size === undefined || target === undefined) {
      this.problem = 'A content is no longer in the object database.';
      return 0;
    }
    this.current = new Content(this.files, target, Number(size), createHash(this.format));
    return end + 1;
  }

  private content(content: Content, bytes: Buffer): number {
    // A line feed follows the content.
    if (content.left > 0) return content.take(bytes);
    if (!content.finish()) this.problem = `The content ${content.target.goal.id} is damaged.`;
    this.current = undefined;
    this.at += 1;
    return 1;
  }
}

/** One content, on its way into a file. */
class Content {
  left: number;
  private pieces: Buffer[] = [];
  private waiting = 0;
  private isOpen = false;

  constructor(
    private readonly files: SnapshotPorts['files'],
    readonly target: StagedFile,
    size: number,
    private readonly hash: Hash,
  ) {
    this.left = size;
    hash.update(`blob ${size}\0`);
  }

  take(bytes: Buffer): number {
    const piece = bytes.subarray(0, this.left);
    this.hash.update(piece);
    this.pieces.push(Buffer.from(piece));
    this.waiting += piece.length;
    this.left -= piece.length;
    if (this.waiting >= WHOLE && this.target.goal.mode !== '120000') this.write(false);
    return piece.length;
  }

  /** Whether it is what its id says. */
  finish(): boolean {
    if (this.hash.digest('hex') !== this.target.goal.id) return false;
    if (this.target.goal.mode === '120000') {
      this.files.symlink(Buffer.concat(this.pieces), this.target.path);
      return true;
    }
    this.write(true);
    this.files.chmod(this.target.path, this.target.goal.permissions);
    return true;
  }

  private write(isLast: boolean): void {
    const sync = isLast && this.files.syncAll === undefined;
    const data = Buffer.concat(this.pieces);
    if (this.isOpen) this.files.append(this.target.path, data, { sync });
    else this.files.write(this.target.path, data, { exclusive: true, mode: 0o600, sync });
    this.isOpen = true;
    this.pieces = [];
    this.waiting = 0;
  }
}

/** Where the file of a step is staged. */
export function stagedPath(worktree: string, stage: string, step: number): string {
  return join(worktree, stage, String(step));
}
