import * as vscode from 'vscode';
import type { ValidationReceipt } from '../../core/task/taskRecord';
import type { Freshness, Verdict } from '../../core/receipt/receipt';
import { failedCheck } from '../../core/receipt/receiptReport';
import type { ReceiptStatus } from './verdicts';

/** How a command ended. */
export function resultLabel(exitCode: number): string {
  return exitCode === 0 ? vscode.l10n.t('Passed') : vscode.l10n.t('Failed (exit code {0})', exitCode);
}

/** What a receipt is worth, whatever it says. */
export function verdictLabel(verdict: Verdict | 'unchecked'): string {
  switch (verdict) {
    case 'valid':
      return vscode.l10n.t('Valid');
    case 'valid_short':
      return vscode.l10n.t('Valid, short');
    case 'invalid':
      return vscode.l10n.t('Invalid');
    case 'unsigned':
      return vscode.l10n.t('Unsigned');
    case 'unknown_key':
      return vscode.l10n.t('Unknown key');
    case 'unchecked':
      return vscode.l10n.t('Not checked');
  }
}

/** Whether the files are still those that a receipt is about; empty where that isn't known. */
export function filesLabel(kind: Freshness['kind'] | undefined): string {
  if (kind === 'current') return vscode.l10n.t('Current');
  return kind === 'outdated' ? vscode.l10n.t('Outdated') : '';
}

/** What is known of a receipt in three words: result, receipt and files, in this order. */
export function statusLabel(receipt: ValidationReceipt, standing: ReceiptStatus | undefined): string {
  return [
    resultLabel(receipt.exit_code),
    verdictLabel(standing?.report.verdict ?? 'unchecked'),
    filesLabel(standing?.currency?.kind),
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

/** What a verdict means, in sentences. */
export function statusDetail(standing: ReceiptStatus | undefined): string {
  if (standing === undefined) return vscode.l10n.t("This receipt hasn't been verified yet.");
  const failed = failedCheck(standing.report);
  const said = failed?.message ?? verdictSentence(standing.report.verdict);
  return [said, currencySentence(standing)].filter((part) => part !== '').join(' ');
}

function verdictSentence(verdict: Verdict): string {
  if (verdict === 'valid_short') {
    return vscode.l10n.t(
      "The signature is valid, but the receipt doesn't record which files it covers. It proves nothing here.",
    );
  }
  return vscode.l10n.t('Signatures, statement, fields and chain are valid. The command ran and exited as recorded.');
}

function currencySentence({ currency }: ReceiptStatus): string {
  switch (currency?.kind) {
    case 'current':
      return vscode.l10n.t('The files are unchanged.');
    case 'outdated': {
      if (currency.files.length === 0) return vscode.l10n.t('Files have changed since.');
      const more = currency.more > 0 ? vscode.l10n.t(' and {0} more', currency.more) : '';
      return vscode.l10n.t('Changed since: {0}{1}.', currency.files.join(', '), more);
    }
    case 'unknown':
      return currency.why;
    case undefined:
      return '';
  }
}
