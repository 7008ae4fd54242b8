import * as vscode from 'vscode';
import type { ValidationWatch } from '../../service/receipts/validationService';
import { plain } from '../shared/messages';

const CTRL_C = '\u0003';
const [BOLD, RED, GREEN, DIM, RESET] = ['\u001b[1m', '\u001b[31m', '\u001b[32m', '\u001b[2m', '\u001b[0m'];
/** What is shown before the terminal has opened is kept up to this many characters. */
const MAX_PENDING = 1_000_000;

/** A terminal that shows what a validation's commands write, as they write it. It runs nothing itself. */
export class ValidationTerminal implements vscode.Pseudoterminal {
  private readonly terminal: vscode.Terminal;
  private readonly writes = new vscode.EventEmitter<string>();
  private readonly names = new vscode.EventEmitter<string>();
  private readonly closes = new vscode.EventEmitter<number>();
  private readonly aborter = new AbortController();
  private readonly decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  private pending = '';
  private opened = false;
  private ended = false;
  readonly onDidWrite = this.writes.event;
  readonly onDidChangeName = this.names.event;
  readonly onDidClose = this.closes.event;

  constructor(private readonly title: string) {
    const name = vscode.l10n.t('Validation: {0}', title);
    this.terminal = vscode.window.createTerminal({ name, pty: this, iconPath: new vscode.ThemeIcon('beaker') });
    this.terminal.show(true);
  }

  dispose(): void {
    this.terminal.dispose();
  }

  open(): void {
    this.opened = true;
    this.writes.fire(this.pending);
    this.pending = '';
  }

  /** The terminal was closed by hand: that cancels what runs in it. */
  close(): void {
    this.aborter.abort();
  }

  handleInput(data: string): void {
    if (this.ended) this.closes.fire(0);
    else if (data === CTRL_C) this.aborter.abort();
  }

  /** Aborts when the signal does, Ctrl+C is pressed in the terminal, or it is closed. */
  cancelledBy(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.aborter.signal]);
  }

  /** Shows what a validation tells. */
  watch(onCommand: (command: string, index: number, total: number) => void): ValidationWatch {
    return {
      onCommand: (command, index, total, receiptId) => {
        this.decoders.stdout = new TextDecoder();
        this.decoders.stderr = new TextDecoder();
        this.line(`${BOLD}[${index + 1}/${total}] ${plain(command, 500)}${RESET} ${DIM}${receiptId}${RESET}`);
        onCommand(command, index, total);
      },
      onOutput: (stream, chunk) => {
        this.write(this.decoders[stream].decode(chunk, { stream: true }).replace(/\r?\n/gu, '\r\n'));
      },
      onReceipt: (receipt) => {
        const color = receipt.exit_code === 0 ? GREEN : RED;
        const ended = vscode.l10n.t('exit code {0} after {1}', receipt.exit_code, receipt.duration);
        this.line(`${color}${ended}${RESET} ${DIM}${receipt.receipt_id}${RESET}`);
      },
    };
  }

  /** Says how it all ended; the next key closes the terminal. */
  end(message: string, passed: boolean): void {
    this.ended = true;
    this.line(`${BOLD}${passed ? GREEN : RED}${plain(message, 500)}${RESET}`);
    this.line(`${DIM}${vscode.l10n.t('Press any key to close this terminal.')}${RESET}`);
    this.names.fire(`${passed ? '✓' : '✗'} ${vscode.l10n.t('Validation: {0}', this.title)}`);
  }

  private line(text: string): void {
    this.write(`\r\n${text}\r\n`);
  }

  private write(text: string): void {
    if (this.opened) this.writes.fire(text);
    else if (this.pending.length < MAX_PENDING) this.pending += text;
  }
}
