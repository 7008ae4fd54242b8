import * as vscode from 'vscode';
import { trackedSessions } from '../../agents/sessions/trackedSessions';
import type { ObservedSession } from '../../service/sessions/sessionService';
import { needText, requestOf, sessionDetails, sessionStateLabel } from './sessionRowTexts';
import { SessionNotices } from './sessionNotices';
import { SessionsModel } from './sessionsModel';
import { SessionsTree } from './sessionsTree';
import type { Attention, WindowTasks } from '../windowTasks';

/** The sessions in a window. */
export interface SessionsWindow {
  readonly model: SessionsModel;
  readonly tree: SessionsTree;
  readonly parts: vscode.Disposable;
}

/**
 * Makes the view of the sessions, its badge with those that wait for the user, and what is told of them.
 * @param memory of this user: what was told once isn't told again
 */
export function makeSessionsWindow(session: WindowTasks, memory: vscode.Memento): SessionsWindow {
  const model = new SessionsModel(session, trackedSessions(session.atlas));
  const tree = new SessionsTree(model);
  const view = vscode.window.createTreeView('atlas.sessions', { treeDataProvider: tree, showCollapseAll: true });
  const notices = new SessionNotices(model, memory);
  const shown = model.onDidLook(() => {
    const waiting = model.waiting();
    const value = waiting.length;
    view.badge = value === 0 ? undefined : { value, tooltip: needText(value) };
    const [first] = waiting;
    const attention = first === undefined ? undefined : attentionOf(first, value, model.now);
    if (JSON.stringify(attention) !== JSON.stringify(session.attention)) session.attend(attention);
    notices.tell();
  });
  return { model, tree, parts: vscode.Disposable.from(shown, notices, view, tree, model) };
}

function attentionOf(first: ObservedSession, count: number, now: number): Attention {
  return {
    count,
    text: `${sessionStateLabel(first.state)}: ${requestOf(first, 30)}`,
    tooltip: `${needText(count)}. ${requestOf(first)}: ${sessionDetails(first, now)}`,
    interrupted: first.state === 'interrupted',
  };
}
