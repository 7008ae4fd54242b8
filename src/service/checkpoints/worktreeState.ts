import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { defined } from '../../core/shared/defined';
import type { GitStatus, LineCounts, Repository } from '../../core/shared/ports';
import { oneLine } from '../../core/shared/text';
import { toTimestamp } from '../../core/shared/time';
import type { StoredTask } from '../../core/task/storedTask';
import { type Task, worktreeOf } from '../../core/task/task';
import type { TaskRecord } from '../../core/task/taskRecord';
import type { ChangedFile, WorktreeState } from '../../core/task/worktreeState';
import { insideWorktree } from '../../system/files/worktreePath';
import type { AtlasReader } from '../atlasReader';
import type { ServicePorts } from '../ports';
import { sinceCheckpoint } from './sinceCheckpoint';

/** The most files and commits that are recorded, the newest of each. */
const MAX_FILES = 30;
const MAX_COMMITS = 20;
/** The most files whose times are looked at to find the newest. */
const MAX_STATS = 1000;
/** The lines of a larger untracked file (bytes) aren't counted. */
const MAX_COUNTED_BYTES = 1024 * 1024;
const MAX_SUBJECT = 300;

/** How long a look at what is in a worktree may take, in ms. */
export const LOOK_MS = 2000;

type Ports = Pick<ServicePorts, 'git' | 'files' | 'clock'>;

/** The repository of the worktree in which a task was started; `undefined` if it is gone or there was none. */
export async function repositoryOf(ports: ServicePorts, task: Task): Promise<Repository | undefined> {
  const worktree = worktreeOf(task);
  if (worktree === undefined) return undefined;
  const repository = await ports.git.locate(worktree);
  // A folder that lies in another repository since the worktree was removed is not the task's.
  return repository?.worktree === worktree ? repository : undefined;
}

/** The commit of the newest checkpoint that knows one. */
export function lastCheckpointCommit({ checkpoints }: Pick<TaskRecord, 'checkpoints'>): string | undefined {
  return checkpoints.findLast(({ git_commit: commit }) => commit !== undefined)?.git_commit;
}

/**
 * What git and the files of a worktree show now. What git can't say in time is left out.
 * @param since commits are those after this one
 * @param status what is uncommitted, where that is known; `undefined` where it couldn't be had in time
 * @param whole whether remotes and base branch are looked up too, which change rarely
 * @param timeoutMs how long each look of git's may take; 0 for no look beside the status
 */
export async function observeWorktree(
  { git, files, clock }: Ports,
  repository: Repository,
  since: string | undefined,
  status: GitStatus | undefined,
  timeoutMs: number,
  whole = false,
): Promise<WorktreeState> {
  const { branch, commit: head } = git.head(repository);
  const isTracked = status?.changes.some(({ change }) => change !== 'untracked') === true;
  const [counts, commits, publishing] = await Promise.all([
    isTracked && timeoutMs > 0 ? git.lineCounts(repository, timeoutMs) : undefined,
    since === undefined || since === head || timeoutMs === 0
      ? undefined
      : git.commitsSince(repository, since, MAX_COMMITS, timeoutMs),
    whole ? git.publishing(repository, timeoutMs) : undefined,
  ]);
  return {
    observed_at: toTimestamp(clock.now()),
    ...defined({ branch, head, since, operation: git.operation(repository) }),
    ...defined({ remotes: publishing?.remotes, base_branch: publishing?.baseBranch }),
    ...(commits?.isGone === true ? { since_is_gone: true } : {}),
    ...(commits === undefined
      ? since !== undefined && since === head
        ? { commits: [], commits_total: 0 }
        : {}
      : {
          commits: commits.commits.map(({ commit, subject, at }) => ({
            commit,
            subject: oneLine(subject, MAX_SUBJECT),
            at: toTimestamp(at),
          })),
          ...defined({ commits_total: commits.total }),
        }),
    ...(status === undefined ? {} : changedFiles({ files }, repository, status, counts)),
  };
}

/**
 * What there is in a task's worktree now, as far as git says in time, and what differs from the files of the last
 * checkpoint; `undefined` where it has no worktree.
 * @param timeoutMs how long each of the two looks may take
 */
export async function worktreeNow(
  atlas: Pick<AtlasReader, 'ports' | 'snapshots'>,
  stored: StoredTask,
  timeoutMs = LOOK_MS,
): Promise<WorktreeState | undefined> {
  const [state, since] = await Promise.all([
    gitStateNow(atlas.ports, stored, timeoutMs),
    sinceCheckpoint(atlas, stored, timeoutMs),
  ]);
  return state === undefined || since === undefined ? state : { ...state, since_checkpoint: since };
}

async function gitStateNow(
  ports: ServicePorts,
  { hook, task }: StoredTask,
  timeoutMs: number,
): Promise<WorktreeState | undefined> {
  const began = performance.now();
  const repository = await repositoryOf(ports, task);
  if (repository === undefined) {
    const worktree = worktreeOf(task);
    const isMissing = worktree !== undefined && ports.files.stat(worktree) === undefined;
    return isMissing ? { observed_at: toTimestamp(ports.clock.now()), is_missing: true } : undefined;
  }
  const status = await ports.git.status(repository, timeoutMs);
  const left = Math.max(0, Math.round(timeoutMs - (performance.now() - began)));
  return observeWorktree(ports, repository, lastCheckpointCommit(hook), status, left, true);
}

/** Whether two looks at a worktree showed the same; one that git didn't answer in time shows nothing new. */
export function showsTheSame(now: WorktreeState, before: WorktreeState | undefined): boolean {
  if (before === undefined) return false;
  const { observed_at: _now, ...seen } = now;
  const { observed_at: _before, ...known } = before;
  return isDeepStrictEqual({ ...known, ...seen }, known);
}

function changedFiles(
  { files }: Pick<Ports, 'files'>,
  { worktree }: Repository,
  { changes }: GitStatus,
  counts: LineCounts | undefined,
): Pick<WorktreeState, 'files' | 'files_total'> {
  const statted = changes.slice(0, MAX_STATS).map((each) => {
    const full = join(worktree, each.path);
    const stat = insideWorktree(worktree, each.path) === undefined ? undefined : files.stat(full);
    return { ...each, full, stat };
  });
  const newest = statted.sort((a, b) => (b.stat?.mtimeMs ?? 0) - (a.stat?.mtimeMs ?? 0)).slice(0, MAX_FILES);
  const listed = newest.map(({ path, change, full, stat }): ChangedFile => ({
    path,
    change,
    ...(change === 'untracked' && stat?.kind === 'file' && stat.size <= MAX_COUNTED_BYTES
      ? untrackedLines(files, full, stat.size)
      : counts?.get(path)),
    ...(stat === undefined ? {} : { modified_at: toTimestamp(stat.mtimeMs) }),
  }));
  return { files: listed, files_total: changes.length };
}

/** The lines of a new file; nothing for a binary one, or one that can't be read. */
function untrackedLines(files: Ports['files'], path: string, size: number): Pick<ChangedFile, 'added' | 'removed'> {
  let bytes: Uint8Array;
  try {
    bytes = files.readAt(path, 0, size);
  } catch {
    return {};
  }
  if (bytes.includes(0)) return {};
  let lines = bytes.length > 0 && bytes.at(-1) !== 10 ? 1 : 0;
  for (const byte of bytes) if (byte === 10) lines += 1;
  return { added: lines, removed: 0 };
}
