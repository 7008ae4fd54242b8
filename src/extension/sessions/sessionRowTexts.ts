import { basename } from 'node:path';
import * as vscode from 'vscode';
import { sessionTitle } from '../../core/hookMarkdown/sessionHook';
import { HOST_TITLES } from '../../core/session/sessionHost';
import { isOver, needsUser } from '../../core/session/sessionOrder';
import type { SessionState } from '../../core/session/sessionState';
import type { ObservedSession } from '../../service/sessions/sessionService';
import { ageOf } from '../shared/ages';
import { plain } from '../shared/messages';
import { type Look, themeIcon } from '../shared/stateLook';
import { appendPlain, tooltipLines } from '../shared/tooltip';
import { type SessionNode, sessionNodeId } from './outline';

const LOOKS = {
  working: { icon: 'play-circle', color: 'charts.blue' },
  waiting_permission: { icon: 'bell-dot', color: 'charts.yellow' },
  waiting_answer: { icon: 'bell-dot', color: 'charts.yellow' },
  idle: { icon: 'circle-large-outline' },
  interrupted: { icon: 'warning', color: 'charts.orange' },
  ended: { icon: 'pass' },
} as const satisfies Record<SessionState, Look>;

/** What a session does, in words, in the editor's language. */
export function sessionStateLabel(state: SessionState): string {
  switch (state) {
    case 'working':
      return vscode.l10n.t('Working');
    case 'waiting_permission':
      return vscode.l10n.t('Waiting for permission');
    case 'waiting_answer':
      return vscode.l10n.t('Waiting for input');
    case 'idle':
      return vscode.l10n.t('Idle');
    case 'interrupted':
      return vscode.l10n.t('Interrupted');
    case 'ended':
      return vscode.l10n.t('Ended');
  }
}

/** Since when a session has its status. */
function stateSince({ record, state }: ObservedSession): string {
  const gone = state === 'interrupted' || state === 'ended';
  return (gone ? record.died?.at : undefined) ?? record.phase_at;
}

/** A session's request, or its host where none is known, for people. */
export function requestOf(session: ObservedSession, max = 200): string {
  return plain(sessionTitle(session, max), max);
}

/** How many files a session changed, in words; empty where it changed none. */
function filesChanged({ record }: ObservedSession): string {
  const total = record.changes?.total ?? 0;
  if (total === 0) return '';
  return total === 1 ? vscode.l10n.t('1 file changed') : vscode.l10n.t('{0} files changed', total);
}

/** What stands beside a session's request: status with its age, host, and files. */
export function sessionDetails(session: ObservedSession, now: number): string {
  return detailsOf(session, `${sessionStateLabel(session.state)} (${ageOf(stateSince(session), now)})`);
}

function detailsOf(session: ObservedSession, status: string): string {
  const parts = [status, HOST_TITLES[session.ref.host], filesChanged(session)];
  return parts.filter((part) => part !== '').join(' · ');
}

function row(node: SessionNode, label: string, open?: 'expanded' | 'collapsed'): vscode.TreeItem {
  const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(label, open === undefined ? None : open === 'expanded' ? Expanded : Collapsed);
  item.id = sessionNodeId(node);
  return item;
}

/** The row of a session. */
export function sessionRow(
  node: SessionNode & { kind: 'session' },
  session: ObservedSession,
  now: number,
): vscode.TreeItem {
  const title = requestOf(session);
  // A narrow side bar cuts off what stands behind: what needs the user is said first, as of tasks.
  const needed = needsUser(session);
  const shown = row(node, needed ? vscode.l10n.t('{0}: {1}', sessionStateLabel(session.state), title) : title);
  shown.description = needed ? detailsOf(session, ageOf(stateSince(session), now)) : sessionDetails(session, now);
  shown.iconPath = themeIcon(LOOKS[session.state]);
  const isGone = session.state === 'interrupted' || session.state === 'ended';
  const isBound = session.record.bound !== undefined;
  shown.contextValue = [
    'session',
    session.state,
    ...(isGone ? ['gone'] : ['live']),
    ...(isBound || session.record.worktree === undefined ? [] : ['free']),
  ].join(' ');
  shown.command = { command: 'atlas.showSessionHookMd', title: vscode.l10n.t('Show HOOK.md'), arguments: [node] };
  shown.accessibilityInformation = { label: plain(`${title}, ${sessionDetails(session, now)}`, 500) };
  return shown;
}

/** The row of a repository, of a worktree, or of the sessions that are over. */
export function sessionGroupRow(
  node: SessionNode & { kind: 'repository' | 'worktree' | 'over' },
  sessions: readonly ObservedSession[],
): vscode.TreeItem {
  if (node.kind === 'over') {
    const shown = row(node, vscode.l10n.t('Ended'), 'collapsed');
    shown.description = String(sessions.filter(isOver).length);
    shown.iconPath = new vscode.ThemeIcon('archive');
    return shown;
  }
  const folder = node.kind === 'repository' ? node.repository : node.worktree;
  const shown = row(node, plain(basename(folder)), 'expanded');
  const waiting = sessions.filter(needsUser).length;
  if (waiting > 0) shown.description = needText(waiting);
  shown.iconPath = new vscode.ThemeIcon(node.kind === 'repository' ? 'repo' : 'folder');
  shown.tooltip = plain(folder, 1000);
  return shown;
}

/** The row that shows more of a long list. */
export function moreSessionsRow(node: SessionNode & { kind: 'more' }): vscode.TreeItem {
  const shown = row(node, vscode.l10n.t('Show {0} More…', node.left));
  shown.command = { command: 'atlas.showMoreSessions', title: vscode.l10n.t('Show More'), arguments: [node] };
  return shown;
}

/** How many sessions need the user, in words. */
export function needText(count: number): string {
  return count === 1 ? vscode.l10n.t('1 session needs you') : vscode.l10n.t('{0} sessions need you', count);
}

/** The Markdown of a session's tooltip. Texts from outside are escaped. */
export function sessionTooltip(session: ObservedSession): vscode.MarkdownString {
  const { record, ref, state } = session;
  const text = new vscode.MarkdownString(undefined, false);
  appendPlain(text, sessionTitle(session, 1000), 1000);
  text.appendMarkdown('\n\n');
  const line = tooltipLines(text);
  line(vscode.l10n.t('Agent'), HOST_TITLES[ref.host]);
  line(vscode.l10n.t('Status'), sessionStateLabel(state));
  line(vscode.l10n.t('Changed while it ran'), filesChanged(session));
  line(vscode.l10n.t('Latest request'), record.latest_request?.text);
  line(vscode.l10n.t('Worktree'), record.worktree ?? record.cwd);
  line(vscode.l10n.t('Started'), record.started_at);
  line(vscode.l10n.t('Last seen'), record.seen_at);
  line(vscode.l10n.t('Session'), ref.sessionId);
  return text;
}
