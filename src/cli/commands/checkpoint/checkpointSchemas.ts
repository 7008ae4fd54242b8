import * as z from 'zod/mini';
import { CHECKPOINT_TRIGGERS } from '../../../core/task/taskRecord';

/* What `--json` prints of checkpoints and their files. */

const time = z.string();
const text = z.string();
const maybe = <T extends z.core.$ZodType>(type: T) => z.nullable(type);
const integer = z.int();

/** A checkpoint as it is in the record. */
export const checkpoint = z.strictObject({
  checkpoint_id: text,
  created_at: time,
  trigger: z.enum(CHECKPOINT_TRIGGERS),
  step_name: text,
  attempt: maybe(integer),
  description: text,
  git_branch: maybe(text),
  git_commit: maybe(text),
  /** null where it isn't known. */
  git_dirty: maybe(z.boolean()),
  files: integer,
});

const fileCounts = { added: integer, modified: integer, removed: integer };

/** A checkpoint or restore point with what is kept of its files. */
export const listedCheckpoint = z.strictObject({
  checkpoint_id: text,
  created_at: time,
  /** `auto` for a restore point. */
  trigger: z.enum([...CHECKPOINT_TRIGGERS, 'auto']),
  step_name: maybe(text),
  attempt: maybe(integer),
  description: text,
  /** `none`: there are no files, and `problem` says why. */
  status: z.enum(['pending', 'taken', 'none']),
  problem: maybe(text),
  files: maybe(integer),
  /** Files that differ from the checkpoint `since`. */
  changes: maybe(z.strictObject({ since: text, ...fileCounts })),
  left_out: integer,
  head: maybe(text),
  branch: maybe(text),
  /** Of a restore point that undoes a restore: the checkpoint that was restored. */
  restores: maybe(text),
  /** Of a restore point before a command: whether the command may have run before it was complete. */
  possibly_late: z.boolean(),
});

/** Paths as git quotes them. */
export const fileChange = z.strictObject({
  path: text,
  change: z.enum(['added', 'modified', 'removed', 'mode', 'type']),
  /** Lines; null for a binary file. */
  added: maybe(integer),
  removed: maybe(integer),
  binary: z.boolean(),
});

/** Of a restore beside its task: what it changed, or would. */
export const RESTORED_FILES = {
  checkpoint_id: text,
  dry_run: z.boolean(),
  paths: z.array(
    z.strictObject({
      path: text,
      action: z.enum(['write', 'remove', 'mode', 'keep', 'blocked']),
      reason: maybe(text),
      by: maybe(text),
      /** Whether it was changed within the last minute. */
      recent: z.boolean(),
    }),
  ),
  written: integer,
  removed: integer,
  skipped: z.array(z.strictObject({ path: text, reason: text })),
  /** The restore point that undoes it. */
  undone_by: maybe(text),
};
