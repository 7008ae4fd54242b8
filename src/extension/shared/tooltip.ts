import type * as vscode from 'vscode';
import { plain } from './messages';

/** Appends labeled lines to a tooltip, each value escaped and of 300 characters at most; no line without a value. */
export function tooltipLines(text: vscode.MarkdownString): (label: string, value: string | undefined) => void {
  return (label, value) => {
    if (value === undefined || value === '') return;
    text.appendMarkdown(`${label}: `);
    text.appendText(plain(value, 300));
    text.appendMarkdown('  \n');
  };
}
