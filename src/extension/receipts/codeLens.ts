import * as path from 'node:path';
import * as vscode from 'vscode';
import type { TaskRef } from '../../core/task/taskRef';
import { affects, setting } from '../shared/config';
import { statusLabel } from './standingText';
import type { Verdicts } from './verdicts';
import type { WindowTasks } from '../windowTasks';

const FILES: vscode.DocumentSelector = [
  { scheme: 'file', pattern: '**/tasks/*/hook.json' },
  { scheme: 'file', pattern: '**/tasks/*/HOOK.md' },
];
/** Where a receipt or a checkpoint begins in hook.json, and in HOOK.md; history and statements name them otherwise. */
const RECEIPT = /^(?: {6}"receipt_id": "([\w.-]+)"|### Receipt `([\w.-]+)`)/u;
const CHECKPOINT = /^(?: {6}"checkpoint_id": "([\w.-]+)"|> ID: `(ckpt-[\w.-]+)`)/u;
/** A longer file has no lenses: making them would cost more than they tell. */
const MAX_LINES = 200_000;

/** "Verify Receipt" at each receipt and "Show Checkpoint" at each checkpoint of hook.json and HOOK.md. */
export class ReceiptLenses implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];
  readonly onDidChangeCodeLenses = this.changes.event;

  constructor(
    private readonly session: WindowTasks,
    private readonly verdicts: Verdicts,
  ) {
    const changed = (): void => {
      this.changes.fire();
    };
    this.subscriptions = [
      vscode.languages.registerCodeLensProvider(FILES, this),
      verdicts.onDidChange(changed),
      session.onDidChange(changed),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (affects(event, 'codeLens.enabled')) changed();
      }),
    ];
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const ref = setting('codeLens.enabled') ? this.refOf(document.uri) : undefined;
    const read = ref === undefined ? undefined : this.session.atlas.catalog.read(ref);
    if (ref === undefined || read?.ok !== true || document.lineCount > MAX_LINES) return [];
    const standings = this.verdicts.of(read.value);
    const receipts = new Map(read.value.hook.receipts.map((receipt) => [receipt.receipt_id, receipt]));
    const lenses: vscode.CodeLens[] = [];
    for (let line = 0; line < document.lineCount; line += 1) {
      const { text, range } = document.lineAt(line);
      const receipt = receipts.get(firstGroup(RECEIPT.exec(text)) ?? '');
      if (receipt !== undefined) {
        const id = receipt.receipt_id;
        const said = statusLabel(receipt, standings.get(id));
        lenses.push(lens(range, `${said} · ${vscode.l10n.t('Verify Receipt')}`, 'verifyReceipt', 'receipt', ref, id));
      }
      const checkpoint = firstGroup(CHECKPOINT.exec(text));
      if (checkpoint !== undefined) {
        lenses.push(lens(range, vscode.l10n.t('Show Checkpoint'), 'showCheckpoint', 'checkpoint', ref, checkpoint));
      }
    }
    return lenses;
  }

  /** The task whose file this is; a copy elsewhere is nobody's. */
  private refOf(uri: vscode.Uri): TaskRef | undefined {
    const { paths } = this.session.atlas.ports;
    const [workspace, tasks, id, name, ...rest] = path.relative(paths.workspaces, uri.fsPath).split(path.sep);
    if (workspace === undefined || tasks !== 'tasks' || id === undefined || rest.length > 0) return undefined;
    return name === 'hook.json' || name === 'HOOK.md' ? { workspace, id } : undefined;
  }

  dispose(): void {
    this.changes.dispose();
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}

function firstGroup(match: RegExpExecArray | null): string | undefined {
  return match?.[1] ?? match?.[2];
}

function lens(
  range: vscode.Range,
  title: string,
  command: string,
  kind: 'receipt' | 'checkpoint',
  ref: TaskRef,
  id: string,
): vscode.CodeLens {
  return new vscode.CodeLens(range, { command: `atlas.${command}`, title, arguments: [{ kind, ref, id }] });
}
