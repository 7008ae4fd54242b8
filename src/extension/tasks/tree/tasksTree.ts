import * as vscode from 'vscode';
import { refKey, type TaskRef } from '../../../core/task/taskRef';
import { type TaskRecord, isInFlight } from '../../../core/task/taskRecord';
import type { ListedCheckpoint } from '../../../core/snapshot/snapshotEntry';
import { type Ranked, byUrgency, needsPerson } from '../../../core/task/urgency';
import { type TaskView, type WindowTasks, rankedView } from '../../windowTasks';
import { setContext } from '../../shared/contextKeys';
import { type TreeNode, nodeId } from './nodes';
import { RefreshThrottle } from '../../shared/refreshThrottle';
import { RowTree } from '../../shared/tree/rowTree';
import { TaskSnapshotCache } from './taskSnapshotCache';
import type { ReceiptStatus, Verdicts } from '../../receipts/verdicts';
import type * as treeRows from './treeRows';

type Rows = typeof treeRows;

/** How many history events are shown. */
const HISTORY_SHOWN = 200;

/** So many tasks that need a person show their steps without a click; of more, the steps would push some out of sight. */
const OPENED = 2;

/** How the tasks of a workspace are ordered. */
export type TaskOrder = 'urgency' | 'updated' | 'created' | 'title';

/** The Tasks tree: workspace → task → steps → checkpoints and receipts. Children are made when a row is opened. */
export class TasksTree extends RowTree<TreeNode> {
  private changed: Map<string, TaskRef> | 'all' = new Map();
  private readonly looks: TaskSnapshotCache;
  private readonly subscription: vscode.Disposable;
  private readonly pace = new RefreshThrottle(() => this.draw());
  private order: TaskOrder = 'urgency';
  private all = false;
  private onlyNeeding = false;
  /** How rows look, loaded when the first one is to be drawn: a window whose tree is hidden never needs it. */
  private rows: Rows | undefined;

  constructor(
    private readonly session: WindowTasks,
    private readonly verdicts: Verdicts,
  ) {
    super(nodeId);
    this.looks = new TaskSnapshotCache(session);
    const refresh = (ref: TaskRef | undefined): void => this.refresh(ref);
    this.subscription = vscode.Disposable.from(session.onDidChange(refresh), verdicts.onDidChange(refresh));
  }

  /** Draws what is another now soon, of a task or without a name of all; several calls draw once. */
  refresh(ref?: TaskRef): void {
    if (ref === undefined) this.changed = 'all';
    else if (this.changed !== 'all') this.changed.set(refKey(ref), ref);
    this.pace.soon();
  }

  private draw(): void {
    const { changed } = this;
    this.changed = new Map();
    if (changed === 'all') {
      void this.redraw();
      return;
    }
    const workspaces = new Set([...changed.values()].map(({ workspace }) => workspace));
    void this.redraw((node) => {
      if ('ref' in node) return changed.has(refKey(node.ref));
      return node.kind === 'needsYou' || workspaces.has(node.workspace);
    });
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

  private workspaces(): TreeNode[] {
    const own = this.session.ownWorkspaces();
    const names = this.all ? this.session.atlas.workspaces.names() : own;
    const sorted = [...names].sort((a, b) => Number(own.includes(b)) - Number(own.includes(a)) || (a < b ? -1 : 1));
    const open = new Set(this.session.atlas.catalog.open().map(({ workspace }) => workspace));
    const used = sorted.filter((name) => open.has(name) || this.session.atlas.workspaces.taskIds(name).length > 0);
    setContext('atlas.hasTask', used.length > 0);
    return used.map((workspace) => ({ kind: 'workspace', workspace }));
  }

  /** In a window of several workspaces, what needs a person comes first, wherever it is. */
  private topRows(): TreeNode[] {
    const workspaces = this.workspaces();
    return this.isGrouped(workspaces.length) && this.needingAcross().length > 0
      ? [{ kind: 'needsYou' }, ...workspaces]
      : workspaces;
  }

  private isGrouped(workspaces: number): boolean {
    return workspaces > 1 && !this.onlyNeeding && this.order === 'urgency';
  }

  /** The tasks that need a person in all workspaces of this window, the most urgent first. */
  private needingAcross(): TaskRef[] {
    const own = this.session.ownWorkspaces();
    return this.sorted(own.flatMap((workspace) => this.looks.open(workspace)).filter((ref) => this.needs(ref)));
  }

  protected override async childrenOf(node: TreeNode | undefined): Promise<TreeNode[]> {
    await this.loadRows();
    switch (node?.kind) {
      case undefined:
        return this.topRows();
      case 'needsYou':
        return this.needingAcross().map((ref) => ({ kind: 'task', ref }));
      case 'workspace':
        return this.tasksOf(node.workspace);
      case 'finished':
        return this.finishedOf(node.workspace);
      case 'task':
        return this.stepsOf(node.ref);
      case 'step':
        return this.recordsOf(node.ref, node.index);
      case 'points':
        return this.pointsOf(node.ref);
      case 'history':
        return this.historyOf(node.ref);
      case 'checkpoint':
      case 'receipt':
      case 'event':
      case 'more':
        return [];
    }
  }

  /** Shows only the tasks that need a person, or all. */
  showOnlyNeedsYou(only: boolean): void {
    this.onlyNeeding = only;
    setContext('atlas.showsOnlyNeedsYou', only);
    this.refresh();
  }

  private tasksOf(workspace: string): TreeNode[] {
    const open = this.looks.open(workspace);
    const elsewhere = this.isGrouped(this.workspaces().length) && this.session.ownWorkspaces().includes(workspace);
    const shown = this.onlyNeeding || elsewhere ? open.filter((ref) => this.needs(ref) === this.onlyNeeding) : open;
    const tasks = this.sorted(shown).map((ref): TreeNode => ({ kind: 'task', ref }));
    const hasFinished = !this.onlyNeeding && this.looks.finished(workspace).length > 0;
    return hasFinished ? [...tasks, { kind: 'finished', workspace }] : tasks;
  }

  /** A task that can't be read needs somebody too. */
  private needs(ref: TaskRef): boolean {
    const ranked = this.ranked(ref);
    return ranked === undefined || needsPerson(ranked);
  }

  /** How a task is ranked; only one at work can be doing otherwise than its state says. */
  private ranked(ref: TaskRef): Ranked | undefined {
    const read = this.looks.read(ref);
    if (!read.ok) return undefined;
    const { hook } = read.value;
    return isInFlight(hook.state) ? { hook, health: this.looks.view(ref)?.diagnosis.kind } : { hook };
  }

  private sorted(refs: readonly TaskRef[]): TaskRef[] {
    if (this.order === 'urgency') {
      const ranked = refs.map((ref) => ({ ref, ranked: this.ranked(ref) }));
      // What can't be read is damaged, and comes first.
      return ranked
        .sort((a, b) => {
          if (a.ranked === undefined || b.ranked === undefined)
            return Number(a.ranked !== undefined) - Number(b.ranked !== undefined);
          return byUrgency(a.ranked, b.ranked);
        })
        .map(({ ref }) => ref);
    }
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
    const shown = this.shownOf(workspace);
    const tasks = refs.slice(0, shown).map((ref): TreeNode => ({ kind: 'task', ref }));
    return refs.length > shown ? [...tasks, { kind: 'more', workspace, shown }] : tasks;
  }

  private stepsOf(ref: TaskRef): TreeNode[] {
    const view = this.looks.view(ref);
    if (view === undefined) return [];
    const steps = view.stored.task.steps.map((_step, index): TreeNode => ({ kind: 'step', ref, index }));
    const points: TreeNode[] = this.pointsOf(ref).length > 0 ? [{ kind: 'points', ref }] : [];
    return [...steps, ...points, { kind: 'history', ref }];
  }

  /** The restore points of a task, the newest first. */
  private pointsOf(ref: TaskRef): TreeNode[] {
    return this.listed(ref)
      .filter(({ trigger }) => trigger === 'auto')
      .map(({ id }): TreeNode => ({ kind: 'checkpoint', ref, id }))
      .reverse();
  }

  /** The checkpoints and restore points of a task. */
  private listed(ref: TaskRef): readonly ListedCheckpoint[] {
    const hook = this.hookOf(ref);
    const { rows } = this;
    if (hook === undefined || rows === undefined) return [];
    return this.looks.once(`files ${refKey(ref)}`, () => rows.listFiles(this.session.atlas.ports, ref, hook));
  }

  private async loadRows(): Promise<Rows> {
    return (this.rows ??= await import('./treeRows'));
  }

  /** A step's receipts and checkpoints, the newest first; of periodic checkpoints only the last, which stands for all. */
  private recordsOf(ref: TaskRef, index: number): TreeNode[] {
    const read = this.looks.read(ref);
    if (!read.ok) return [];
    const { hook, task } = read.value;
    const name = task.steps[index]?.name;
    const own = hook.checkpoints.filter((checkpoint) => checkpoint.step_index === index);
    const lastPeriodic = own.findLast(({ trigger }) => trigger === 'interval');
    const records = [
      ...own
        .filter((checkpoint) => checkpoint.trigger !== 'interval' || checkpoint === lastPeriodic)
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
    const events = (this.hookOf(ref)?.history ?? []).map((_event, index): TreeNode => ({ kind: 'event', ref, index }));
    return events.slice(-HISTORY_SHOWN).reverse();
  }

  protected override async rowOf(node: TreeNode): Promise<vscode.TreeItem> {
    const rows = await this.loadRows();
    const now = this.session.atlas.ports.clock.now();
    switch (node.kind) {
      case 'needsYou':
        return rows.groupRow(node, { count: this.needingAcross().length, own: true });
      case 'workspace':
        return rows.groupRow(node, { own: this.session.ownWorkspaces().includes(node.workspace) });
      case 'finished':
        return rows.groupRow(node, { count: this.looks.finished(node.workspace).length });
      case 'more':
        return rows.groupRow(node, { count: this.looks.finished(node.workspace).length - node.shown });
      case 'task':
        return this.taskItem(rows, node, now);
      case 'step':
        return this.stepItem(rows, node);
      case 'checkpoint':
      case 'receipt':
      case 'event':
      case 'points':
      case 'history':
        return this.recordItem(rows, node, now);
    }
  }

  private taskItem(rows: Rows, node: TreeNode & { kind: 'task' }, now: number): vscode.TreeItem {
    const view = this.looks.view(node.ref);
    if (view !== undefined) return rows.taskRow(node, view, now, this.isOpened(view));
    const read = this.looks.read(node.ref);
    return rows.damagedRow(node, read.ok ? undefined : read.error);
  }

  /** Whether a task's steps show without a click: of few that need a person, the current one, or the only one. */
  private isOpened({ stored: { ref } }: TaskView): boolean {
    const needing = this.looks.ranked().filter((each) => needsPerson(rankedView(each)));
    if (needing.length > 0 && needing.length <= OPENED && this.needs(ref)) return true;
    const [first] = this.looks.ranked();
    return (
      (first !== undefined && refKey(first.stored.ref) === refKey(ref)) || this.looks.open(ref.workspace).length === 1
    );
  }

  private stepItem(rows: Rows, node: TreeNode & { kind: 'step' }): vscode.TreeItem {
    const view = this.looks.view(node.ref);
    const step = view?.stored.task.steps[node.index];
    if (view === undefined || step === undefined) return new vscode.TreeItem('');
    return rows.stepRow(node, view, step, this.recordsOf(node.ref, node.index).length);
  }

  private recordItem(
    rows: Rows,
    node: TreeNode & { kind: 'checkpoint' | 'receipt' | 'event' | 'history' | 'points' },
    now: number,
  ): vscode.TreeItem {
    const hook = this.hookOf(node.ref);
    if (hook === undefined) return new vscode.TreeItem('');
    switch (node.kind) {
      case 'points':
        return rows.groupRow(node, {
          count: this.pointsOf(node.ref).length,
          more: rows.diskText(this.session.atlas.ports.paths.snapshotDatabases, this.listed(node.ref)),
        });
      case 'history':
        return rows.groupRow(node, { count: hook.history.length });
      case 'event': {
        const event = hook.history[node.index];
        const activity = rows.activityOf(hook, node.index);
        if (event === undefined || activity === undefined) return new vscode.TreeItem('');
        return rows.eventRow(node, activity, event, now);
      }
      case 'receipt': {
        const receipt = hook.receipts.find((item) => item.receipt_id === node.id);
        return receipt === undefined ? new vscode.TreeItem('') : rows.receiptRow(node, receipt, this.statusOf(node));
      }
      case 'checkpoint': {
        const listed = this.listed(node.ref).find(({ id }) => id === node.id);
        return listed === undefined ? new vscode.TreeItem('') : rows.checkpointRow(node, listed, hook, now);
      }
    }
  }

  private hookOf(ref: TaskRef): TaskRecord | undefined {
    const read = this.looks.read(ref);
    return read.ok ? read.value.hook : undefined;
  }

  private statusOf({ ref, id }: TreeNode & { kind: 'receipt' }): ReceiptStatus | undefined {
    const read = this.looks.read(ref);
    return read.ok ? this.verdicts.of(read.value).get(id) : undefined;
  }

  protected override tooltipOf(node: TreeNode): vscode.MarkdownString | undefined {
    switch (node.kind) {
      case 'task': {
        const view = this.looks.view(node.ref);
        return view === undefined ? undefined : this.rows?.taskTooltip(view, this.session.atlas.ports.clock.now());
      }
      case 'checkpoint': {
        const listed = this.listed(node.ref).find(({ id }) => id === node.id);
        return listed === undefined ? undefined : this.rows?.checkpointTooltip(listed);
      }
      case 'receipt': {
        const receipt = this.hookOf(node.ref)?.receipts.find((each) => each.receipt_id === node.id);
        return receipt === undefined ? undefined : this.rows?.receiptTooltip(receipt, this.statusOf(node));
      }
      default:
        return undefined;
    }
  }

  /**
   * A change of a task draws its row with all below it: a step that gets its first children is a row of another id, which
   * the editor takes from the row above only.
   */
  protected override versionOf(node: TreeNode): unknown {
    if (node.kind === 'task') return [this.hookOf(node.ref)?.updated_at, this.tooltipOf(node)?.value];
    // What a receipt or a checkpoint says never changes, and there may be thousands.
    return node.kind === 'receipt' ? this.statusOf(node) : undefined;
  }

  override dispose(): void {
    this.pace.dispose();
    this.subscription.dispose();
    super.dispose();
  }
}
