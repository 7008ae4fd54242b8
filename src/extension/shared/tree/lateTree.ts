import * as vscode from 'vscode';
import { lazy } from '../../../core/shared/lazy';
import type { RowTree } from './rowTree';

/** A tree that is loaded when its view or a command first asks: a window whose view stays hidden never needs it. */
export class LateTree<N, T extends RowTree<N>> implements vscode.TreeDataProvider<N>, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<N[] | undefined>();
  private loaded: T | undefined;
  readonly onDidChangeTreeData = this.changes.event;

  /** @param load makes the tree; called once */
  constructor(private readonly load: () => Promise<T>) {}

  /** The tree itself. */
  readonly tree = lazy(async () => {
    const tree = await this.load();
    this.loaded = tree;
    tree.onDidChangeTreeData((nodes) => this.changes.fire(nodes));
    return tree;
  });

  async getChildren(parent?: N): Promise<N[]> {
    return (await this.tree()).getChildren(parent);
  }

  async getTreeItem(node: N): Promise<vscode.TreeItem> {
    return (await this.tree()).getTreeItem(node);
  }

  resolveTreeItem(item: vscode.TreeItem, node: N): vscode.TreeItem {
    return this.loaded?.resolveTreeItem(item, node) ?? item;
  }

  dispose(): void {
    this.loaded?.dispose();
    this.changes.dispose();
  }
}
