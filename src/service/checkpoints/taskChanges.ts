import type { ChangedSince } from '../../core/shared/ports';
import { baseCommitOf } from '../../core/task/task';
import type { StoredTask } from '../../core/task/storedTask';
import type { ServicePorts } from '../ports';
import { repositoryOf } from './worktreeState';

/** What a task has changed in its worktree. */
export interface TaskChanges {
  /** The commit that the files are compared with: the one at the task's start, or of a checkpoint. */
  readonly commit: string;
  /** Real path of the worktree. */
  readonly worktree: string;
  /** By path. */
  readonly files: readonly ChangedSince[];
}

/**
 * The files that differ from the commit at which a task started, or from another one; `undefined` where there is no
 * repository any more, no such commit, or git takes longer than `timeoutMs`. A task whose record doesn't say where it
 * started is compared with its first checkpoint's commit.
 */
export async function taskChanges(
  ports: ServicePorts,
  { hook, task }: StoredTask,
  timeoutMs: number,
  since?: string,
): Promise<TaskChanges | undefined> {
  const first = hook.checkpoints.find(({ git_commit: commit }) => commit !== undefined)?.git_commit;
  const commit = since ?? baseCommitOf(task) ?? first;
  const repository = await repositoryOf(ports, task);
  if (repository === undefined || commit === undefined) return undefined;
  const files = await ports.git.changesSince(repository, commit, timeoutMs);
  return files === undefined ? undefined : { commit, worktree: repository.worktree, files };
}
