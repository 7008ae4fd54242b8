import type { TaskRef } from '../../../core/task/taskRef';
import { flat } from '../../../core/hookMarkdown/escape';
import type { Freshness, ReceiptReport } from '../../../core/receipt/receipt';
import type { ValidationReceipt } from '../../../core/task/taskRecord';
import { failedCheck } from '../../../core/receipt/receiptReport';
import {
  RECEIPT_STANDINGS,
  type ReceiptRow,
  type ReceiptStanding,
  type ReceiptsPanelModel,
} from '../../../protocol/receiptsPanel';
import { type ReceiptsPanelTexts, receiptsPanelTexts } from './receiptsPanelTexts';

/** A receipt with what is known about it. */
export interface ReceiptItem {
  readonly receipt: ValidationReceipt;
  /** Undefined until it was verified. */
  readonly report: ReceiptReport | undefined;
  /** Undefined until the files were looked at. */
  readonly currency: Freshness | undefined;
  /** Whether the command's output is still there to be opened. */
  readonly kept: { readonly stdout: boolean; readonly stderr: boolean };
}

/** What the panel is made from: as stored, nothing translated. */
export interface ReceiptsPanelData {
  readonly task: { readonly title: string; readonly workspace: string; readonly id: string };
  /** In the hook's order, the newest last. */
  readonly items: readonly ReceiptItem[];
  /** Where the public keys are, or what is wrong with them. */
  readonly keys: string;
  /** Receipts are being verified right now. */
  readonly checking: boolean;
}

const LONGEST_COMMAND = 500;
const LONGEST_HINT = 500;
const LONGEST_KEY_ID = 100;

/** Makes all that the panel shows but for the details. No clock, and of the editor only its language. */
export function receiptsPanelModel(ref: TaskRef, data: ReceiptsPanelData): ReceiptsPanelModel {
  const texts = receiptsPanelTexts();
  const rows = data.items.map((item, index) => row(item, index, texts));
  const failed = rows.filter((each) => each.failed).length;
  const outdated = rows.filter((each) => each.currency === 'outdated').length;
  const results = [
    { result: 'passed' as const, label: texts.passed(), count: rows.length - failed },
    { result: 'failed' as const, label: texts.failed(), count: failed },
  ];
  const counts = RECEIPT_STANDINGS.map((standing) => ({
    standing,
    label: texts.standing(standing),
    count: rows.filter((each) => each.standing === standing).length,
  }));
  const said = [...results, ...counts]
    .filter(({ count }) => count > 0)
    .map(({ label, count }) => texts.count(label, count));
  const outdatedText = outdated === 0 ? undefined : texts.count(texts.outdatedCount(), outdated);
  return {
    ref,
    title: flat(data.task.title, 300) || flat(data.task.id, 300),
    place: texts.place(flat(data.task.workspace, 255), flat(data.task.id, 255)),
    results,
    counts,
    ...(outdatedText !== undefined && { outdated: outdatedText }),
    announcement: texts.announcement(rows.length, outdatedText === undefined ? said : [...said, outdatedText]),
    keys: flat(data.keys, 1000),
    checking: data.checking,
    rows: rows.reverse(),
    strings: texts.strings,
  };
}

/** What the panel calls a receipt: its place in the hook, which never changes, and its id, in case it did. */
export function keyOfItem(item: ReceiptItem, index: number): string {
  return `${index}:${item.receipt.receipt_id.slice(0, LONGEST_KEY_ID)}`;
}

/** Whether a receipt's command did not pass, by its exit code or by what the signed statement says. */
export function hasFailed({ receipt, report }: ReceiptItem): boolean {
  return receipt.exit_code !== 0 || report?.statement?.predicate.result === 'FAILED';
}

function row(item: ReceiptItem, index: number, texts: ReceiptsPanelTexts): ReceiptRow {
  const { receipt, report } = item;
  const standing: ReceiptStanding = report?.verdict ?? 'unchecked';
  const wrong = report === undefined ? undefined : failedCheck(report);
  return {
    key: keyOfItem(item, index),
    id: flat(receipt.receipt_id, 128),
    standing,
    standingLabel: texts.standing(standing),
    ...(wrong !== undefined && { why: flat(wrong.message, LONGEST_HINT) }),
    ...currency(item.currency, texts),
    step: flat(receipt.step_name, 64),
    ...(receipt.attempt !== undefined && { attempt: texts.attempt(receipt.attempt) }),
    command: flat(receipt.command, LONGEST_COMMAND),
    result: hasFailed(item) ? texts.failedWith(receipt.exit_code) : texts.passed(),
    failed: hasFailed(item),
    duration: flat(receipt.duration, 32),
    completedAt: receipt.completed_at,
  };
}

function currency(
  known: Freshness | undefined,
  texts: ReceiptsPanelTexts,
): Pick<ReceiptRow, 'currency' | 'currencyLabel' | 'currencyHint'> {
  switch (known?.kind) {
    case undefined:
      return { currency: 'unchecked', currencyLabel: texts.unchecked() };
    case 'current':
      return { currency: 'current', currencyLabel: texts.current() };
    case 'outdated':
      return {
        currency: 'outdated',
        currencyLabel: texts.outdated(known.files.length + known.more),
        currencyHint: flat(known.files.slice(0, 10).join(', '), LONGEST_HINT),
      };
    case 'unknown':
      return { currency: 'unknown', currencyLabel: texts.unknown(), currencyHint: flat(known.why, LONGEST_HINT) };
  }
}
