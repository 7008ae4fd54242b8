import * as vscode from 'vscode';
import type { Logger } from '../../core/shared/ports';
import { oneLine } from '../../core/shared/text';

/** The "Atlas" output channel as a log. Data is written as JSON on the message's line. */
export class ChannelLogger implements Logger {
  readonly channel = vscode.window.createOutputChannel('Atlas', { log: true });

  debug(message: string, data?: Readonly<Record<string, unknown>>): void {
    this.channel.debug(format(message, data));
  }

  info(message: string, data?: Readonly<Record<string, unknown>>): void {
    this.channel.info(format(message, data));
  }

  warn(message: string, data?: Readonly<Record<string, unknown>>): void {
    this.channel.warn(format(message, data));
  }

  error(message: string, data?: Readonly<Record<string, unknown>>): void {
    this.channel.error(format(message, data));
  }
}

/** Texts from outside stay on one line, so that nothing they hold looks like an entry of its own. */
function format(message: string, data: Readonly<Record<string, unknown>> | undefined): string {
  const text = oneLine(message, 2000);
  return data === undefined ? text : `${text} ${oneLine(JSON.stringify(data), 4000)}`;
}
