import * as z from 'zod/mini';
import { type Hook, hookEventSchema, stepCheckpointSchema, validationReceiptSchema } from './hook';

/**
 * What one write changed in a hook. Lists only grow at their end, but for checkpoints, which are also dropped at
 * their start. `set` holds every other field that changed; `null` removes it.
 */
const deltaSchema = z.object({
  set: z.record(z.string(), z.unknown()),
  history: z.array(hookEventSchema),
  checkpoints: z.object({ drop: z.int().check(z.gte(0)), add: z.array(stepCheckpointSchema) }),
  receipts: z.array(validationReceiptSchema),
});

/** A change of a hook, independent of the version of the program that made it. */
export type HookDelta = z.infer<typeof deltaSchema>;

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

const LISTS = new Set(['history', 'checkpoints', 'receipts']);

/** The change from one hook to the next; `undefined` when a list did anything but grow (then the whole is needed). */
export function diffHook(before: Hook, after: Hook): HookDelta | undefined {
  const drop = droppedCheckpoints(before, after);
  if (drop === undefined || !isPrefix(before.history, after.history) || !isPrefix(before.receipts, after.receipts)) {
    return undefined;
  }
  const set: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (LISTS.has(key)) continue;
    if (!equalJson(before[key], after[key])) set[key] = after[key] ?? null;
  }
  return {
    set,
    history: after.history.slice(before.history.length),
    checkpoints: { drop, add: after.checkpoints.slice(before.checkpoints.length - drop) },
    receipts: after.receipts.slice(before.receipts.length),
  };
}

/** The hook that a change makes of a hook. */
export function applyDelta(before: Hook, delta: HookDelta): Hook {
  const after: Record<string, unknown> = { ...before };
  for (const [key, value] of Object.entries(delta.set)) {
    if (value === null) Reflect.deleteProperty(after, key);
    else after[key] = value;
  }
  after['history'] = [...before.history, ...delta.history];
  after['checkpoints'] = [...before.checkpoints.slice(delta.checkpoints.drop), ...delta.checkpoints.add];
  after['receipts'] = [...before.receipts, ...delta.receipts];
  return after as Hook;
}

/** Compares by identity first: what a transition didn't touch is the same object. */
function equalJson(a: unknown, b: unknown): boolean {
  return Object.is(a, b) || JSON.stringify(a) === JSON.stringify(b);
}

function isPrefix(before: readonly unknown[], after: readonly unknown[]): boolean {
  return before.length <= after.length && before.every((item, index) => equalJson(item, after[index]));
}

function droppedCheckpoints(before: Hook, after: Hook): number | undefined {
  const first = after.checkpoints[0];
  if (first === undefined) return before.checkpoints.length;
  const at = before.checkpoints.findIndex((checkpoint) => checkpoint.checkpoint_id === first.checkpoint_id);
  const drop = at === -1 ? before.checkpoints.length : at;
  return isPrefix(before.checkpoints.slice(drop), after.checkpoints) ? drop : undefined;
}
