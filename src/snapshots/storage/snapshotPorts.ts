import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Result } from '../../core/shared/errors';
import type { Clock, FileSystem, Ids, Logger, Processes } from '../../core/shared/ports';
import type { SnapshotProblem } from '../../core/snapshot/problem';
import { type GitCall, type GitOutput, runGit, startGit } from '../../git/read/gitCommand';

/** How git is started; tests stop it at any of its runs. */
export interface GitRuns {
  run(folder: string, args: readonly string[], call: GitCall): Promise<Result<GitOutput>>;
  start(folder: string, args: readonly string[], call: GitCall): ChildProcessWithoutNullStreams;
}

/** The git of this machine. */
export const systemGit: GitRuns = { run: runGit, start: startGit };

/** What snapshots need from outside. */
export interface SnapshotPorts {
  readonly files: FileSystem;
  readonly processes: Processes;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly git: GitRuns;
}

/** A value, or why there is none. */
export type Outcome<T> = Result<T, SnapshotProblem>;
