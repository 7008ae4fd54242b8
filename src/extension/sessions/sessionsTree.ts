import * as vscode from 'vscode';
import { RowTree } from '../shared/tree/rowTree';
import { type SessionNode, inWorktree, repositoryOf, sessionNodeId, sessionRows } from './outline';
import { moreSessionsRow, sessionGroupRow, sessionRow, sessionTooltip } from './sessionRowTexts';
import type { SessionsModel } from './sessionsModel';

/** The Sessions view: repository, worktree where there are several, sessions by urgency, and those that are over, folded. */
export class SessionsTree extends RowTree<SessionNode> {
  private readonly subscription: vscode.Disposable;

  constructor(private readonly model: SessionsModel) {
    super(sessionNodeId);
    this.subscription = model.onDidLook(() => void this.redraw());
  }

  protected override childrenOf(node: SessionNode | undefined): SessionNode[] {
    return sessionRows(this.model.all(), node, (worktree) => this.shownOf(worktree));
  }

  protected override rowOf(node: SessionNode): vscode.TreeItem {
    switch (node.kind) {
      case 'session': {
        const session = this.model.find(node);
        return session === undefined ? new vscode.TreeItem('') : sessionRow(node, session, this.model.now);
      }
      case 'repository': {
        const own = this.model.all().filter((session) => repositoryOf(session) === node.repository);
        return sessionGroupRow(node, own);
      }
      case 'worktree':
      case 'over':
        return sessionGroupRow(node, inWorktree(this.model.all(), node.repository, node.worktree));
      case 'more':
        return moreSessionsRow(node);
    }
  }

  protected override tooltipOf(node: SessionNode): vscode.MarkdownString | undefined {
    const session = node.kind === 'session' ? this.model.find(node) : undefined;
    return session === undefined ? undefined : sessionTooltip(session);
  }

  override dispose(): void {
    this.subscription.dispose();
    super.dispose();
  }
}
