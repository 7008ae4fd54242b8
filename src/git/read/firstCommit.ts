import type { Repository } from '../../core/shared/ports';
import { runGit } from './gitCommand';

/** How long git may look for it, in ms: it goes through all of the history. */
const TIMEOUT_MS = 60_000;

/** A root commit of a repository, always the same of several; `undefined` where it has no commit, or git can't say. */
export async function firstCommitOf({ worktree }: Repository): Promise<string | undefined> {
  const output = await runGit(worktree, ['rev-list', '--max-parents=0', 'HEAD'], TIMEOUT_MS);
  if (!output.ok || output.value.code !== 0) return undefined;
  return output.value.stdout.split('\n').filter(isId).sort()[0];
}

/** Whether a repository has a commit. */
export async function hasCommit({ worktree }: Repository, id: string): Promise<boolean> {
  if (!isId(id)) return false;
  const output = await runGit(worktree, ['cat-file', '-e', `${id}^{commit}`], TIMEOUT_MS);
  return output.ok && output.value.code === 0;
}

function isId(text: string): boolean {
  return /^[0-9a-f]{40,64}$/u.test(text);
}
