import type { GitState } from '../../core/checkpoint/checkpoint';
import type { Result } from '../../core/shared/errors';
import type {
  CachedStatus,
  ChangedSince,
  CommitsSince,
  GitReader,
  GitStatus,
  LineCounts,
  Publishing,
  Repository,
} from '../../core/shared/ports';
import type { GitEvidence } from '../../core/recovery/recovery';
import type { FileChange, GitOperation } from '../../core/task/worktreeState';
import { operationIn } from './operation';
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
    const changes = parseStatus(printed).map(({ path, change }) => ({ path: shownPath(path), change }));
    return { dirty: changes.length > 0, files: changes.map(({ path }) => path), changes };
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

  async lineCounts(repository: Repository, timeoutMs: number): Promise<LineCounts | undefined> {
    const { lineCountsOf } = await import('./worktreeChanges');
    return lineCountsOf(repository, timeoutMs);
  }

  async changesSince(repository: Repository, commit: string, timeoutMs: number): Promise<ChangedSince[] | undefined> {
    const { changedSince } = await import('./worktreeChanges');
    const [tracked, status] = await Promise.all([
      changedSince(repository, commit, timeoutMs),
      this.status(repository, timeoutMs),
    ]);
    if (tracked === undefined || status === undefined) return undefined;
    const known = new Set(tracked.map(({ path }) => path));
    const untracked = status.changes.filter(({ path, change }) => change === 'untracked' && !known.has(path));
    return [...tracked, ...untracked.map(({ path }) => ({ path, change: 'added' as const }))].sort((a, b) =>
      a.path < b.path ? -1 : 1,
    );
  }

  async commitsSince(
    repository: Repository,
    since: string,
    most: number,
    timeoutMs: number,
  ): Promise<CommitsSince | undefined> {
    const { commitsAfter } = await import('./worktreeChanges');
    return commitsAfter(repository, since, most, timeoutMs);
  }

  async publishing(repository: Repository, timeoutMs: number): Promise<Publishing | undefined> {
    const { publishingOf } = await import('./worktreeChanges');
    return publishingOf(repository, timeoutMs);
  }

  operation(repository: Repository): GitOperation | undefined {
    return operationIn(repository);
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

/** The records of `git status --porcelain=v1 -z`: a rename's is followed by its old path, which is left out. */
function parseStatus(output: string): { path: string; change: FileChange }[] {
  const records = output.split('\0').filter((record) => record !== '');
  const changes: { path: string; change: FileChange }[] = [];
  for (let index = 0; index < records.length; index += 1) {
    const record = records[index] ?? '';
    changes.push({ path: record.slice(3), change: changeOf(record.slice(0, 2)) });
    if (/^[RC]|^.[RC]/u.test(record)) index += 1;
  }
  return changes;
}

/** What the two letters of git's short status say: the index against HEAD, and the file against the index. */
function changeOf(letters: string): FileChange {
  if (letters === '??') return 'untracked';
  if (letters.includes('U') || letters === 'AA' || letters === 'DD') return 'conflicted';
  if (letters.includes('D')) return 'deleted';
  if (letters.includes('R')) return 'renamed';
  return letters.startsWith('A') ? 'added' : 'modified';
}
