import * as vscode from 'vscode';
import type { ValidationReceipt } from '../../../core/task/taskRecord';
import type { Verdict } from '../../../core/receipt/receipt';
import { plain } from '../../shared/messages';
import { statusDetail, statusLabel } from '../../receipts/standingText';
import type { ReceiptStatus } from '../../receipts/verdicts';
import type { TreeNode } from './nodes';
import { row } from './rows';
import { themeIcon } from '../../shared/stateLook';
import { appendPlain } from '../../shared/tooltip';

const ICONS: Readonly<Record<Verdict, { icon: string; color?: string }>> = {
  valid: { icon: 'verified', color: 'charts.green' },
  valid_short: { icon: 'shield' },
  invalid: { icon: 'warning', color: 'charts.red' },
  unsigned: { icon: 'circle-slash' },
  unknown_key: { icon: 'question', color: 'charts.yellow' },
};
const FAILED = { icon: 'error', color: 'charts.red' };
const OUTDATED = { icon: 'verified' };

function lookOf(receipt: ValidationReceipt, standing: ReceiptStatus | undefined): { icon: string; color?: string } {
  if (standing === undefined) return { icon: 'circle-outline' };
  const { verdict } = standing.report;
  if (verdict !== 'valid') return ICONS[verdict];
  if (receipt.exit_code !== 0) return FAILED;
  return standing.currency?.kind === 'outdated' ? OUTDATED : ICONS.valid;
}

/** The row of a receipt: its command, how it ended and what verification says. */
export function receiptRow(
  node: TreeNode & { kind: 'receipt' },
  receipt: ValidationReceipt,
  standing: ReceiptStatus | undefined,
): vscode.TreeItem {
  const item = row(node, receipt.command, vscode.TreeItemCollapsibleState.None);
  const said = statusLabel(receipt, standing);
  item.description = plain([said, receipt.duration].filter((part) => part !== '').join(' · '));
  item.iconPath = themeIcon(lookOf(receipt, standing));
  item.contextValue = 'receipt';
  item.command = { command: 'atlas.verifyReceipt', title: vscode.l10n.t('Verify Receipt'), arguments: [node] };
  item.accessibilityInformation = { label: plain(`${receipt.command}, ${said}`, 300) };
  return item;
}

/** The Markdown of a receipt's tooltip. */
export function receiptTooltip(receipt: ValidationReceipt, standing: ReceiptStatus | undefined): vscode.MarkdownString {
  const text = new vscode.MarkdownString(undefined, false);
  appendPlain(text, receipt.command, 500);
  text.appendMarkdown('\n\n');
  appendPlain(text, statusDetail(standing), 800);
  text.appendMarkdown('\n\n');
  const attempt = receipt.attempt === undefined ? '' : vscode.l10n.t('attempt {0}', receipt.attempt);
  const parts = [receipt.receipt_id, attempt, receipt.completed_at, receipt.key_path ?? ''];
  appendPlain(text, parts.filter((part) => part !== '').join(' · '), 400);
  return text;
}
