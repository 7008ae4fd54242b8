import * as z from 'zod/mini';
import { recordedEventSchema, stepCheckpointSchema, validationReceiptSchema } from '../task/taskRecord';

/**
 * What one write changed in a hook. Lists only grow at their end, but for checkpoints, which are also dropped at
 * their start. `set` holds every other field that changed; `null` removes it.
 */
const deltaSchema = z.object({
  set: z.record(z.string(), z.unknown()),
  history: z.array(recordedEventSchema),
  checkpoints: z.object({ drop: z.int().check(z.gte(0)), add: z.array(stepCheckpointSchema) }),
  receipts: z.array(validationReceiptSchema),
});

/** A change of a hook, independent of the version of the program that made it. */
export type RecordDelta = z.infer<typeof deltaSchema>;

/**
 * One line of journal.jsonl. `prev` is the SHA-256 (hex) of the line before without its line feed, empty for the
 * first; `base_sha256` and `hook_sha256` are of hook.json's bytes before (empty: there was none) and after.
 */
export const journalLineSchema = z.object({
  seq: z.int().check(z.gte(1)),
  at: z.string(),
  prev: z.string(),
  base_sha256: z.string(),
  hook_sha256: z.string(),
  event: z.string(),
  delta: z.optional(deltaSchema),
  hook: z.optional(z.record(z.string(), z.unknown())),
  /** The sequence number of a line that holds no longer. */
  void: z.optional(z.int()),
});

/** A parsed journal line. */
export type JournalLine = z.infer<typeof journalLineSchema>;
