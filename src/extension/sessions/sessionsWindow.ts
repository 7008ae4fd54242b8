import * as vscode from 'vscode';
import { hookStart, hookStarts } from '../../agents/install/hookStart';
import { trackedSessions } from '../../agents/sessions/trackedSessions';
import { messageOf } from '../../core/shared/errors';
import type { ObservedSession, SessionService } from '../../service/sessions/sessionService';
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
 * @param launcher the file that starts this version's `atlas`
 */
export function makeSessionsWindow(session: WindowTasks, memory: vscode.Memento, launcher: string): SessionsWindow {
  const service = trackedSessions(session.atlas);
  renewScript(session, service, launcher);
  const model = new SessionsModel(session, service);
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

/** After an update, the script that hooks run is still the old version's: what the user set up once keeps working. */
function renewScript({ atlas }: WindowTasks, { spool }: SessionService, launcher: string): void {
  const command = [launcher];
  try {
    if (spool.isOpen && spool.faults(hookStarts(command)).length > 0) spool.repair(hookStart(process.env, command));
  } catch (error) {
    atlas.ports.log.warn('The script that hooks run could not be renewed.', { error: messageOf(error) });
  }
}

function attentionOf(first: ObservedSession, count: number, now: number): Attention {
  return {
    count,
    text: `${sessionStateLabel(first.state)}: ${requestOf(first, 30)}`,
    tooltip: `${needText(count)}. ${requestOf(first)}: ${sessionDetails(first, now)}`,
    interrupted: first.state === 'interrupted',
  };
}
