import { join } from 'node:path';
import type { GitStatus, Repository } from '../../core/shared/ports';
import type { GitEvidence } from '../../core/recovery/recovery';
import { toMs } from '../../core/shared/time';
import { runGit } from './gitCommand';
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
  const remotes = await runGit(repository.worktree, ['remote']);
  if (!remotes.ok || remotes.value.code !== 0 || remotes.value.stdout.trim() === '') return {};
  const containing = await runGit(repository.worktree, ['branch', '-r', '--contains', 'HEAD']);
  if (!containing.ok || containing.value.code !== 0) return {};
  return { upstreamHasHead: containing.value.stdout.trim() !== '' };
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
  const listed = await runGit(repository.worktree, ['rev-list', ...commits, '--not', 'HEAD', '--']);
  if (!listed.ok || listed.value.code !== 0) return undefined;
  const gone = new Set(listed.value.stdout.split('\n'));
  return commits.filter((commit) => !gone.has(commit));
}

/** Asks GitHub's command; without it, or without a connection, nothing is known. */
async function pullRequestEvidence(repository: Repository): Promise<GitEvidence> {
  const { execFile } = await import('node:child_process');
  return new Promise((resolve) => {
    const args = ['pr', 'view', '--json', 'url'];
    const options = { cwd: repository.worktree, timeout: 10_000, windowsHide: true };
    execFile('gh', args, options, (error, _stdout, stderr) => {
      if (error === null) resolve({ pullRequest: true });
      else resolve(/no pull requests? found/iu.test(stderr) ? { pullRequest: false } : {});
    });
  });
}
