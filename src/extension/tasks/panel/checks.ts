import { flat } from '../../../core/hookMarkdown/escape';
import { acceptedReceipts } from '../../../core/task/acceptedFailure';
import type { TaskRecord, ValidationReceipt } from '../../../core/task/taskRecord';
import type { PanelCheck } from '../../../protocol/taskPanel';
import { filesLabel, resultLabel, verdictLabel } from '../../receipts/standingText';
import type { ReceiptStatus } from '../../receipts/verdicts';
import type { TaskPanelTexts } from './taskPanelTexts';

/** Of more checks than these only the last ones are shown; the receipts panel has all. */
const MAX_CHECKS = 12;

/** The last run of each check, the one that ran last first. */
export function lastRuns({ receipts }: Pick<TaskRecord, 'receipts'>): ValidationReceipt[] {
  const last = new Map<string, ValidationReceipt>();
  for (const receipt of receipts) {
    last.delete(receipt.command);
    last.set(receipt.command, receipt);
  }
  return [...last.values()].reverse().slice(0, MAX_CHECKS);
}

/** How the last runs of a task's checks stand. */
export interface CheckTally {
  readonly ran: number;
  readonly failed: number;
  /** How many receipts were verified, and aren't valid. */
  readonly unproven: number;
  /** Whether files that a check has seen are others now. */
  readonly outdated: boolean;
}

/** Counts what the last runs of a task's checks came to. */
export function tallyOf(hook: TaskRecord, statuses: ReadonlyMap<string, ReceiptStatus>): CheckTally {
  const runs = lastRuns(hook);
  const known = runs.flatMap(({ receipt_id: id }) => statuses.get(id) ?? []);
  return {
    ran: runs.length,
    failed: runs.filter(({ exit_code: code }) => code !== 0).length,
    unproven: known.filter(({ report }) => report.verdict !== 'valid').length,
    outdated: known.some(({ currency }) => currency?.kind === 'outdated'),
  };
}

/** The last run of each check in words: result, receipt and files, three things apart. */
export function panelChecks(
  hook: TaskRecord,
  statuses: ReadonlyMap<string, ReceiptStatus>,
  outputs: ReadonlyMap<string, string>,
  texts: TaskPanelTexts,
): PanelCheck[] {
  const accepted = acceptedReceipts(hook);
  return lastRuns(hook).map((receipt): PanelCheck => {
    const { receipt_id: id, exit_code: code } = receipt;
    const status = statuses.get(id);
    const verdict = status?.report.verdict ?? 'unchecked';
    const files = status?.currency?.kind;
    const output = outputs.get(id);
    const facts: PanelCheck['facts'] = [
      { label: texts.columns.result, text: resultLabel(code), look: code === 0 ? 'good' : 'bad' },
      {
        label: texts.columns.receipt,
        text: verdictLabel(verdict),
        look: verdict === 'invalid' ? 'bad' : verdict === 'valid' ? 'plain' : 'old',
      },
      { label: texts.columns.files, text: filesLabel(files), look: files === 'outdated' ? 'old' : 'plain' },
      { label: texts.columns.duration, text: flat(receipt.duration, 40), look: 'plain' },
      ...(accepted.has(id) ? [{ label: '', text: texts.acceptedCheck(), look: 'bad' as const }] : []),
    ];
    return {
      receiptId: id,
      command: flat(receipt.command, 300),
      passed: code === 0,
      isProven: verdict === 'valid',
      facts: facts.filter(({ text }) => text !== ''),
      at: receipt.completed_at,
      ...(output === undefined ? {} : { output }),
    };
  });
}
