import { join } from 'node:path';
import type { GitStatus, Repository } from '../../core/shared/ports';
import type { GitEvidence } from '../../core/recovery/recovery';
import { toMs } from '../../core/shared/time';
import { askGit, runGit, runGitHub } from './gitCommand';
import { commitsOf } from './gitEvents';
import { readReflog } from './reflog';

/** What git, or the forge, says about the effect of a step whose attempt began at `since` (RFC 3339). */
export async function evidenceOf(
  repository: Repository,
  effect: 'commit' | 'push' | 'pr',
  since: string | undefined,
  statusOf: () => Promise<GitStatus | undefined>,
): Promise<GitEvidence> {
  if (effect === 'push') return pushEvidence(repository);
  if (effect === 'pr') return pullRequestEvidence(repository);
  const status = await statusOf();
  const commits = await commitsSince(repository, since);
  return {
    ...(commits === undefined ? {} : { commitsOfAttempt: commits }),
    ...(status === undefined ? {} : { clean: !status.dirty }),
  };
}

async function pushEvidence(repository: Repository): Promise<GitEvidence> {
  const upstream = await runGit(repository.worktree, ['rev-parse', '--verify', '--quiet', '@{upstream}']);
  if (!upstream.ok) return {};
  if (upstream.value.code === 0) {
    const has = await runGit(repository.worktree, ['merge-base', '--is-ancestor', 'HEAD', '@{upstream}']);
    if (!has.ok || has.value.code > 1) return {};
    return { upstreamHasHead: has.value.code === 0 };
  }
  // No upstream is set: a push without -u still moves a remote-tracking branch.
  const remotes = await askGit(repository.worktree, ['remote']);
  if (remotes === undefined || remotes.trim() === '') return {};
  const containing = await askGit(repository.worktree, ['branch', '-r', '--contains', 'HEAD']);
  return containing === undefined ? {} : { upstreamHasHead: containing.trim() !== '' };
}

/** New commits that HEAD's reflog has since a time (whole seconds, as git writes them), newest first. */
async function commitsSince(repository: Repository, since: string | undefined): Promise<string[] | undefined> {
  const read = readReflog(join(repository.gitDir, 'logs', 'HEAD'));
  if (read === undefined || since === undefined) return undefined;
  const from = Math.floor(toMs(since) / 1000) * 1000;
  const recent = read.entries.filter((entry) => entry.at >= from);
  const made = (await commitsOf(repository, recent)).map((event) => event.commit).reverse();
  return made.length === 0 ? made : stillThere(repository, made);
}

/** Those of some commits that HEAD still has: one that was reset away is no evidence. */
async function stillThere(repository: Repository, commits: readonly string[]): Promise<string[] | undefined> {
  const listed = await askGit(repository.worktree, ['rev-list', ...commits, '--not', 'HEAD', '--']);
  if (listed === undefined) return undefined;
  const gone = new Set(listed.split('\n'));
  return commits.filter((commit) => !gone.has(commit));
}

/** Asks GitHub's command; without it, or without a connection, nothing is known. */
async function pullRequestEvidence(repository: Repository): Promise<GitEvidence> {
  const viewed = await runGitHub(repository.worktree, ['pr', 'view', '--json', 'url']);
  if (!viewed.ok) return {};
  if (viewed.value.code === 0) return { pullRequest: true };
  return /no pull requests? found/iu.test(viewed.value.stderr) ? { pullRequest: false } : {};
}
