import * as vscode from 'vscode';
import type { ForgeSigns } from './forgeSigns';
import { needsHuman } from './tree/outline';
import { WorkersModel, type WorkersSession } from './workersModel';
import { WorkersTree } from './tree/workersTree';

/** The workers in a window. */
export interface WorkersWindow {
  readonly model: WorkersModel;
  readonly tree: WorkersTree;
  /** What is remembered of this window's folder. */
  readonly memory: vscode.Memento;
  readonly parts: vscode.Disposable;
}

/** Makes the view of the workers, and its badge with those that need a human. */
export function makeWindow(session: WorkersSession, signs: ForgeSigns, memory: vscode.Memento): WorkersWindow {
  const model = new WorkersModel(session, signs);
  const tree = new WorkersTree(model);
  const view = vscode.window.createTreeView('atlas.workers', { treeDataProvider: tree, showCollapseAll: true });
  model.show(view.visible);
  const badge = model.onDidLook(() => {
    const found = model.all().flatMap(({ status }) => (status.ok ? status.value.workers : []));
    const value = found.filter(needsHuman).length;
    const tooltip = vscode.l10n.t('Workers that need you: {0}', value);
    view.badge = value === 0 ? undefined : { value, tooltip };
  });
  const visibility = view.onDidChangeVisibility(({ visible }) => model.show(visible));
  const parts = vscode.Disposable.from(badge, visibility, view, tree, model);
  return { model, tree, memory, parts };
}
