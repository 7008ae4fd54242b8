import * as vscode from 'vscode';
import { toMs } from '../../core/shared/time';

/** A length of time (ms) in whole minutes, hours or days, for labels that are drawn anew every few seconds. */
export function coarseAge(ms: number): string {
  const minutes = Math.floor(Math.max(0, ms) / 60_000);
  if (minutes < 1) return vscode.l10n.t('now');
  if (minutes < 60) return vscode.l10n.t('{0} min', minutes);
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? vscode.l10n.t('{0} h', hours) : vscode.l10n.t('{0} d', Math.floor(hours / 24));
}

/** The age of a time as a label. */
export function ageOf(timestamp: string, now: number): string {
  return coarseAge(now - toMs(timestamp));
}
