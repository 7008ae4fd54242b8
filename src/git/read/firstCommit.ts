import type { Repository } from '../../core/shared/ports';
import { askGit } from './gitCommand';

/** How long git may look for it, in ms: it goes through all of the history. */
const TIMEOUT_MS = 60_000;

/** A root commit of a repository, always the same of several; `undefined` where it has no commit, or git can't say. */
export async function firstCommitOf({ worktree }: Repository): Promise<string | undefined> {
  const roots = await askGit(worktree, ['rev-list', '--max-parents=0', 'HEAD'], { timeoutMs: TIMEOUT_MS });
  return roots?.split('\n').filter(isId).sort()[0];
}

/** Whether a repository has a commit. */
export async function hasCommit({ worktree }: Repository, id: string): Promise<boolean> {
  if (!isId(id)) return false;
  const found = await askGit(worktree, ['cat-file', '-e', `${id}^{commit}`], { timeoutMs: TIMEOUT_MS });
  return found !== undefined;
}

function isId(text: string): boolean {
  return /^[0-9a-f]{40,64}$/u.test(text);
}
