import * as vscode from 'vscode';
import { Slices } from '../../../system/slices';
import { BoundCommands } from '../boundCommands';
import { RowAsks } from './rowAsks';

/** How many rows of a long list are shown at once. */
const PAGE = 50;
/** How long rows are made or compared before others get a turn, in ms. */
const SLICE_MS = 10;

interface Drawn<N> {
  readonly node: N;
  /** The row that it is below; none at the top. */
  parent?: string | undefined;
  children?: readonly string[];
  /** What was drawn of it, as text. */
  look?: string;
  /** Whether it can be opened. */
  opens?: boolean;
}

/** The answers about a row that are made before the editor asks, each of which is given once. */
interface Ready<N> {
  item?: vscode.TreeItem | undefined;
  below?: N[] | undefined;
}

/**
 * A tree view that has only those rows drawn again that are others now: while a list is drawn again, an editor as old as
 * 1.104 knows its rows no more, and calls the command of a row's button without the row. A tree says what its rows are;
 * what was drawn of them, which to draw again, tooltips and pages are the same for all trees.
 */
export abstract class RowTree<N> implements vscode.TreeDataProvider<N>, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<N[] | undefined>();
  /** By id; a row is the same object as long as it is there. */
  private readonly drawn = new Map<string, Drawn<N>>();
  private readonly shown = new Map<string, number>();
  private top: readonly string[] | undefined;
  private comparisons = 0;
  /** One comparison at a time: each goes by what the one before it had drawn. */
  private turn = Promise.resolve();
  /** The editor asks for all rows of a list at once, and there may be a thousand. */
  private readonly slices = new Slices(SLICE_MS);
  private slice = Promise.resolve();
  private ready = new Map<string, Ready<N>>();
  /** Of which comparison what is ready is. */
  private readyAt = 0;
  private readonly asks = new RowAsks((ids) => this.drawUnasked(ids));
  /** What is to be drawn again, and the editor hasn't begun to: the ids of what it knew below each. */
  private readonly fired = new Map<string, readonly string[]>();
  private readonly commands = new BoundCommands();
  readonly onDidChangeTreeData = this.changes.event;

  /** @param idOf a stable id: a row stays open and selected by it */
  constructor(private readonly idOf: (node: N) => string) {}

  /** The rows below one, or those at the top. */
  protected abstract childrenOf(node: N | undefined): N[] | Promise<N[]>;
  protected abstract rowOf(node: N): vscode.TreeItem | Promise<vscode.TreeItem>;
  /** A row's tooltip where it is made when somebody asks for it. */
  protected abstract tooltipOf(node: N): vscode.MarkdownString | undefined;

  /** What a row stands for beside what is drawn of it; when that is another, it is drawn again with all below it. */
  protected versionOf(node: N): unknown {
    return this.tooltipOf(node)?.value;
  }

  async getChildren(parent?: N): Promise<N[]> {
    const id = parent === undefined ? undefined : this.idOf(parent);
    if (id !== undefined) this.asks.asked(id);
    return this.asks.answer(id, async (isStale) => {
      const ready = parent === undefined ? undefined : this.take(parent, 'below');
      const comparisons = ready === undefined ? this.comparisons : this.readyAt;
      const nodes = ready ?? (await this.childrenOf(parent));
      if (isStale()) return [];
      const kept = this.remember(parent, nodes);
      // What was read may be older than the last look at it.
      if (comparisons !== this.comparisons) void this.redraw();
      return kept;
    });
  }

  async getTreeItem(node: N): Promise<vscode.TreeItem> {
    const id = this.idOf(node);
    const below = this.fired.get(id);
    this.fired.delete(id);
    if (below !== undefined)
      for (const stale of this.asks.begun(new Set([id, ...below]))) delete this.drawn.get(stale)?.children;
    return this.asks.answer(below !== undefined ? undefined : this.drawn.get(id)?.parent, async (isStale) => {
      const ready = this.take(node, 'item');
      if (ready === undefined) await (this.slice = this.slice.then(async () => this.slices.turn()));
      const comparisons = ready === undefined ? this.comparisons : this.readyAt;
      const item = ready ?? (await this.rowOf(node));
      // The editor leaves out a row without an answer.
      if (isStale()) return undefined as unknown as vscode.TreeItem;
      const kept = this.kept(node);
      kept.look = this.lookOf(node, item);
      kept.opens = (item.collapsibleState ?? 0) !== vscode.TreeItemCollapsibleState.None;
      if (comparisons !== this.comparisons) void this.redraw();
      this.bindCommand(item);
      return item;
    });
  }

  /** Our commands are drawn without their argument, which the editor drops before it has drawn the row again. */
  private bindCommand(item: vscode.TreeItem): void {
    const { command = '', title = '' } = item.command ?? {};
    const argument: unknown = item.command?.arguments?.[0];
    if (!command.startsWith('atlas.') || typeof argument !== 'object' || argument === null) return;
    item.command = { command: this.commands.idOf(command, argument), title };
  }

  resolveTreeItem(item: vscode.TreeItem, node: N): vscode.TreeItem {
    const tooltip = this.tooltipOf(node);
    if (tooltip !== undefined) item.tooltip = tooltip;
    return item;
  }

  /** Shows one page more of a long list. */
  showMore(...list: readonly string[]): void {
    this.shown.set(list.join('\n'), this.shownOf(...list) + PAGE);
    void this.redraw();
  }

  /** How many rows of a long list are shown. */
  protected shownOf(...list: readonly string[]): number {
    return this.shown.get(list.join('\n')) ?? PAGE;
  }

  private lookOf(node: N, item: vscode.TreeItem): string {
    return JSON.stringify([item, this.versionOf(node)]);
  }

  private kept(node: N): Drawn<N> {
    const id = this.idOf(node);
    const known = this.drawn.get(id) ?? { node };
    this.drawn.set(id, known);
    return known;
  }

  /** @returns the rows, each as the object that it was before */
  private remember(parent: N | undefined, nodes: readonly N[]): N[] {
    const rows = nodes.map((node) => this.kept(node));
    const ids = nodes.map((node) => this.idOf(node));
    const before = parent === undefined ? this.top : this.kept(parent).children;
    if (parent === undefined) this.top = ids;
    else this.kept(parent).children = ids;
    for (const row of rows) row.parent = parent === undefined ? undefined : this.idOf(parent);
    const there = new Set(ids);
    for (const id of before ?? []) if (!there.has(id)) this.forget(id);
    return rows.map(({ node }) => node);
  }

  /** @returns the ids of the row and of all below it */
  private forget(id: string): string[] {
    const gone = this.drawn.get(id);
    this.drawn.delete(id);
    return [id, ...(gone?.children ?? []).flatMap((child) => this.forget(child))];
  }

  /**
   * Has the editor draw what is another than when it asked.
   * @param concerns which rows may be others, and rows below them; others are not compared
   */
  async redraw(concerns: (node: N) => boolean = () => true): Promise<void> {
    this.comparisons += 1;
    const last = this.turn;
    this.turn = (async () => {
      await last;
      this.ready = new Map();
      this.readyAt = this.comparisons;
      try {
        await this.compare(concerns);
      } catch {
        // The editor asks for all of them, and shows what is wrong.
        this.drawAll();
      }
    })();
    await this.turn;
  }

  private async compare(concerns: (node: N) => boolean): Promise<void> {
    if (this.top === undefined) return; // it has not asked yet
    if (await this.hasOtherChildren(undefined, this.top)) {
      this.drawAll();
      return;
    }
    const slices = new Slices(SLICE_MS);
    const others = await this.othersAmong(this.top, concerns, slices);
    for (const { node } of others) await this.prepare(node, slices);
    await this.asks.idle();
    this.drawAgain(others.filter((other) => this.drawn.get(this.idOf(other.node)) === other));
  }

  /** Makes the answers about a row and those below it that are to be seen: rows aren't known while the editor asks. */
  private async prepare(node: N, slices: Slices): Promise<void> {
    const id = this.idOf(node);
    await slices.turn();
    const item = await this.rowOf(node);
    const below = this.drawn.get(id)?.children === undefined ? undefined : await this.childrenOf(node);
    this.ready.set(id, { item, below });
    for (const child of below ?? []) await this.prepare(child, slices);
  }

  private take<K extends keyof Ready<N>>(node: N, key: K): Ready<N>[K] {
    const answers = this.ready.get(this.idOf(node));
    const answer = answers?.[key];
    delete answers?.[key];
    return answer;
  }

  /** The editor asks again for these, and for what is below them as soon as that is to be seen. */
  private drawAgain(others: readonly Drawn<N>[]): void {
    for (const other of others) {
      const id = this.idOf(other.node);
      const below = (other.children ?? []).flatMap((child) => this.forget(child));
      this.asks.drawnAgain(other.children === undefined ? below : [id, ...below]);
      this.fired.set(id, [...(this.fired.get(id) ?? []), ...below]);
      delete other.children;
      delete other.look;
    }
    if (others.length > 0) this.changes.fire(others.map(({ node }) => node));
  }

  /** Rows that may have been opened unseen are drawn once more: of those that are open, the editor asks what is below. */
  private drawUnasked(ids: readonly string[]): void {
    const rows = ids.map((id) => this.drawn.get(id)).filter((row) => row !== undefined);
    this.drawAgain(rows.filter(({ opens, look, children }) => opens && look !== undefined && children === undefined));
  }

  /** Has the editor ask for all of them, when they are to be seen. */
  protected drawAll(): void {
    this.asks.drawnAgain(this.drawn.keys());
    this.top = undefined;
    this.drawn.clear();
    this.fired.clear();
    this.changes.fire(undefined);
  }

  private async hasOtherChildren(parent: N | undefined, before: readonly string[]): Promise<boolean> {
    const now = await this.childrenOf(parent);
    return now.length !== before.length || now.some((node, index) => this.idOf(node) !== before[index]);
  }

  /** The highest rows among these and below them that are others now. */
  private async othersAmong(
    ids: readonly string[],
    concerns: (node: N) => boolean,
    slices: Slices,
  ): Promise<Drawn<N>[]> {
    const others: Drawn<N>[] = [];
    for (const id of ids) {
      const drawn = this.drawn.get(id);
      if (drawn === undefined || !concerns(drawn.node)) continue;
      await slices.turn();
      const { children } = drawn;
      if (await this.isOther(drawn)) others.push(drawn);
      else if (children !== undefined) others.push(...(await this.othersAmong(children, concerns, slices)));
    }
    return others;
  }

  private async isOther({ node, children, look }: Drawn<N>): Promise<boolean> {
    if (look !== undefined && look !== this.lookOf(node, await this.rowOf(node))) return true;
    return children !== undefined && (await this.hasOtherChildren(node, children));
  }

  dispose(): void {
    this.asks.dispose();
    this.commands.dispose();
    this.changes.dispose();
  }
}
