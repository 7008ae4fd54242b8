import { join } from 'node:path';
import type { GitState } from '../core/checkpoint';
import type { Result } from '../core/errors';
import type { GitGlance, GitReader, GitStatus, Repository } from '../core/ports';
import type { GitEvidence } from '../core/recovery';
import { toMs } from '../core/time';
import { runGit } from './gitCommand';
import { commitsOf } from './gitEvents';
import { Glances } from './glances';
import { locateRepository } from './locate';
import { readHead } from './refs';
import { readReflog } from './reflog';

/** How long git may go on by itself, in ms. */
const LATE_STATUS_MS = 60_000;

/** Reads repositories from their files where that is enough, else with the git command. What receipts need comes late. */
export class CommandGitReader implements GitReader {
  private readonly glances = new Glances(async (repository) => this.status(repository, LATE_STATUS_MS));

  async locate(folder: string): Promise<Repository | undefined> {
    return Promise.resolve(locateRepository(folder));
  }

  head(repository: Repository): GitState {
    return readHead(repository);
  }

  async status(repository: Repository, timeoutMs: number): Promise<GitStatus | undefined> {
    const output = await runGit(
      repository.worktree,
      ['status', '--porcelain=v1', '-z', '--untracked-files=all'],
      timeoutMs,
    );
    if (!output.ok || output.value.code !== 0) return undefined;
    const files = parseStatus(output.value.stdout);
    return { dirty: files.length > 0, files };
  }

  async glance(repository: Repository): Promise<GitGlance> {
    return this.glances.glance(repository);
  }

  async workingTree(repository: Repository, scratch: string): Promise<Result<string>> {
    const { workingTreeOf } = await import('./workingTree');
    return workingTreeOf(repository, scratch);
  }

  async changedFiles(
    repository: Repository,
    scratch: string,
    before: string,
    after: string,
  ): Promise<Result<string[]>> {
    const { changedBetween } = await import('./workingTree');
    return changedBetween(repository, scratch, before, after);
  }

  async evidence(
    repository: Repository,
    effect: 'commit' | 'push' | 'pr',
    since: string | undefined,
  ): Promise<GitEvidence> {
    if (effect === 'push') return this.pushEvidence(repository);
    if (effect === 'pr') return pullRequestEvidence(repository);
    const status = await this.status(repository, 10_000);
    const commits = await commitsSince(repository, since);
    return {
      ...(commits === undefined ? {} : { commitsOfAttempt: commits }),
      ...(status === undefined ? {} : { clean: !status.dirty }),
    };
  }

  private async pushEvidence(repository: Repository): Promise<GitEvidence> {
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
}

/** Paths of `git status --porcelain=v1 -z`: a rename's record is followed by its old path, which is left out. */
function parseStatus(output: string): string[] {
  const records = output.split('\0').filter((record) => record !== '');
  const files: string[] = [];
  for (let index = 0; index < records.length; index += 1) {
    const record = records[index] ?? '';
    files.push(record.slice(3));
    if (/^[RC]|^.[RC]/u.test(record)) index += 1;
  }
  return files;
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
