import { join } from 'node:path';
import { SnapshotProblem } from '../../core/snapshot/problem';
import type { TreePath } from '../../core/snapshot/treePath';
import { Slices } from '../../system/slices';
import { roomOf } from '../storage/database';
import { tryLookAt } from './fileLook';
import type { CopyPlan } from './firstCopy';
import type { PrivateGit } from '../storage/privateGit';
import type { UserIndex } from './userIndex';

/** What stays free on the disk, in bytes. */
const SPARE_BYTES = 32 * 1024 * 1024;
const SLICE_MS = 10;

/** What is about to be captured. */
export interface Wanted {
  /** The paths to read, with the sum of their sizes in bytes. */
  readonly chosen: readonly TreePath[];
  readonly bytes: number;
  /** Whether the index has a path already: its content may be known. */
  readonly isKnown: (path: TreePath) => boolean;
  readonly copy: CopyPlan | undefined;
}

/** Why a capture doesn't fit on the disk or under the limit (bytes); `undefined` where it does. Asked before a byte is written. */
export async function whyNoRoom(
  git: PrivateGit,
  user: UserIndex,
  wanted: Wanted,
  { used, maxSize }: { readonly used: number; readonly maxSize: number },
): Promise<SnapshotProblem | undefined> {
  const room = Math.max(0, roomOf(git.place.base) - SPARE_BYTES);
  const copied = wanted.copy?.bytes ?? 0;
  const fits = (needed: number): boolean => used + needed <= maxSize && needed <= room;
  if (fits(copied + wanted.bytes)) return undefined;
  const needed = copied + (await newBytes(git, user, wanted, fits));
  if (fits(needed)) return undefined;
  const isDisk = needed > room;
  const sizes = { needed, used, limit: isDisk ? room : maxSize };
  if (isDisk)
    return new SnapshotProblem('disk_full', 'The disk has no room for a snapshot.', {
      sizes,
      hint: 'Free some space and try again.',
    });
  return new SnapshotProblem('over_limit', 'The snapshot would not fit within snapshots.max_size.', {
    sizes,
    hint: 'Exclude generated files with an ignore file, or raise snapshots.max_size.',
  });
}

/** The bytes of those files whose content neither database has. What may be known is hashed, unless the rest is too much already. */
async function newBytes(
  git: PrivateGit,
  user: UserIndex,
  { chosen, bytes, isKnown, copy }: Wanted,
  fits: (needed: number) => boolean,
): Promise<number> {
  const tracked = new Set<TreePath>();
  if (copy !== undefined && copy.ids.length > 0) await user.entries((_tag, _mode, _id, path) => tracked.add(path));
  const slices = new Slices(SLICE_MS);
  const hashed: { readonly path: TreePath; readonly size: number }[] = [];
  let sum = 0;
  for (const path of chosen) {
    const look = tryLookAt(git.place.worktree, path);
    const size = look?.size ?? 0;
    if (look?.kind === 'file' && (isKnown(path) || tracked.has(path))) hashed.push({ path, size });
    else sum += size;
    await slices.turn();
  }
  if (hashed.length === 0 || !fits(sum)) return Math.max(sum, hashed.length === 0 ? bytes : sum);
  const input = hashed.map(({ path }) => `${quotedLine(path)}\n`).join('');
  const ids = await git.run(['hash-object', '--no-filters', '--stdin-paths'], { input });
  if (!ids.ok) return bytes;
  const { repository } = git.place;
  const reads = repository === undefined ? undefined : join(repository.commonDir, 'objects');
  const known = await git.run(['cat-file', '--batch-check=%(objecttype)'], { input: ids.value, reads });
  if (!known.ok) return bytes;
  known.value.split('\n').forEach((line, at) => {
    if (line.endsWith(' missing')) sum += hashed[at]?.size ?? 0;
  });
  return sum;
}

/** A path as git reads it from a line. */
export function quotedLine(path: TreePath): string {
  const octal = (character: string): string => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`;
  // eslint-disable-next-line no-control-regex -- a line break would end the line
  return /^"|[\u0000-\u001f]/u.test(path) ? `"${path.replace(/[\u0000-\u001f"\\]/gu, octal)}"` : path;
}
