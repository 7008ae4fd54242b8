import * as vscode from 'vscode';
import type { WindowTasks } from '../windowTasks';
import { InboxModel } from './inboxModel';
import { InboxTree } from './inboxTree';
import { type WakeActions, WakeOffers } from './wakeOffers';

/** The inbox in a window. */
export interface InboxWindow {
  readonly model: InboxModel;
  readonly tree: InboxTree;
}

/** Opens a window's inbox and looks for the first time: its view, the badge with what is pending, and the offers to resume sessions. */
export async function openInbox(session: WindowTasks, extension: vscode.ExtensionContext): Promise<InboxWindow> {
  const model = new InboxModel(session, await session.atlas.inbox());
  const tree = new InboxTree(model);
  const view = vscode.window.createTreeView('atlas.inbox', { treeDataProvider: tree, showCollapseAll: true });
  const badge = model.onDidLook(() => {
    const value = model.open().filter(({ item }) => item.status === 'pending').length;
    const tooltip = vscode.l10n.t('Pending items in the agent queue: {0}', value);
    view.badge = value === 0 ? undefined : { value, tooltip };
  });
  const offers = new WakeOffers(model, extension.workspaceState, ACTIONS);
  extension.subscriptions.push(vscode.Disposable.from(badge, offers, view, tree, model));
  model.look();
  return { model, tree };
}

/** The commands, so that whatever fails is shown as with them. */
const ACTIONS: WakeActions = {
  resume: async (session) => {
    await vscode.commands.executeCommand('atlas.resumeSession', session);
  },
  show: (item) => void vscode.commands.executeCommand('atlas.showInboxItem', item),
  showAll: () => void vscode.commands.executeCommand('atlas.inbox.focus'),
};
