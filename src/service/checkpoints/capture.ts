import { lastEventOf } from '../../core/history/historyEvent';
import type { Capture } from '../../core/checkpoint/checkpoint';
import type { FileSnapshot, TaskRecord } from '../../core/task/taskRecord';
import type { CachedStatus, Repository } from '../../core/shared/ports';
import { type Task, worktreeOf } from '../../core/task/task';
import { toMs } from '../../core/shared/time';
import type { TaskRef } from '../../core/task/taskRef';
import { listArtifacts, takeSnapshots } from '../../store/snapshots/snapshots';
import type { ServicePorts } from '../ports';
import { LOOK_MS, observeWorktree, repositoryOf } from './worktreeState';

/** How long somebody who asked for a change waits for `git status`, in ms; later, `git_dirty` is left out. */
export const PATIENT_STATUS_MS = 3000;
/** The most files that git may add to a step's list. */
const MAX_TOUCHED = 500;

/** What to look at beside the task's own record. */
export interface CaptureOptions {
  /** Somebody asked for this and waits for git a while; else nothing waits for it. */
  readonly patient?: boolean;
  readonly alsoFiles?: readonly string[];
}

/** Files that were uncommitted before the current attempt began. */
function dirtyBefore(hook: TaskRecord): ReadonlySet<string> {
  return new Set(lastEventOf(hook.history, 'start_step')?.details.dirty_before);
}

/** The newest snapshot of each file. */
export function lastSnapshots(hook: TaskRecord): FileSnapshot[] {
  const newest = new Map<string, FileSnapshot>();
  for (const checkpoint of hook.checkpoints) {
    for (const file of checkpoint.files_snapshot ?? []) newest.set(file.path, file);
  }
  return [...newest.values()];
}

async function statusOf(
  ports: ServicePorts,
  repository: Repository | undefined,
  patient: boolean,
): Promise<CachedStatus> {
  if (repository === undefined) return { status: undefined, late: undefined };
  if (!patient) return ports.git.glance(repository);
  return { status: await ports.git.status(repository, PATIENT_STATUS_MS), late: undefined };
}

/** What git found late is of this step if it was looked for while the step's attempt ran. */
function lateFiles(hook: TaskRecord, late: CachedStatus['late']): readonly string[] {
  const started = hook.current_step?.started_at;
  return late !== undefined && started !== undefined && late.at >= toMs(started) ? late.files : [];
}

/** Gathers what a checkpoint records: git's state, the touched files and the artifacts. Takes no lock. */
export async function capture(
  ports: ServicePorts,
  ref: TaskRef,
  hook: TaskRecord,
  task: Task,
  options: CaptureOptions = {},
): Promise<Capture> {
  const repository = await repositoryOf(ports, task);
  const artifacts = listArtifacts(ports.files, ports.paths.artifacts(ref));
  const worktree = repository?.worktree ?? worktreeOf(task);
  const { status, late } = await statusOf(ports, repository, options.patient === true);
  const before = dirtyBefore(hook);
  const seen = [...lateFiles(hook, late), ...(status?.files ?? [])];
  const touched = [...new Set([...seen.filter((file) => !before.has(file)), ...(options.alsoFiles ?? [])])];
  const paths = [...new Set([...(hook.current_step?.files_touched ?? []), ...touched.slice(0, MAX_TOUCHED)])];
  const snapshots =
    worktree === undefined ? [] : await takeSnapshots(ports.files, worktree, paths, lastSnapshots(hook));
  const known = new Set(snapshots.map((file) => file.path));
  return {
    artifacts,
    files: snapshots,
    // What lies outside the worktree or is a folder has no snapshot, and is no file of the step.
    touched: touched.filter((file) => known.has(file)).slice(0, MAX_TOUCHED),
    ...(repository === undefined
      ? {}
      : {
          git: { ...ports.git.head(repository), ...(status === undefined ? {} : { dirty: status.dirty }) },
          // The commits are those since the checkpoint that this is for: none.
          worktree: await observeWorktree(ports, repository, undefined, status, options.patient === true ? LOOK_MS : 0),
        }),
  };
}
