import * as vscode from 'vscode';

/** What a tree says of its rows. */
export interface RowSource<N> {
  /** The rows below one, or those at the top. */
  childrenOf(node: N | undefined): N[] | Promise<N[]>;
  rowOf(node: N): vscode.TreeItem | Promise<vscode.TreeItem>;
  /** What a row's tooltip is made of when somebody asks for it. */
  hintOf(node: N): unknown;
  /** A stable id: a row stays open and selected by it. */
  idOf(node: N): string;
}

interface Drawn<N> {
  readonly node: N;
  children?: readonly string[];
  /** What was drawn of it, as text. */
  look?: string;
}

/**
 * The rows that the editor was given. It is asked to draw only those again that are others now: while a list is drawn
 * again, an editor as old as 1.104 knows its rows no more, and calls the command of a row's button without the row.
 */
export class TreeDiffer<N> implements vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<N[] | undefined>();
  /** By id; a row is the same object as long as it is there. */
  private readonly drawn = new Map<string, Drawn<N>>();
  private top: readonly string[] | undefined;
  private looks = 0;
  /** One comparison at a time: each goes by what the one before it had drawn. */
  private turn = Promise.resolve();
  readonly onDidChange = this.changes.event;

  constructor(private readonly source: RowSource<N>) {}

  /** The rows below one, for the editor. */
  async children(parent: N | undefined): Promise<N[]> {
    const { looks } = this;
    const nodes = (await this.source.childrenOf(parent)).map((node) => this.kept(node).node);
    this.remember(
      parent,
      nodes.map((node) => this.source.idOf(node)),
    );
    // What was read may be older than the last look at it.
    if (looks !== this.looks) void this.redraw();
    return nodes;
  }

  /** A row, for the editor. */
  async row(node: N): Promise<vscode.TreeItem> {
    const { looks } = this;
    const row = await this.source.rowOf(node);
    this.kept(node).look = this.lookOf(node, row);
    if (looks !== this.looks) void this.redraw();
    return row;
  }

  private lookOf(node: N, row: vscode.TreeItem): string {
    return JSON.stringify([row, this.source.hintOf(node)]);
  }

  private kept(node: N): Drawn<N> {
    const id = this.source.idOf(node);
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

  /** Has the editor draw what is another than when it asked. */
  async redraw(): Promise<void> {
    this.looks += 1;
    const last = this.turn;
    this.turn = (async () => {
      await last;
      try {
        await this.compare();
      } catch {
        // The editor asks for all of them, and shows what is wrong.
        this.drawAll();
      }
    })();
    await this.turn;
  }

  private async compare(): Promise<void> {
    if (this.top === undefined) return; // it has not asked yet
    if (await this.hasOtherChildren(undefined, this.top)) {
      this.drawAll();
      return;
    }
    const others = await this.othersAmong(this.top);
    // The editor asks again for them, and for what is below them as soon as that is to be seen.
    for (const other of others) {
      for (const child of other.children ?? []) this.forget(child);
      delete other.children;
      delete other.look;
    }
    if (others.length > 0) this.changes.fire(others.map(({ node }) => node));
  }

  /** Has the editor ask for all of them, when they are to be seen. */
  drawAll(): void {
    this.top = undefined;
    this.drawn.clear();
    this.changes.fire(undefined);
  }

  private async hasOtherChildren(parent: N | undefined, before: readonly string[]): Promise<boolean> {
    const now = await this.source.childrenOf(parent);
    return now.length !== before.length || now.some((node, index) => this.source.idOf(node) !== before[index]);
  }

  /** The highest rows among these and below them that are others now. */
  private async othersAmong(ids: readonly string[]): Promise<Drawn<N>[]> {
    const others: Drawn<N>[] = [];
    for (const id of ids) {
      const drawn = this.drawn.get(id);
      if (drawn === undefined) continue;
      const { node, children, look } = drawn;
      const isOther =
        (look !== undefined && look !== this.lookOf(node, await this.source.rowOf(node))) ||
        (children !== undefined && (await this.hasOtherChildren(node, children)));
      if (isOther) others.push(drawn);
      else if (children !== undefined) others.push(...(await this.othersAmong(children)));
    }
    return others;
  }

  dispose(): void {
    this.changes.dispose();
  }
}
