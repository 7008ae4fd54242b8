import type { GitState } from '../../core/checkpoint/checkpoint';
import type { Result } from '../../core/shared/errors';
import type { CachedStatus, GitReader, GitStatus, Repository } from '../../core/shared/ports';
import type { GitEvidence } from '../../core/recovery/recovery';
import { askGit } from './gitCommand';
import { StatusCache } from './statusCache';
import { locateRepository } from './locate';
import type { IndexPorts } from './ownIndex';
import { readHead } from './refs';

/** How long git may go on by itself, in ms. */
const LATE_STATUS_MS = 60_000;

/** Reads repositories from their files where that is enough, else with the git command. What receipts need comes late. */
export class CommandGitReader implements GitReader {
  constructor(private readonly ports: IndexPorts) {}

  private readonly glances = new StatusCache(async (repository) => this.status(repository, LATE_STATUS_MS));

  async locate(folder: string): Promise<Repository | undefined> {
    return Promise.resolve(locateRepository(folder));
  }

  head(repository: Repository): GitState {
    return readHead(repository);
  }

  async status(repository: Repository, timeoutMs: number): Promise<GitStatus | undefined> {
    const { waitsFor } = await import('./blockedGit');
    if (waitsFor(repository) !== undefined) return undefined;
    const args = ['status', '--porcelain=v1', '-z', '--untracked-files=all'];
    const printed = await askGit(repository.worktree, args, { timeoutMs, bytes: true });
    if (printed === undefined) return undefined;
    const { shownPath } = await import('./gitPath');
    const files = parseStatus(printed).map(shownPath);
    return { dirty: files.length > 0, files };
  }

  async glance(repository: Repository): Promise<CachedStatus> {
    return this.glances.glance(repository);
  }

  async workingTree(repository: Repository, scratch: string): Promise<Result<string>> {
    const { workingTreeOf } = await import('./workingTree');
    return workingTreeOf(this.ports, repository, scratch);
  }

  async changedFiles(
    repository: Repository,
    scratch: string,
    before: string,
    after: string,
  ): Promise<Result<string[]>> {
    const { changedBetween } = await import('./workingTree');
    return changedBetween(this.ports, repository, scratch, before, after);
  }

  async evidence(
    repository: Repository,
    effect: 'commit' | 'push' | 'pr',
    since: string | undefined,
  ): Promise<GitEvidence> {
    const { evidenceOf } = await import('./evidence');
    return evidenceOf(repository, effect, since, async () => this.status(repository, 10_000));
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
