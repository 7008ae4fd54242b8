import { eventsOf } from '../history/historyEvent';
import type { WorktreeState } from '../task/worktreeState';
import type { TaskConfig } from '../config/config';
import type { CheckpointTrigger, FileSnapshot, TaskRecord, StepCheckpoint } from '../task/taskRecord';

/** What git says about a worktree. A field is absent when it isn't known; `branch` is absent on a detached HEAD. */
export interface GitState {
  readonly branch?: string;
  readonly commit?: string;
  readonly dirty?: boolean;
}

/** What the world looked like when a checkpoint was made; gathered outside, before the lock is taken. */
export interface Capture {
  readonly git?: GitState;
  readonly files?: readonly FileSnapshot[];
  /** Paths relative to artifacts/ of all that is there; those that no checkpoint has yet are recorded. */
  readonly artifacts?: readonly string[];
  /** Files that git reports as changed while the step ran. */
  readonly touched?: readonly string[];
  /** What the worktree shows, where somebody looked. */
  readonly worktree?: WorktreeState;
}

/** What identifies a commit or push, so that it makes one checkpoint however many report it. */
export interface GitSource {
  /** Real path of the repository's common git folder. */
  readonly repository: string;
  readonly commit: string;
  /** For a push, the remote-tracking ref that moved. */
  readonly ref?: string;
}

/** Whether the settings let this trigger make a checkpoint by itself. */
export function isAutomaticEnabled(
  trigger: CheckpointTrigger,
  config: Pick<TaskConfig, 'autoCheckpoint' | 'checkpointIntervalMs'>,
): boolean {
  switch (trigger) {
    case 'manual':
      return true;
    case 'git_commit':
      return config.autoCheckpoint.onCommit;
    case 'git_push':
      return config.autoCheckpoint.onPush;
    case 'pr_created':
      return config.autoCheckpoint.onPr;
    case 'validation':
      return config.autoCheckpoint.onValidation;
    case 'step_complete':
      return config.autoCheckpoint.onStepComplete;
    case 'interval':
      return config.checkpointIntervalMs > 0;
  }
}

/** Whether the history has a checkpoint for this commit or push already, pruned ones included. */
export function hasGitCheckpoint(hook: TaskRecord, trigger: CheckpointTrigger, source: GitSource): boolean {
  return eventsOf(hook.history, 'checkpoint').some(
    ({ details }) =>
      details.trigger === trigger &&
      details.commit === source.commit &&
      details.repository === source.repository &&
      details.ref === source.ref,
  );
}

/** The newest `max` checkpoints; the journal still has the others. */
export function pruneCheckpoints(checkpoints: readonly StepCheckpoint[], max: number): StepCheckpoint[] {
  return checkpoints.slice(Math.max(0, checkpoints.length - Math.max(1, max)));
}

/** The newest checkpoint of a step's attempt; without an attempt recorded, by its step alone. */
export function lastCheckpointOf(hook: TaskRecord, stepIndex: number, attempt?: number): StepCheckpoint | undefined {
  return hook.checkpoints.findLast(
    (checkpoint) =>
      checkpoint.step_index === stepIndex &&
      (attempt === undefined || checkpoint.attempt === undefined || checkpoint.attempt === attempt),
  );
}

/** How a file differs from its snapshot; `unknown` when neither hash nor time and size can tell. */
export type DriftKind = 'unchanged' | 'changed' | 'missing' | 'new' | 'unknown';

/** A file compared with a checkpoint's snapshot. */
export interface FileDrift {
  readonly path: string;
  readonly kind: DriftKind;
}

function driftOf(before: FileSnapshot, now: FileSnapshot | undefined): DriftKind {
  if (now === undefined) return 'unknown';
  if (!before.exists) return now.exists ? 'new' : 'unchanged';
  if (!now.exists) return 'missing';
  if (before.size !== now.size) return 'changed';
  if (before.sha256 !== '' && now.sha256 !== '') return before.sha256 === now.sha256 ? 'unchanged' : 'changed';
  return before.mod_time === now.mod_time ? 'unchanged' : 'unknown';
}

/** Compares snapshots with the present: every file of either side, in the order of the snapshots, then new ones. */
export function compareSnapshots(before: readonly FileSnapshot[], now: readonly FileSnapshot[]): FileDrift[] {
  const present = new Map(now.map((file) => [file.path, file]));
  const known = new Set(before.map((file) => file.path));
  return [
    ...before.map((file) => ({ path: file.path, kind: driftOf(file, present.get(file.path)) })),
    ...now
      .filter((file) => !known.has(file.path) && file.exists)
      .map((file): FileDrift => ({ path: file.path, kind: 'new' })),
  ];
}
