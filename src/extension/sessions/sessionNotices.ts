import * as vscode from 'vscode';
import { HOST_TITLES } from '../../core/session/sessionHost';
import { toMs } from '../../core/shared/time';
import type { ObservedSession } from '../../service/sessions/sessionService';
import { setting } from '../shared/config';
import { requestOf } from './sessionRowTexts';
import type { SessionsModel } from './sessionsModel';

const SHOWN_KEY = 'atlas.shownSessions';
const MAX_SHOWN = 200;
/** Who sits in front of the agent answers sooner than this (ms). */
const PATIENCE_MS = 10_000;

/** Tells of each session that was interrupted, or waits for the user for a while: once, in whatever window. */
export class SessionNotices implements vscode.Disposable {
  private due: NodeJS.Timeout | undefined;

  /** @param memory of this user: what was told once isn't told again */
  constructor(
    private readonly model: SessionsModel,
    private readonly memory: vscode.Memento,
  ) {}

  /** Tells what is to be told now, and the rest when its time comes: nothing else may happen until then. */
  tell(): void {
    clearTimeout(this.due);
    const { model, memory } = this;
    const shown = memory.get<string[]>(SHOWN_KEY, []);
    const news: string[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const session of model.waiting()) {
      const { record, ref, state } = session;
      const isInterrupted = state === 'interrupted';
      const since = isInterrupted ? (record.died?.at ?? record.phase_at) : record.phase_at;
      const key = `${ref.host} ${ref.sessionId} ${isInterrupted ? 'interrupted' : 'waiting'} ${since}`;
      if (shown.includes(key) || !setting(isInterrupted ? 'notifications.crash' : 'notifications.humanNeeded'))
        continue;
      // Its process was seen to be gone; when, is known with the next look.
      if (isInterrupted && record.died === undefined) continue;
      const left = isInterrupted ? 0 : PATIENCE_MS - (model.now - toMs(since));
      if (left > 0) {
        next = Math.min(next, left);
        continue;
      }
      news.push(key);
      void tell(session);
    }
    if (news.length > 0) void memory.update(SHOWN_KEY, [...shown, ...news].slice(-MAX_SHOWN));
    if (Number.isFinite(next)) this.due = setTimeout(() => this.tell(), next);
  }

  dispose(): void {
    clearTimeout(this.due);
  }
}

async function tell(session: ObservedSession): Promise<void> {
  const { ref, state } = session;
  const [host, request] = [HOST_TITLES[ref.host], requestOf(session, 80)];
  const node = { kind: 'session', host: ref.host, sessionId: ref.sessionId };
  const resume = vscode.l10n.t('Resume');
  const show = vscode.l10n.t('Show HOOK.md');
  const buttons = state === 'interrupted' ? [resume, show] : [show];
  const answer = await vscode.window.showWarningMessage(messageOf(state, host, request), ...buttons);
  if (answer === resume) await vscode.commands.executeCommand('atlas.resumeSession', node);
  if (answer === show) await vscode.commands.executeCommand('atlas.showSessionHookMd', node);
}

function messageOf(state: ObservedSession['state'], host: string, request: string): string {
  if (state === 'interrupted') return vscode.l10n.t('{0} was interrupted while it worked on "{1}".', host, request);
  return state === 'waiting_permission'
    ? vscode.l10n.t('{0} is waiting for your permission: "{1}".', host, request)
    : vscode.l10n.t('{0} is waiting for your input: "{1}".', host, request);
}
