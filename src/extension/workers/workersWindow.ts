import * as vscode from 'vscode';
import type { ForgeSigns } from './forgeSigns';
import { needsHuman } from './tree/outline';
import { WorkersModel, type WorkersSession } from './workersModel';
import { WorkersTree } from './tree/workersTree';

/** The workers in a window: their view, and the badge with those that need a human. */
export class WorkersWindow implements vscode.Disposable {
  readonly model: WorkersModel;
  readonly tree: WorkersTree;
  private readonly view: vscode.TreeView<unknown>;
  private readonly parts: vscode.Disposable;

  constructor(
    session: WorkersSession,
    signs: ForgeSigns,
    /** What is remembered of this window's folder. */
    readonly memory: vscode.Memento,
  ) {
    this.model = new WorkersModel(session, signs);
    this.tree = new WorkersTree(this.model);
    this.view = vscode.window.createTreeView('atlas.workers', { treeDataProvider: this.tree, showCollapseAll: true });
    this.model.show(this.view.visible);
    this.parts = vscode.Disposable.from(
      this.model.onDidLook(() => {
        this.showBadge();
      }),
      this.view.onDidChangeVisibility(({ visible }) => {
        this.model.show(visible);
      }),
      this.view,
      this.tree,
      this.model,
    );
  }

  private showBadge(): void {
    const waiting = this.model
      .all()
      .flatMap(({ status }) => (status.ok ? status.value.workers.filter(needsHuman) : [])).length;
    this.view.badge =
      waiting === 0 ? undefined : { value: waiting, tooltip: vscode.l10n.t('Workers that need you: {0}', waiting) };
  }

  dispose(): void {
    this.parts.dispose();
  }
}
