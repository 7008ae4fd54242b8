import * as z from 'zod/mini';
import { optionalTimestamp, timestamp } from './fields';

/** How an uncommitted file differs from the last commit. */
export const FILE_CHANGES = ['modified', 'added', 'deleted', 'renamed', 'untracked', 'conflicted'] as const;

/** How a file differs from what it was at a checkpoint. */
export const SINCE_CHANGES = ['added', 'modified', 'deleted', 'permissions'] as const;

/** How an uncommitted file differs from the last commit. */
export type FileChange = (typeof FILE_CHANGES)[number];

/** What git is in the middle of. */
export type GitOperation = 'rebase' | 'merge' | 'cherry-pick' | 'revert' | 'bisect';

/** Numbers are absent where they aren't known: for a binary file, or where git took too long. */
const changedFileSchema = z.looseObject({
  path: z.string(),
  change: z.enum(FILE_CHANGES),
  /** Lines. */
  added: z.optional(z.int()),
  removed: z.optional(z.int()),
  modified_at: optionalTimestamp,
});

/** What git and the files showed when Atlas last looked at a task's worktree; lists are the newest of what there is. */
export const worktreeStateSchema = z.looseObject({
  observed_at: timestamp,
  /** Whether the folder itself is gone: it was moved or removed. Then nothing else is known. */
  is_missing: z.optional(z.boolean()),
  /** Absent on a detached HEAD. */
  branch: z.optional(z.string()),
  head: z.optional(z.string()),
  operation: z.optional(z.string()),
  /** How many remotes the repository has. */
  remotes: z.optional(z.int()),
  /** The branch into which a remote's pull requests go, where a remote says. */
  base_branch: z.optional(z.string()),
  /** The commit of the checkpoint since which the commits are. */
  since: z.optional(z.string()),
  /** Whether `since` is no longer part of what HEAD has: it was rebased, reset or amended away. */
  since_is_gone: z.optional(z.boolean()),
  commits: z.optional(z.array(z.looseObject({ commit: z.string(), subject: z.string(), at: timestamp }))),
  commits_total: z.optional(z.int()),
  /** What differs from the files of the last checkpoint; absent where they weren't captured, or couldn't be compared in time. */
  since_checkpoint: z.optional(
    z.looseObject({
      checkpoint_id: z.string(),
      files: z.array(
        z.looseObject({
          path: z.string(),
          change: z.enum(SINCE_CHANGES),
          added: z.optional(z.int()),
          removed: z.optional(z.int()),
        }),
      ),
      files_total: z.int(),
      /** Paths that were left out then or are now, so that nothing can be said of them. */
      unknown: z.optional(z.int()),
    }),
  ),
  /** Absent where git couldn't say in time which files are uncommitted. */
  files: z.optional(z.array(changedFileSchema)),
  files_total: z.optional(z.int()),
});

/** See {@link worktreeStateSchema}. */
export type WorktreeState = z.infer<typeof worktreeStateSchema>;
/** What differs from the files of a checkpoint. */
export type SinceCheckpoint = NonNullable<WorktreeState['since_checkpoint']>;
/** An uncommitted file. */
export type ChangedFile = z.infer<typeof changedFileSchema>;
