import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { AtlasError } from '../../core/shared/errors';
import type { InboxItem } from '../../core/inbox/inbox';
import { RowTree } from '../shared/tree/rowTree';
import type { InboxModel } from './inboxModel';
import { type InboxNode, damagedRow, groupRow, itemRow, itemTooltip, nodeId } from './inboxRows';

/** The Inbox view: workspace → what is in progress, what is pending, what can't be read, and what is finished, folded. */
export class InboxTree extends RowTree<InboxNode> {
  /** Open items as they are shown, by what was read. */
  private readonly orders = new WeakMap<readonly InboxItem[], readonly InboxItem[]>();
  private readonly subscription: vscode.Disposable;

  constructor(private readonly model: InboxModel) {
    super(nodeId);
    this.subscription = model.onDidLook(() => void this.redraw());
  }

  protected override childrenOf(node: InboxNode | undefined): InboxNode[] {
    if (node === undefined) return this.model.workspaces().map((workspace) => ({ kind: 'workspace', workspace }));
    if (node.kind === 'workspace') return this.openOf(node.workspace);
    return node.kind === 'finished' ? this.finishedOf(node.workspace) : [];
  }

  private openOf(workspace: string): InboxNode[] {
    const list = this.model.list(workspace);
    if (list === undefined) return [];
    if (!list.ok) return [{ kind: 'damaged', workspace, name: workspace }];
    const { findings, finishedTotal } = list.value;
    const items = this.inOrder(workspace);
    const shown = this.shownOf(workspace, 'open');
    return [
      ...items.slice(0, shown).map(({ id }): InboxNode => ({ kind: 'item', workspace, id, ended: false })),
      ...more(workspace, 'open', shown, items.length),
      ...findings.map(({ path }): InboxNode => ({ kind: 'damaged', workspace, name: basename(path) })),
      ...(finishedTotal > 0 ? [{ kind: 'finished', workspace } as const] : []),
    ];
  }

  /** What is in progress first, each by number. */
  private inOrder(workspace: string): readonly InboxItem[] {
    const list = this.model.list(workspace);
    if (list?.ok !== true) return [];
    const { open } = list.value;
    const known = this.orders.get(open);
    if (known !== undefined) return known;
    const order = [
      ...open.filter(({ status }) => status === 'processing'),
      ...open.filter(({ status }) => status !== 'processing'),
    ];
    this.orders.set(open, order);
    return order;
  }

  private finishedOf(workspace: string): InboxNode[] {
    const shown = this.shownOf(workspace, 'finished');
    const read = this.model.finished(workspace, shown);
    if (!read.ok) return [];
    const { items, findings, total } = read.value;
    return [
      ...items.map(({ id }): InboxNode => ({ kind: 'item', workspace, id, ended: true })),
      ...findings.map(({ path }): InboxNode => ({ kind: 'damaged', workspace, name: finishedName(path) })),
      ...more(workspace, 'finished', shown, total),
    ];
  }

  protected override rowOf(node: InboxNode): vscode.TreeItem {
    switch (node.kind) {
      case 'item': {
        const item = this.itemOf(node);
        const now = this.model.session.atlas.ports.clock.now();
        return item === undefined ? new vscode.TreeItem('') : itemRow(node, item, now);
      }
      case 'damaged': {
        const error = this.errorOf(node);
        return error === undefined ? new vscode.TreeItem('') : damagedRow(node, error);
      }
      case 'workspace':
        return groupRow(node, this.inOrder(node.workspace).filter(({ status }) => status === 'pending').length);
      case 'finished':
        return groupRow(node, this.totalOf(node.workspace));
      case 'more': {
        const total = node.of === 'open' ? this.inOrder(node.workspace).length : this.totalOf(node.workspace);
        return groupRow(node, total - node.shown);
      }
    }
  }

  private totalOf(workspace: string): number {
    const list = this.model.list(workspace);
    return list?.ok === true ? list.value.finishedTotal : 0;
  }

  private itemOf({ workspace, id, ended }: InboxNode & { kind: 'item' }): InboxItem | undefined {
    if (!ended) return this.inOrder(workspace).find((item) => item.id === id);
    const read = this.model.finished(workspace, this.shownOf(workspace, 'finished'));
    return read.ok ? read.value.items.find((item) => item.id === id) : undefined;
  }

  private errorOf({ workspace, name }: InboxNode & { kind: 'damaged' }): AtlasError | undefined {
    const list = this.model.list(workspace);
    if (list === undefined || !list.ok) return list?.error;
    const open = list.value.findings.find(({ path }) => basename(path) === name);
    if (open !== undefined) return open.error;
    const ended = this.model.finished(workspace, this.shownOf(workspace, 'finished'));
    return ended.ok ? ended.value.findings.find(({ path }) => finishedName(path) === name)?.error : undefined;
  }

  protected override tooltipOf(node: InboxNode): vscode.MarkdownString | undefined {
    const item = node.kind === 'item' ? this.itemOf(node) : undefined;
    return item === undefined ? undefined : itemTooltip(item);
  }

  override dispose(): void {
    this.subscription.dispose();
    super.dispose();
  }
}

function finishedName(path: string): string {
  return `finished/${basename(path)}`;
}

function more(workspace: string, of: 'open' | 'finished', shown: number, total: number): InboxNode[] {
  return total > shown ? [{ kind: 'more', workspace, of, shown }] : [];
}
