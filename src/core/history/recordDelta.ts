import type { TaskRecord } from '../task/taskRecord';
import type { RecordDelta } from './journal';

const LISTS = new Set(['history', 'checkpoints', 'receipts']);

/** The change from one hook to the next; `undefined` when a list did anything but grow (then the whole is needed). */
export function diffRecord(before: TaskRecord, after: TaskRecord): RecordDelta | undefined {
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
export function applyDelta(before: TaskRecord, delta: RecordDelta): TaskRecord {
  const after: Record<string, unknown> = { ...before };
  for (const [key, value] of Object.entries(delta.set)) {
    if (value === null) Reflect.deleteProperty(after, key);
    else after[key] = value;
  }
  after['history'] = [...before.history, ...delta.history];
  after['checkpoints'] = [...before.checkpoints.slice(delta.checkpoints.drop), ...delta.checkpoints.add];
  after['receipts'] = [...before.receipts, ...delta.receipts];
  return after as TaskRecord;
}

/** Compares by identity first: what a transition didn't touch is the same object. */
function equalJson(a: unknown, b: unknown): boolean {
  return Object.is(a, b) || JSON.stringify(a) === JSON.stringify(b);
}

function isPrefix(before: readonly unknown[], after: readonly unknown[]): boolean {
  return before.length <= after.length && before.every((item, index) => equalJson(item, after[index]));
}

function droppedCheckpoints(before: TaskRecord, after: TaskRecord): number | undefined {
  const first = after.checkpoints[0];
  if (first === undefined) return before.checkpoints.length;
  const at = before.checkpoints.findIndex((checkpoint) => checkpoint.checkpoint_id === first.checkpoint_id);
  const drop = at === -1 ? before.checkpoints.length : at;
  return isPrefix(before.checkpoints.slice(drop), after.checkpoints) ? drop : undefined;
}
