import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as vscode from 'vscode';
import { RowTree } from '../../../src/extension/shared/tree/rowTree';

vi.mock('vscode', async () => import('../../bench/workers/vscodeStub'));

/** Rows by name: what they say, and what is below them. */
class Rows extends RowTree<string> {
  readonly below = new Map<string, string[]>([
    ['', ['a', 'b']],
    ['a', ['a1', 'a2']],
    ['b', ['b1']],
  ]);
  readonly text = new Map<string, string>();
  readonly hint = new Map<string, string>();
  readonly read: string[] = [];
  /** What a row waits for. */
  gate: Promise<void> | undefined;

  constructor() {
    super((node) => node);
  }

  protected override childrenOf(node: string | undefined): string[] {
    return this.below.get(node ?? '') ?? [];
  }

  protected override async rowOf(node: string): Promise<vscode.TreeItem> {
    this.read.push(node);
    await this.gate;
    const item = new vscode.TreeItem(this.text.get(node) ?? node);
    if (this.below.has(node)) item.collapsibleState = vscode.TreeItemCollapsibleState.Collapsed;
    item.command = { command: 'atlas.show', title: 'Show', arguments: [{ node }] };
    return item;
  }

  protected override tooltipOf(node: string): vscode.MarkdownString | undefined {
    const text = new vscode.MarkdownString();
    text.appendText(this.hint.get(node) ?? '');
    return text;
  }

  /** All rows below one are asked for, as by an editor in which they are all open. */
  async ask(node?: string): Promise<void> {
    if (node !== undefined) await this.getTreeItem(node);
    for (const child of await this.getChildren(node)) await this.ask(child);
  }
}

describe('the rows of a tree that are drawn again', () => {
  let rows: Rows;
  let drawn: (string[] | undefined)[];

  beforeEach(async () => {
    rows = new Rows();
    drawn = [];
    rows.onDidChangeTreeData((nodes) => drawn.push(nodes));
    await rows.ask();
  });

  it('are none where nothing is another, and all of them where one at the top is', async () => {
    await rows.redraw();
    expect(drawn).toEqual([]);
    rows.below.set('', ['b', 'a']);
    await rows.redraw();
    expect(drawn).toEqual([undefined]);
  });

  it('are those whose text or tooltip is another, such as an age, together and once', async () => {
    rows.text.set('a2', '2 min');
    rows.hint.set('b1', 'more');
    await rows.redraw();
    expect(drawn).toEqual([['a2', 'b1']]);
    await rows.redraw();
    expect(drawn).toHaveLength(1);
  });

  it('are the highest: what is below them is asked for again', async () => {
    rows.below.set('a', ['a2']);
    rows.text.set('a2', 'other');
    await rows.redraw();
    expect(drawn).toEqual([['a']]);
  });

  it('are not looked for beside what is named', async () => {
    rows.text.set('a2', 'other');
    rows.text.set('b', 'other');
    rows.read.length = 0;
    await rows.redraw((node) => node.startsWith('b'));
    expect(drawn).toEqual([['b']]);
    expect(new Set(rows.read)).toEqual(new Set(['b', 'b1']));
    await rows.redraw();
    expect(drawn).toEqual([['b'], ['a2']]);
  });

  it('are none that nobody has asked for', async () => {
    const closed = new Rows();
    closed.onDidChangeTreeData((nodes) => drawn.push(nodes));
    await closed.redraw();
    await closed.getChildren();
    closed.text.set('a1', 'other');
    closed.below.set('b', []);
    await closed.redraw();
    expect(drawn).toEqual([]);
  });

  it('are all of them when one can no longer be read: the editor shows why', async () => {
    rows.below.get = () => {
      throw new Error('gone');
    };
    await rows.redraw();
    expect(drawn).toEqual([undefined]);
  });

  it('are those again that changed while they were read', async () => {
    const read = rows.getChildren('a');
    const compared = rows.redraw();
    rows.below.set('a', ['a3']);
    await Promise.all([read, compared]);
    await rows.redraw();
    expect(drawn).toEqual([['a']]);
  });
});

/* An editor as old as 1.104 drops a command's arguments before it has drawn the row again, and a click says "not found". */
it('the command of a row works as it was drawn, however often the row is drawn again', async () => {
  const show = vi.fn();
  const registered = vscode.commands.registerCommand('atlas.show', show);
  const rows = new Rows();
  await rows.ask();
  const { command: before } = await rows.getTreeItem('a1');
  rows.text.set('a1', 'other');
  await rows.redraw();
  const { command: after } = await rows.getTreeItem('a1');
  for (const command of [before, after]) {
    expect(command?.arguments).toBeUndefined();
    await vscode.commands.executeCommand(command?.command ?? '');
  }
  expect(after).toEqual(before);
  expect(show.mock.calls).toEqual([[{ node: 'a1' }], [{ node: 'a1' }]]);
  rows.dispose();
  registered.dispose();
});

/** Lets go on whatever waits for nothing but its turn. */
async function pending(): Promise<void> {
  for (let turns = 0; turns < 10; turns += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets pass the time after which the editor has stopped asking. */
async function rest(): Promise<void> {
  await pending();
  await vi.runAllTimersAsync();
  await pending();
}

/* What an editor as old as 1.104 does not tell: it knows no row below one that it draws again. */
describe('a row that is opened while the one above it is drawn again', () => {
  let rows: Rows;
  let drawn: (string[] | undefined)[];

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    rows = new Rows();
    rows.below.set('a1', ['a1x']);
    rows.below.set('a2', ['a2x']);
    drawn = [];
    rows.onDidChangeTreeData((nodes) => drawn.push(nodes));
    // a2 is closed.
    await Promise.all([
      (async () => {
        await rows.getChildren();
        await rows.getTreeItem('a');
        for (const node of await rows.getChildren('a')) await rows.getTreeItem(node);
        await rows.getChildren('a1');
      })(),
      vi.runAllTimersAsync(),
    ]);
    rows.text.set('a', 'other');
    await Promise.all([rows.redraw(), rest()]);
    expect(drawn).toEqual([['a']]);
  });

  afterEach(() => {
    rows.dispose();
    vi.useRealTimers();
  });

  /** A row that waits, and what has it go on. */
  async function slow(node: string): Promise<{ asked: Promise<vscode.TreeItem>; answer: () => void }> {
    let answer = (): void => undefined;
    rows.gate = new Promise((resolve) => (answer = resolve));
    const asked = rows.getTreeItem(node);
    await pending();
    rows.gate = undefined;
    return { asked, answer };
  }

  it('is drawn once more, as the editor may hold it for empty; once, and only what it has not asked for', async () => {
    await rows.getTreeItem('a');
    for (const node of await rows.getChildren('a')) await rows.getTreeItem(node);
    await rows.getChildren('a1');
    await rest();
    expect(drawn).toEqual([['a'], ['a2']]);
    await rows.getTreeItem('a2');
    await rest();
    expect(drawn).toHaveLength(2);
  });

  it('has no answer that was under way, which would be about a row that is gone; then it is asked for again', async () => {
    await rows.getChildren('a2');
    const { asked, answer } = await slow('a2x');
    await rows.getTreeItem('a');
    answer();
    expect(await asked).toBeUndefined();
    for (const node of await rows.getChildren('a')) await rows.getTreeItem(node);
    await rows.getChildren('a1');
    await rest();
    expect(drawn).toEqual([['a'], ['a2']]);
    expect(await rows.getChildren('a2')).toEqual(['a2x']);
  });

  it('has its answers while another one, which changed with the row above it, is drawn again', async () => {
    await Promise.all([rows.ask(), rest()]);
    rows.text.set('a', 'another');
    rows.text.set('b', 'another');
    await Promise.all([rows.redraw(), rest()]);
    expect(drawn.at(-1)).toEqual(['a', 'b']);
    await rows.getTreeItem('a');
    for (const node of await rows.getChildren('a')) await rows.getTreeItem(node);
    rows.text.set('a2', 'slow');
    const { asked, answer } = await slow('a2');
    await rows.getTreeItem('b');
    answer();
    expect(await asked).toMatchObject({ label: 'slow' });
  });

  it('is not drawn again while the editor waits for an answer', async () => {
    await rows.getTreeItem('a');
    for (const node of await rows.getChildren('a')) await rows.getTreeItem(node);
    await rows.getChildren('a1');
    await rest();
    drawn.length = 0;
    const { asked, answer } = await slow('a2');
    rows.text.set('a', 'another');
    const compared = rows.redraw();
    await pending();
    await vi.advanceTimersByTimeAsync(1000);
    expect(drawn).toEqual([]);
    answer();
    await rest();
    await Promise.all([asked, compared]);
    expect(drawn[0]).toEqual(['a']);
  });
});
