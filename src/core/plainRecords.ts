import { HOOK_STATES, type Hook } from './hook';
import { normalizeTimestamp } from './time';

const STATES: ReadonlySet<unknown> = new Set(HOOK_STATES);
const CANONICAL_TIME = /^\d{4}-(?:0[1-9]|1[0-2])-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/u;

/** A time as Atlas writes it. */
function isTime(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  const day = Number(CANONICAL_TIME.exec(value)?.[1]);
  // Every month has 28 days; beyond them it takes a calendar.
  return (day >= 1 && day <= 28) || (day > 28 && normalizeTimestamp(value) === value);
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

/**
 * Takes the long lists out of a parsed hook.json that are exactly as Atlas writes them, so that the schema, which takes
 * ten times as long, need not look at thousands of records that it would give back unchanged. A list with anything else
 * in it stays.
 */
export function takePlainLists(data: unknown): {
  readonly rest: unknown;
  readonly plain: Partial<Pick<Hook, 'history' | 'receipts'>>;
} {
  if (!isFields(data)) return { rest: data, plain: {} };
  const { history, receipts } = data;
  const plain = {
    ...(isListOf(history, isPlainEvent) ? { history: history as Hook['history'] } : {}),
    ...(isListOf(receipts, isPlainReceipt) ? { receipts: receipts as Hook['receipts'] } : {}),
  };
  const emptied = Object.fromEntries(Object.keys(plain).map((name) => [name, []]));
  return { rest: { ...data, ...emptied }, plain };
}

function isListOf(value: unknown, is: (item: unknown) => boolean): value is unknown[] {
  return Array.isArray(value) && value.every(is);
}
