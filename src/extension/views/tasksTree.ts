import * as vscode from 'vscode';
import { explain } from '../../service/atlasReader';
import type { Catalog } from '../../service/catalog';
import { refKey, type TaskRef } from '../../storage/paths';
import type { Session, TaskView } from '../session';
import { setContext } from '../platform/contextKeys';
import type { TreeNode } from './nodes';
import { Pace } from './pace';
import type { Verdicts } from '../receipts/verdicts';
import { receiptRow, receiptTooltip } from './receiptRow';
import {
  checkpointRow,
  checkpointTooltip,
  damagedRow,
  eventRow,
  groupRow,
  stepRow,
  taskRow,
  taskTooltip,
} from './rows';

/** How many finished tasks are read and shown at once. */
const PAGE = 50;
/** How many history events are shown. */
const HISTORY_SHOWN = 200;

/** How the tasks of a workspace are ordered. */
export type TaskOrder = 'updated' | 'created' | 'title';

/** The Tasks tree: workspace → task → steps → checkpoints and receipts. Children are made when a row is opened. */
export class TasksTree implements vscode.TreeDataProvider<TreeNode>, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<TreeNode | undefined>();
  private readonly shown = new Map<string, number>();
  private readonly reads = new Map<string, ReturnType<Catalog['read']>>();
  private readonly views = new Map<string, TaskView>();
  private readonly lists = new Map<string, readonly TaskRef[]>();
  private readonly subscription: vscode.Disposable;
  private readonly pace = new Pace(() => this.changes.fire(undefined));
  private order: TaskOrder = 'updated';
  private all = false;
  readonly onDidChangeTreeData = this.changes.event;

  constructor(
    private readonly session: Session,
    private readonly verdicts: Verdicts,
  ) {
    const refresh = (): void => {
      this.refresh();
    };
    this.subscription = vscode.Disposable.from(session.onDidChange(refresh), verdicts.onDidChange(refresh));
  }

  /** Draws the tree again soon; several calls draw it once. */
  refresh(): void {
    this.pace.soon();
  }

  /** Orders the tasks. */
  sortBy(order: TaskOrder): void {
    this.order = order;
    this.refresh();
  }

  /** Shows the tasks of all workspaces, or of this window's. */
  showAll(all: boolean): void {
    this.all = all;
    setContext('atlas.showsAllWorkspaces', all);
    this.refresh();
  }

  /** Shows one page more of a workspace's finished tasks. */
  showMore(workspace: string): void {
    this.shown.set(workspace, (this.shown.get(workspace) ?? PAGE) + PAGE);
    this.refresh();
  }

  getChildren(node?: TreeNode): TreeNode[] {
    return node === undefined ? this.roots() : this.childrenOf(node);
  }

  /** A task as it is stored, looked at once for all the rows that are drawn without a pause: there may be thousands. */
  private read(ref: TaskRef): ReturnType<Catalog['read']> {
    const key = refKey(ref);
    const known = this.reads.get(key);
    if (known !== undefined) return known;
    this.forgetSoon();
    const read = this.session.atlas.catalog.read(ref);
    this.reads.set(key, read);
    return read;
  }

  private view(ref: TaskRef): TaskView | undefined {
    const key = refKey(ref);
    const known = this.views.get(key);
    if (known !== undefined) return known;
    this.forgetSoon();
    const view = this.session.view(ref);
    if (view !== undefined) this.views.set(key, view);
    return view;
  }

  /** The finished tasks of a workspace, listed once: ten thousand take fifteen milliseconds. */
  private finished(workspace: string): readonly TaskRef[] {
    const known = this.lists.get(workspace);
    if (known !== undefined) return known;
    this.forgetSoon();
    const refs = this.session.atlas.catalog.finished(workspace);
    this.lists.set(workspace, refs);
    return refs;
  }

  private forgetSoon(): void {
    if (this.reads.size + this.views.size + this.lists.size > 0) return;
    setImmediate(() => {
      this.reads.clear();
      this.views.clear();
      this.lists.clear();
    });
  }

  private roots(): TreeNode[] {
    const own = this.session.ownWorkspaces();
    const names = this.all ? this.session.atlas.workspaces.names() : own;
    const sorted = [...names].sort((a, b) => Number(own.includes(b)) - Number(own.includes(a)) || (a < b ? -1 : 1));
    const roots = sorted.flatMap((workspace): TreeNode[] => {
      const any = this.session.atlas.workspaces.taskIds(workspace).length > 0;
      return any ? [{ kind: 'workspace', workspace }] : [];
    });
    setContext('atlas.hasTask', roots.length > 0);
    setContext('atlas.hasOpenTask', this.session.ownTasks().length > 0);
    return roots;
  }

  private childrenOf(node: TreeNode): TreeNode[] {
    switch (node.kind) {
      case 'workspace':
        return this.tasksOf(node.workspace);
      case 'finished':
        return this.finishedOf(node.workspace);
      case 'task':
        return this.stepsOf(node.ref);
      case 'step':
        return this.recordsOf(node.ref, node.index);
      case 'history':
        return this.historyOf(node.ref);
      case 'checkpoint':
      case 'receipt':
      case 'event':
      case 'more':
        return [];
    }
  }

  private tasksOf(workspace: string): TreeNode[] {
    const { catalog } = this.session.atlas;
    const open = this.sorted(catalog.open(workspace));
    const tasks = open.map((ref): TreeNode => ({ kind: 'task', ref }));
    return this.finished(workspace).length > 0 ? [...tasks, { kind: 'finished', workspace }] : tasks;
  }

  private sorted(refs: readonly TaskRef[]): TaskRef[] {
    const key = (ref: TaskRef): string => {
      const read = this.read(ref);
      if (!read.ok) return '';
      if (this.order === 'title') return read.value.task.description.toLowerCase();
      return this.order === 'created' ? read.value.hook.created_at : read.value.hook.updated_at;
    };
    const keyed = refs.map((ref) => ({ ref, key: key(ref) }));
    keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
    if (this.order !== 'title') keyed.reverse();
    return keyed.map(({ ref }) => ref);
  }

  private finishedOf(workspace: string): TreeNode[] {
    const refs = this.finished(workspace);
    const shown = this.shown.get(workspace) ?? PAGE;
    const tasks = refs.slice(0, shown).map((ref): TreeNode => ({ kind: 'task', ref }));
    return refs.length > shown ? [...tasks, { kind: 'more', workspace, shown }] : tasks;
  }

  private stepsOf(ref: TaskRef): TreeNode[] {
    const view = this.view(ref);
    if (view === undefined) return [];
    const steps = view.stored.task.steps.map((_step, index): TreeNode => ({ kind: 'step', ref, index }));
    return [...steps, { kind: 'history', ref }];
  }

  /** A step's receipts and checkpoints, the newest first. */
  private recordsOf(ref: TaskRef, index: number): TreeNode[] {
    const read = this.read(ref);
    if (!read.ok) return [];
    const { hook, task } = read.value;
    const name = task.steps[index]?.name;
    const records = [
      ...hook.checkpoints
        .filter((checkpoint) => checkpoint.step_index === index)
        .map(({ checkpoint_id: id, created_at: at }) => ({ at, node: { kind: 'checkpoint', ref, id } as const })),
      ...hook.receipts
        .filter((receipt) => receipt.step_name === name)
        .map(({ receipt_id: id, completed_at: at }) => ({ at, node: { kind: 'receipt', ref, id } as const })),
    ];
    // Both lists are in order of time, and one that was made at once with another comes after it.
    return records
      .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
      .map(({ node }) => node)
      .reverse();
  }

  private historyOf(ref: TaskRef): TreeNode[] {
    const read = this.read(ref);
    if (!read.ok) return [];
    const events = read.value.hook.history.map((_event, index): TreeNode => ({ kind: 'event', ref, index }));
    return events.slice(-HISTORY_SHOWN).reverse();
  }

  getTreeItem(node: TreeNode): vscode.TreeItem {
    const now = this.session.atlas.ports.clock.now();
    switch (node.kind) {
      case 'workspace':
        return groupRow(node, { own: this.session.ownWorkspaces().includes(node.workspace) });
      case 'finished':
        return groupRow(node, { count: this.finished(node.workspace).length });
      case 'more':
        return groupRow(node, { count: this.finished(node.workspace).length - node.shown });
      case 'task':
        return this.taskItem(node, now);
      case 'step':
        return this.stepItem(node);
      case 'checkpoint':
      case 'receipt':
      case 'event':
      case 'history':
        return this.recordItem(node, now);
    }
  }

  private taskItem(node: TreeNode & { kind: 'task' }, now: number): vscode.TreeItem {
    const view = this.view(node.ref);
    if (view !== undefined) return taskRow(node, view, now);
    const read = this.read(node.ref);
    return damagedRow(node, read.ok ? refKey(node.ref) : explain(read.error));
  }

  private stepItem(node: TreeNode & { kind: 'step' }): vscode.TreeItem {
    const view = this.view(node.ref);
    const step = view?.stored.task.steps[node.index];
    if (view === undefined || step === undefined) return new vscode.TreeItem('');
    return stepRow(node, view, step, this.recordsOf(node.ref, node.index).length);
  }

  private recordItem(
    node: TreeNode & { kind: 'checkpoint' | 'receipt' | 'event' | 'history' },
    now: number,
  ): vscode.TreeItem {
    const read = this.read(node.ref);
    if (!read.ok) return new vscode.TreeItem('');
    const { hook } = read.value;
    if (node.kind === 'history') return groupRow(node, { count: hook.history.length });
    if (node.kind === 'event') {
      const event = hook.history[node.index];
      return event === undefined ? new vscode.TreeItem('') : eventRow(node, event, now);
    }
    if (node.kind === 'receipt') {
      const receipt = hook.receipts.find((item) => item.receipt_id === node.id);
      if (receipt === undefined) return new vscode.TreeItem('');
      return receiptRow(node, receipt, this.verdicts.of(read.value).get(node.id));
    }
    const checkpoint = hook.checkpoints.find((item) => item.checkpoint_id === node.id);
    return checkpoint === undefined ? new vscode.TreeItem('') : checkpointRow(node, checkpoint, now);
  }

  resolveTreeItem(item: vscode.TreeItem, node: TreeNode): vscode.TreeItem {
    if (node.kind === 'task') {
      const view = this.view(node.ref);
      if (view !== undefined) item.tooltip = taskTooltip(view);
    } else if (node.kind === 'checkpoint') {
      const read = this.read(node.ref);
      const checkpoint = read.ok
        ? read.value.hook.checkpoints.find((each) => each.checkpoint_id === node.id)
        : undefined;
      if (checkpoint !== undefined) item.tooltip = checkpointTooltip(checkpoint);
    } else if (node.kind === 'receipt') {
      const read = this.read(node.ref);
      const receipt = read.ok ? read.value.hook.receipts.find((each) => each.receipt_id === node.id) : undefined;
      if (read.ok && receipt !== undefined)
        item.tooltip = receiptTooltip(receipt, this.verdicts.of(read.value).get(node.id));
    }
    return item;
  }

  dispose(): void {
    this.pace.dispose();
    this.subscription.dispose();
    this.changes.dispose();
  }
}
