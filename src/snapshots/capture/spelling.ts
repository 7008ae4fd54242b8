import { ok } from '../../core/shared/errors';
import type { TreePath } from '../../core/snapshot/treePath';
import { type PrivateGit, ignoresCase } from '../storage/privateGit';
import type { Outcome } from '../storage/snapshotPorts';
import { tryLookAt } from './fileLook';

/** Bytes that are no ASCII, in a path with one character a byte. */
const BEYOND_ASCII = /[\u0080-\u00ff]/u;

/** A path as git compares it where case makes no other name: it knows ASCII's letters only. */
export function asciiFolded(path: TreePath): string {
  return path.replaceAll(/[A-Z]/gu, (letter) => letter.toLowerCase());
}

/** What two spellings of a name have in common to any volume on which they are one. */
function spelling(path: TreePath): string {
  return Buffer.from(path, 'latin1').toString('utf8').normalize('NFC').toLowerCase();
}

/**
 * New paths without those that are only other spellings of what the index has: on volumes of macOS and Windows, a file whose
 * name changed in case, or in Unicode's normal form, is there by both names. Where that is ASCII, git knows; to keep both
 * of another would have a restore remove the one file that it just wrote.
 */
export async function withoutOtherSpellings(
  git: PrivateGit,
  index: string,
  others: readonly TreePath[],
): Promise<Outcome<readonly TreePath[]>> {
  const { worktree } = git.place;
  if (!others.some((path) => BEYOND_ASCII.test(path)) || !ignoresCase(worktree)) return ok(others);
  const known = new Map<string, TreePath>();
  const listed = await git.records(['ls-files', '-c', '-z'], { index }, (paths) => {
    for (const path of paths) if (BEYOND_ASCII.test(path)) known.set(spelling(path), path);
  });
  if (!listed.ok) return listed;
  return ok(
    others.filter((path) => {
      const other = known.get(spelling(path));
      if (other === undefined || other === path) return true;
      const stamp = tryLookAt(worktree, path)?.stamp;
      return stamp === undefined || stamp !== tryLookAt(worktree, other)?.stamp;
    }),
  );
}
