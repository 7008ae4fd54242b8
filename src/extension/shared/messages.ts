import * as vscode from 'vscode';
import { AtlasError, messageOf } from '../../core/shared/errors';
import { oneLine } from '../../core/shared/text';
import type { ChannelLogger } from './log';

/**
 * A text from outside for a message, label or quick pick: on one line, and without what the editor would turn into a
 * link (`[x](command:…)`) or an icon (`$(icon)`).
 */
export function plain(text: string, max = 200): string {
  const shown = oneLine(text, max).replaceAll('](', '] (').replaceAll('$(', '$ (');
  return RIGHT_TO_LEFT.test(shown) ? `${ISOLATE}${shown}${END_ISOLATE}` : shown;
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/u;
/** Letters that run from right to left take the numbers beside them with them, unless they are kept apart. */
const ISOLATE = '\u2068';
const END_ISOLATE = '\u2069';

/** A person changed their mind; nothing is to be said. */
export class Cancelled extends Error {}

/** Errors that a person's own choice of moment brings about; a message, not a failure. */
const EXPECTED = new Set([
  'illegal_transition',
  'not_done',
  'stale_caller',
  'human_only',
  'usage',
  'not_found',
  'cancelled',
]);

/** Shows what went wrong and what to do, with a button to the log. */
export async function showFailure(thrown: unknown, log: ChannelLogger): Promise<void> {
  const error = thrown instanceof AtlasError ? thrown : undefined;
  const text = plain([messageOf(thrown), error?.hint ?? ''].join(' '), 600);
  const showLog = vscode.l10n.t('Show Log');
  let chosen: string | undefined;
  if (error !== undefined && EXPECTED.has(error.code)) {
    log.info(text);
    chosen = await vscode.window.showWarningMessage(text);
  } else {
    log.error(text, { code: error?.code, stack: thrown instanceof Error ? thrown.stack : undefined });
    chosen = await vscode.window.showErrorMessage(text, showLog);
  }
  if (chosen === showLog) log.channel.show();
}
