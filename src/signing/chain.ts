import type { ValidationReceipt } from '../core/task/taskRecord';
import type { ChainLink, ReceiptCheck, RecordedReceipt } from '../core/receipt/receipt';

/** What was recorded of a task's receipts, and whether those that are there are these, in this order. */
export interface ChainRecord {
  readonly records: ReadonlyMap<string, RecordedReceipt>;
  /** The record before a receipt's own; absent for the first. */
  readonly previous: ReadonlyMap<string, RecordedReceipt>;
  /** Where the receipts that are there depart from the record. */
  readonly broken: { readonly message: string; readonly expected: string; readonly found: string } | undefined;
}

const JOURNAL_BROKEN: ChainRecord['broken'] = {
  message: "The chain is broken: the task's journal was altered or can't be read, so its receipts can't be confirmed.",
  expected: 'a journal in which each line follows from the one before',
  found: 'a journal in which a line does not',
};

/**
 * Compares a task's receipts with the record of them. Receipts of other programs have none and don't count.
 * @param journalBroken whether the task's journal, which recorded them, can no longer be followed
 */
export function chainOf(
  receipts: readonly ValidationReceipt[],
  recorded: readonly RecordedReceipt[],
  journalBroken = false,
): ChainRecord {
  const records = new Map(recorded.map((record) => [record.receiptId, record]));
  const previous = new Map<string, RecordedReceipt>();
  for (const [index, record] of recorded.entries()) {
    const before = recorded[index - 1];
    if (before !== undefined) previous.set(record.receiptId, before);
  }
  if (journalBroken) return { records, previous, broken: JOURNAL_BROKEN };
  const present = receipts.filter(({ receipt_id: id }) => records.has(id)).map(({ receipt_id: id }) => id);
  const at = recorded.findIndex(({ receiptId }, index) => present[index] !== receiptId);
  const index = at === -1 && present.length > recorded.length ? recorded.length : at;
  if (index === -1) return { records, previous, broken: undefined };
  const expected = recorded[index]?.receiptId;
  const missing = expected !== undefined && !present.includes(expected);
  return {
    records,
    previous,
    broken: {
      message: missing
        ? `The chain is broken: receipt ${expected} was recorded and is now missing.`
        : "The chain is broken: the task's receipts are not in the order in which they were recorded.",
      expected: expected ?? '(no more)',
      found: present[index] ?? '(no more)',
    },
  };
}

/** Whether a receipt is the link that the record says: its file, its place, and the one before it. */
export function checkChain(
  receiptId: string,
  link: ChainLink,
  envelopeSha256: string,
  chain: ChainRecord,
): Omit<ReceiptCheck, 'check'> {
  const record = chain.records.get(receiptId);
  if (record === undefined) {
    const message = 'It is not in the chain: the journal does not record that this receipt was added to the task.';
    return { passed: false, message, found: receiptId };
  }
  if (record.envelopeSha256 !== envelopeSha256) {
    const message = 'The statement differs from the one recorded with the receipt.';
    return { passed: false, message, expected: record.envelopeSha256, found: envelopeSha256 };
  }
  if (chain.broken !== undefined) return { passed: false, ...chain.broken };
  const before = chain.previous.get(receiptId);
  const expected = `${record.sequence} after ${before === undefined ? 'none' : `${before.receiptId} ${before.envelopeSha256}`}`;
  const stated = link.previous === null ? 'none' : `${link.previous.receipt_id} ${link.previous.sha256}`;
  const found = `${link.sequence} after ${stated}`;
  if (expected === found) return { passed: true, message: `It is receipt ${link.sequence} in the task's chain.` };
  return {
    passed: false,
    message: 'The chain is broken before it: it follows another receipt.',
    expected,
    found,
  };
}
