import * as vscode from 'vscode';
import type { WindowTasks } from '../windowTasks';
import { InboxModel } from './inboxModel';
import { InboxTree } from './inboxTree';
import { type WakeActions, WakeOffers } from './wakeOffers';

/** The inbox in a window: its view, the badge with what is pending, and the offers to resume sessions. */
export class InboxWindow implements vscode.Disposable {
  readonly model: InboxModel;
  readonly tree: InboxTree;
  private readonly view: vscode.TreeView<unknown>;
  private readonly parts: vscode.Disposable;

  constructor(model: InboxModel, memory: vscode.Memento) {
    this.model = model;
    this.tree = new InboxTree(model);
    this.view = vscode.window.createTreeView('atlas.inbox', { treeDataProvider: this.tree, showCollapseAll: true });
    const badge = model.onDidLook(() => {
      this.showBadge();
    });
    const offers = new WakeOffers(model, memory, ACTIONS);
    this.parts = vscode.Disposable.from(badge, offers, this.view, this.tree, model);
  }

  private showBadge(): void {
    const pending = this.model.open().filter(({ item }) => item.status === 'pending').length;
    this.view.badge =
      pending === 0
        ? undefined
        : { value: pending, tooltip: vscode.l10n.t('Pending items in the agent queue: {0}', pending) };
  }

  dispose(): void {
    this.parts.dispose();
  }
}

/** Opens a window's inbox and looks for the first time; the window disposes of it. */
export async function openInbox(session: WindowTasks, extension: vscode.ExtensionContext): Promise<InboxWindow> {
  const model = new InboxModel(session, await session.atlas.inbox());
  const window = new InboxWindow(model, extension.workspaceState);
  extension.subscriptions.push(window);
  model.look();
  return window;
}

/** The commands, so that whatever fails is shown as with them. */
const ACTIONS: WakeActions = {
  resume: async (session) => {
    await vscode.commands.executeCommand('atlas.resumeSession', session);
  },
  show: (item) => {
    void vscode.commands.executeCommand('atlas.showInboxItem', item);
  },
  showAll: () => {
    void vscode.commands.executeCommand('atlas.inbox.focus');
  },
};
