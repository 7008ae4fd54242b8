import * as vscode from 'vscode';
import { explain } from '../../../core/shared/errors';
import { refKey, type TaskRef } from '../../../core/task/taskRef';
import type { WindowTasks } from '../../windowTasks';
import { setContext } from '../../shared/contextKeys';
import { type TreeNode, nodeId } from './nodes';
import { RefreshThrottle } from '../../shared/refreshThrottle';
import { TaskSnapshotCache } from './taskSnapshotCache';
import type { Verdicts } from '../../receipts/verdicts';
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

/** So many open tasks of a workspace show their steps without a click. */
const OPENED = 10;

/** How the tasks of a workspace are ordered. */
export type TaskOrder = 'updated' | 'created' | 'title';

/** The Tasks tree: workspace → task → steps → checkpoints and receipts. Children are made when a row is opened. */
export class TasksTree implements vscode.TreeDataProvider<TreeNode>, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<TreeNode[] | undefined>();
  /** The rows of workspaces and tasks, each the same object every time: the editor finds a row again by it. */
  private readonly nodes = new Map<string, TreeNode>();
  private roots: readonly string[] = [];
  /** The open tasks of a workspace in the order in which they were last asked for. */
  private readonly orders = new Map<string, readonly string[]>();
  private changed: Map<string, TaskRef> | 'all' = new Map();
  private readonly shown = new Map<string, number>();
  private readonly looks: TaskSnapshotCache;
  private readonly subscription: vscode.Disposable;
  private readonly pace = new RefreshThrottle(() => this.draw());
  private order: TaskOrder = 'updated';
  private all = false;
  readonly onDidChangeTreeData = this.changes.event;

  constructor(
    private readonly session: WindowTasks,
    private readonly verdicts: Verdicts,
  ) {
    this.looks = new TaskSnapshotCache(session);
    const refresh = (ref: TaskRef | undefined): void => {
      this.refresh(ref);
    };
    this.subscription = vscode.Disposable.from(session.onDidChange(refresh), verdicts.onDidChange(refresh));
  }

  /** Draws the rows of a task again soon, or without a name all; several calls draw them once. */
  refresh(ref?: TaskRef): void {
    if (ref === undefined) this.changed = 'all';
    else if (this.changed !== 'all') this.changed.set(refKey(ref), ref);
    this.pace.soon();
  }

  /** Has the editor ask for what may be another: for a row and all open rows below it, which a hundred tasks make slow. */
  private draw(): void {
    const { changed } = this;
    this.changed = new Map();
    const rows = changed === 'all' ? undefined : this.changedRows([...changed.values()]);
    if (rows === undefined) this.changes.fire(undefined);
    else if (rows.length > 0) this.changes.fire(rows);
    this.setHasOpenTask();
  }

  /** The highest rows that are others now; `undefined` when a workspace may have come or gone. */
  private changedRows(refs: readonly TaskRef[]): TreeNode[] | undefined {
    const moved = new Set<string>();
    for (const workspace of new Set(refs.map((ref) => ref.workspace))) {
      if (!this.roots.includes(workspace)) {
        if (this.all || this.session.ownWorkspaces().includes(workspace)) return undefined;
        continue;
      }
      const before = this.orders.get(workspace);
      if (before === undefined) continue; // nobody has opened it
      const order = this.openOf(workspace).map(refKey);
      if (order.length === 0) return undefined;
      if (order.join() !== before.join()) moved.add(workspace);
    }
    const tasks = refs.filter((ref) => this.roots.includes(ref.workspace) && !moved.has(ref.workspace));
    return [...[...moved].map((name) => this.workspaceNode(name)), ...tasks.map((ref) => this.taskNode(ref))];
  }

  private setHasOpenTask(): void {
    const open = this.session.ownWorkspaces().flatMap((workspace) => this.session.atlas.catalog.open(workspace));
    setContext('atlas.hasOpenTask', open.length > 0);
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
    return node === undefined ? this.workspaces() : this.childrenOf(node);
  }

  private workspaces(): TreeNode[] {
    const own = this.session.ownWorkspaces();
    const names = this.all ? this.session.atlas.workspaces.names() : own;
    const sorted = [...names].sort((a, b) => Number(own.includes(b)) - Number(own.includes(a)) || (a < b ? -1 : 1));
    this.roots = sorted.filter((workspace) => this.session.atlas.workspaces.taskIds(workspace).length > 0);
    setContext('atlas.hasTask', this.roots.length > 0);
    this.setHasOpenTask();
    return this.roots.map((workspace) => this.workspaceNode(workspace));
  }

  private workspaceNode(workspace: string): TreeNode {
    return this.node({ kind: 'workspace', workspace });
  }

  private taskNode(ref: TaskRef): TreeNode {
    return this.node({ kind: 'task', ref });
  }

  private node(fresh: TreeNode): TreeNode {
    const id = nodeId(fresh);
    const known = this.nodes.get(id);
    if (known === undefined) this.nodes.set(id, fresh);
    return known ?? fresh;
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
    const open = this.openOf(workspace);
    this.orders.set(workspace, open.map(refKey));
    const tasks = open.map((ref) => this.taskNode(ref));
    return this.looks.finished(workspace).length > 0 ? [...tasks, { kind: 'finished', workspace }] : tasks;
  }

  private openOf(workspace: string): TaskRef[] {
    return this.sorted(this.session.atlas.catalog.open(workspace));
  }

  private sorted(refs: readonly TaskRef[]): TaskRef[] {
    const key = (ref: TaskRef): string => {
      const read = this.looks.read(ref);
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
    const refs = this.looks.finished(workspace);
    const shown = this.shown.get(workspace) ?? PAGE;
    const tasks = refs.slice(0, shown).map((ref) => this.taskNode(ref));
    return refs.length > shown ? [...tasks, { kind: 'more', workspace, shown }] : tasks;
  }

  private stepsOf(ref: TaskRef): TreeNode[] {
    const view = this.looks.view(ref);
    if (view === undefined) return [];
    const steps = view.stored.task.steps.map((_step, index): TreeNode => ({ kind: 'step', ref, index }));
    return [...steps, { kind: 'history', ref }];
  }

  /** A step's receipts and checkpoints, the newest first. */
  private recordsOf(ref: TaskRef, index: number): TreeNode[] {
    const read = this.looks.read(ref);
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
    const read = this.looks.read(ref);
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
        return groupRow(node, { count: this.looks.finished(node.workspace).length });
      case 'more':
        return groupRow(node, { count: this.looks.finished(node.workspace).length - node.shown });
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
    const view = this.looks.view(node.ref);
    if (view !== undefined) return taskRow(node, view, now, this.areFew(node.ref));
    const read = this.looks.read(node.ref);
    return damagedRow(node, read.ok ? refKey(node.ref) : explain(read.error));
  }

  /** Whether few enough tasks are open that also those show their steps that only wait. */
  private areFew({ workspace }: TaskRef): boolean {
    return (this.orders.get(workspace)?.length ?? 0) <= OPENED;
  }

  private stepItem(node: TreeNode & { kind: 'step' }): vscode.TreeItem {
    const view = this.looks.view(node.ref);
    const step = view?.stored.task.steps[node.index];
    if (view === undefined || step === undefined) return new vscode.TreeItem('');
    return stepRow(node, view, step, this.recordsOf(node.ref, node.index).length);
  }

  private recordItem(
    node: TreeNode & { kind: 'checkpoint' | 'receipt' | 'event' | 'history' },
    now: number,
  ): vscode.TreeItem {
    const read = this.looks.read(node.ref);
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
      const view = this.looks.view(node.ref);
      if (view !== undefined) item.tooltip = taskTooltip(view);
    } else if (node.kind === 'checkpoint') {
      const read = this.looks.read(node.ref);
      const checkpoint = read.ok
        ? read.value.hook.checkpoints.find((each) => each.checkpoint_id === node.id)
        : undefined;
      if (checkpoint !== undefined) item.tooltip = checkpointTooltip(checkpoint);
    } else if (node.kind === 'receipt') {
      const read = this.looks.read(node.ref);
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
