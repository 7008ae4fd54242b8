import type { ValidationReceipt } from '../task/taskRecord';
import { toMs } from '../shared/time';

/** The hex digits that a receipt's hash can have: none, those that the Go ATLAS keeps, or a whole SHA-256. */
const HASH_LENGTHS: readonly number[] = [0, 16, 64];

/**
 * The first field of a receipt that its signed text could not be read back with; `undefined` where there is none. The text puts `|`
 * between the fields, and a command may hold one: only because no other field can is there one way to read it.
 */
export function malformedField(receipt: ValidationReceipt): { field: string; found: string } | undefined {
  const { receipt_id: id, stdout_hash: stdout, stderr_hash: stderr, completed_at: completed } = receipt;
  const isHash = (text: string): boolean => HASH_LENGTHS.includes(text.length) && /^[0-9a-f]*$/u.test(text);
  if (!/^[\w.-]+$/u.test(id)) return { field: 'receipt_id', found: id };
  if (!isHash(stdout)) return { field: 'stdout_hash', found: stdout };
  if (!isHash(stderr)) return { field: 'stderr_hash', found: stderr };
  return Number.isFinite(toMs(completed)) ? undefined : { field: 'completed_at', found: completed };
}
