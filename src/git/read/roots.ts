import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Repository } from '../../core/shared/ports';
import { askGit } from './gitCommand';

/** How long git may look for them, in ms: it goes through all of the history. */
const TIMEOUT_MS = 60_000;
/** A replacement here must not make it another repository. */
const CALL = { timeoutMs: TIMEOUT_MS, env: { GIT_NO_REPLACE_OBJECTS: '1' } };
/** The most that identify a repository; one with more is known by the first. */
const MAX_ROOTS = 16;

/** Whether a repository has only the newer part of its history, so that its oldest commit here isn't its first. */
export function isShallow({ commonDir }: Repository): boolean {
  return existsSync(join(commonDir, 'shallow'));
}

/**
 * The commits without parents that a commit goes back to, sorted: what every clone of a repository has, and no other
 * repository. Empty where there is no commit, git can't say, or the clone is shallow.
 */
export async function rootsOf(repository: Repository, commit = 'HEAD'): Promise<string[]> {
  if (isShallow(repository)) return [];
  const args = ['rev-list', '--max-parents=0', commit, '--'];
  const said = (await askGit(repository.worktree, args, CALL)) ?? '';
  const roots = said.split('\n').filter((line) => /^[0-9a-f]{40,64}$/u.test(line));
  return roots.sort().slice(0, MAX_ROOTS);
}
