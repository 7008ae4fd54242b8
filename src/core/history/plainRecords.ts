import { CHECKPOINT_TRIGGERS, TASK_STATES } from '../task/taskRecord';
import { normalizeTimestamp } from '../shared/time';

const STATES: ReadonlySet<unknown> = new Set(TASK_STATES);
const TRIGGERS: ReadonlySet<unknown> = new Set(CHECKPOINT_TRIGGERS);

/** A time as Atlas writes it. */
function isTime(value: unknown): boolean {
  return typeof value === 'string' && normalizeTimestamp(value) === value;
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPlainEvent(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { timestamp, from_state: from, to_state: to, trigger, step_name: step, details } = value;
  return (
    isTime(timestamp) &&
    (from === '' || STATES.has(from)) &&
    STATES.has(to) &&
    typeof trigger === 'string' &&
    isTextOrAbsent(step) &&
    (details === undefined || isFields(details))
  );
}

const RECEIPT_TEXTS = ['receipt_id', 'step_name', 'command', 'duration', 'stdout_hash', 'stderr_hash', 'signature'];

function isPlainReceipt(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { attempt, exit_code: code, started_at: started, completed_at: completed, key_path: path } = value;
  return (
    RECEIPT_TEXTS.every((name) => typeof value[name] === 'string') &&
    Number.isSafeInteger(code) &&
    (attempt === undefined || Number.isSafeInteger(attempt)) &&
    isTime(started) &&
    isTime(completed) &&
    isTextOrAbsent(path)
  );
}

function isPlainSnapshot(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { path, size, mod_time: time, sha256, exists } = value;
  const texts = typeof path === 'string' && typeof time === 'string' && typeof sha256 === 'string';
  return texts && Number.isFinite(size) && typeof exists === 'boolean';
}

function isPlainCheckpoint(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { step_index: index, attempt, trigger, git_commit: commit, git_dirty: dirty } = value;
  const { artifacts, files_snapshot: files } = value;
  return (
    ['checkpoint_id', 'step_name', 'description', 'git_branch'].every((name) => typeof value[name] === 'string') &&
    isTime(value['created_at']) &&
    Number.isFinite(index) &&
    (attempt === undefined || Number.isFinite(attempt)) &&
    TRIGGERS.has(trigger) &&
    isTextOrAbsent(commit) &&
    (dirty === undefined || typeof dirty === 'boolean') &&
    (artifacts === undefined || isListOf(artifacts, isText)) &&
    (files === undefined || isListOf(files, isPlainSnapshot))
  );
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isTimeOrAbsent(value: unknown): boolean {
  return value === undefined || isTime(value);
}

function isPlainStep(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { attempts, idempotent, validation, max_attempts: most } = value;
  return (
    ['name', 'type', 'status'].every((name) => typeof value[name] === 'string') &&
    isTimeOrAbsent(value['started_at']) &&
    isTimeOrAbsent(value['completed_at']) &&
    ['error', 'goal', 'done_when'].every((name) => isTextOrAbsent(value[name])) &&
    Number.isSafeInteger(attempts) &&
    (idempotent === undefined || typeof idempotent === 'boolean') &&
    (validation === undefined || isListOf(validation, isText)) &&
    (most === undefined || Number.isSafeInteger(most))
  );
}

function isPlainResult(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { step_index: index, step_name: name, status, duration_ms: duration } = value;
  const rest = isTimeOrAbsent(value['started_at']) && isTimeOrAbsent(value['completed_at']);
  return Number.isSafeInteger(index) && isText(name) && isText(status) && Number.isFinite(duration) && rest;
}

function isPlainTransition(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { from_status: from, to_status: to, timestamp, reason } = value;
  return isText(from) && isText(to) && isTime(timestamp) && isTextOrAbsent(reason);
}

/** The lists of a file, and what an item of each looks like as Atlas writes it. */
export type PlainLists = Readonly<Record<string, (item: unknown) => boolean>>;

/** Those of hook.json. */
export const RECORD_LISTS = {
  history: isPlainEvent,
  checkpoints: isPlainCheckpoint,
  receipts: isPlainReceipt,
} as const satisfies PlainLists;

/** Those of task.json. */
export const TASK_LISTS = {
  steps: isPlainStep,
  step_results: isPlainResult,
  transitions: isPlainTransition,
} as const satisfies PlainLists;

/** Lists that were looked at item by item, and so are whatever list the schema would make of them. */
type PlainOf<T> = Partial<Record<keyof T, never[]>>;

/**
 * Takes the long lists out of a parsed file that are exactly as Atlas writes them, so that the schema, which takes ten
 * times as long, need not look at thousands of records that it would give back unchanged. A list with anything else in
 * it stays.
 */
export function takePlainLists<T extends PlainLists>(
  data: unknown,
  lists: T,
): { readonly rest: unknown; readonly plain: PlainOf<T> } {
  if (!isFields(data)) return { rest: data, plain: {} };
  const names = Object.keys(lists).filter((name) => isListOf(data[name], lists[name] ?? (() => false)));
  const pick = (value: (name: string) => unknown): object =>
    Object.fromEntries(names.map((name) => [name, value(name)]));
  return { rest: { ...data, ...pick(() => []) }, plain: pick((name) => data[name]) };
}

function isListOf(value: unknown, is: (item: unknown) => boolean): value is unknown[] {
  return Array.isArray(value) && value.every(is);
}
