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

/** Opens a window's inbox and looks for the first time: its view and the offers to resume sessions. */
export async function openInbox(session: WindowTasks, extension: vscode.ExtensionContext): Promise<InboxWindow> {
  const model = new InboxModel(session, await session.atlas.inbox());
  const tree = new InboxTree(model);
  const view = vscode.window.createTreeView('atlas.inbox', { treeDataProvider: tree, showCollapseAll: true });
  const offers = new WakeOffers(model, extension.workspaceState, ACTIONS);
  extension.subscriptions.push(vscode.Disposable.from(offers, view, tree, model));
  await model.look();
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
