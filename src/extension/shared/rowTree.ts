import * as vscode from 'vscode';
import { Slices } from '../../system/slices';

/** How many rows of a long list are shown at once. */
const PAGE = 50;
/** How long rows are made or compared before others get a turn, in ms. */
const SLICE_MS = 10;

interface Drawn<N> {
  readonly node: N;
  children?: readonly string[];
  /** What was drawn of it, as text. */
  look?: string;
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
    const { comparisons } = this;
    const nodes = (await this.childrenOf(parent)).map((node) => this.kept(node).node);
    this.remember(
      parent,
      nodes.map((node) => this.idOf(node)),
    );
    // What was read may be older than the last look at it.
    if (comparisons !== this.comparisons) void this.redraw();
    return nodes;
  }

  async getTreeItem(node: N): Promise<vscode.TreeItem> {
    await (this.slice = this.slice.then(async () => this.slices.turn()));
    const { comparisons } = this;
    const item = await this.rowOf(node);
    this.kept(node).look = this.lookOf(node, item);
    if (comparisons !== this.comparisons) void this.redraw();
    return item;
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

  private remember(parent: N | undefined, ids: readonly string[]): void {
    const before = parent === undefined ? this.top : this.kept(parent).children;
    if (parent === undefined) this.top = ids;
    else this.kept(parent).children = ids;
    const there = new Set(ids);
    for (const id of before ?? []) if (!there.has(id)) this.forget(id);
  }

  private forget(id: string): void {
    const gone = this.drawn.get(id);
    this.drawn.delete(id);
    for (const child of gone?.children ?? []) this.forget(child);
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
    const others = await this.othersAmong(this.top, concerns, new Slices(SLICE_MS));
    // The editor asks again for them, and for what is below them as soon as that is to be seen.
    for (const other of others) {
      for (const child of other.children ?? []) this.forget(child);
      delete other.children;
      delete other.look;
    }
    if (others.length > 0) this.changes.fire(others.map(({ node }) => node));
  }

  /** Has the editor ask for all of them, when they are to be seen. */
  protected drawAll(): void {
    this.top = undefined;
    this.drawn.clear();
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
    this.changes.dispose();
  }
}
