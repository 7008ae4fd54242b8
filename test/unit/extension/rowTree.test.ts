import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as vscode from 'vscode';
import { RowTree } from '../../../src/extension/shared/rowTree';

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

  constructor() {
    super((node) => node);
  }

  protected override childrenOf(node: string | undefined): string[] {
    return this.below.get(node ?? '') ?? [];
  }

  protected override rowOf(node: string): vscode.TreeItem {
    this.read.push(node);
    return new vscode.TreeItem(this.text.get(node) ?? node);
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
    expect(rows.read).toEqual(['b']);
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
