import * as vscode from 'vscode';
import type { StoredTask } from '../../core/task/storedTask';
import type { BoundCommands } from '../shared/boundCommands';
import { statusLabel } from './standingText';
import type { Verdicts } from './verdicts';

/** Where a receipt or a checkpoint begins in hook.json, and in HOOK.md; history and statements name them otherwise. */
const RECEIPT = /^(?: {6}"receipt_id": "([\w.-]+)"|### Receipt `([\w.-]+)`)/u;
const CHECKPOINT = /^(?: {6}"checkpoint_id": "([\w.-]+)"|> ID: `(ckpt-[\w.-]+)`)/u;
/** A longer file has no lenses: making them would cost more than they tell. */
const MAX_LINES = 200_000;

/** The lenses of a task's hook.json or HOOK.md: at each receipt what is known of it, and at each checkpoint. */
export function lensesOf(
  document: vscode.TextDocument,
  { ref, hook }: StoredTask,
  known: ReturnType<Verdicts['of']>,
  commands: BoundCommands,
): vscode.CodeLens[] {
  if (document.lineCount > MAX_LINES) return [];
  const receipts = new Map(hook.receipts.map((receipt) => [receipt.receipt_id, receipt]));
  const lenses: vscode.CodeLens[] = [];
  const add = (range: vscode.Range, title: string, command: string, argument: object): void => {
    lenses.push(new vscode.CodeLens(range, { title, command: commands.idOf(command, argument) }));
  };
  for (let line = 0; line < document.lineCount; line += 1) {
    const { text, range } = document.lineAt(line);
    const receipt = receipts.get(firstGroup(RECEIPT.exec(text)) ?? '');
    if (receipt !== undefined) {
      const id = receipt.receipt_id;
      const title = `${statusLabel(receipt, known.get(id))} · ${vscode.l10n.t('Verify Receipt')}`;
      add(range, title, 'atlas.verifyReceipt', { kind: 'receipt', ref, id });
    }
    const checkpoint = firstGroup(CHECKPOINT.exec(text));
    if (checkpoint !== undefined)
      add(range, vscode.l10n.t('Show Checkpoint'), 'atlas.showCheckpoint', { kind: 'checkpoint', ref, id: checkpoint });
  }
  return lenses;
}

function firstGroup(match: RegExpExecArray | null): string | undefined {
  return match?.[1] ?? match?.[2];
}
