import * as vscode from 'vscode';
import { plain } from './messages';

/**
 * Appends a text from outside to a tooltip, on one line. The editor's own way to do so makes each space one at which no
 * line may break: a long text then breaks within its words.
 */
export function appendPlain(tooltip: vscode.MarkdownString, text: string, max: number): void {
  const escaped = new vscode.MarkdownString().appendText(plain(text, max)).value;
  // Behind a number at the beginning it stays as it is: there a space would begin a list. With spaces, a tag would be one.
  tooltip.appendMarkdown(escaped.replaceAll(/(?<!^\d+[.)])&nbsp;/gu, ' ').replaceAll('<', '\\<'));
}

/** Appends labeled lines to a tooltip, each value escaped and of 300 characters at most; no line without a value. */
export function tooltipLines(text: vscode.MarkdownString): (label: string, value: string | undefined) => void {
  return (label, value) => {
    if (value === undefined || value === '') return;
    text.appendMarkdown(`${label}: `);
    appendPlain(text, value, 300);
    text.appendMarkdown('  \n');
  };
}
