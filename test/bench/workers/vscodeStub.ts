/*
 * What the tree needs of the editor's API, for measuring it in a process of its own: rows are made and thrown away. Names
 * are those of `vscode`, which the build of the bench replaces by this file.
 */
type Listener<T> = (value: T) => void;

/** Unsubscribes. */
export class Disposable {
  static from(...all: readonly { dispose(): unknown }[]): Disposable {
    return new Disposable(() => {
      for (const each of all) each.dispose();
    });
  }

  constructor(readonly dispose: () => void) {}
}

/** Calls its listeners at once, as the editor's does. */
export class EventEmitter<T> {
  private readonly listeners = new Set<Listener<T>>();

  readonly event = (listener: Listener<T>): Disposable => {
    this.listeners.add(listener);
    return new Disposable(() => this.listeners.delete(listener));
  };

  fire(value: T): void {
    for (const listener of this.listeners) listener(value);
  }

  dispose(): void {
    this.listeners.clear();
  }
}

/** A row. */
export class TreeItem {
  constructor(
    readonly label: unknown,
    readonly collapsibleState: number,
  ) {}
}

/** An icon or colour by name. */
export class ThemeIcon {
  constructor(
    readonly id: string,
    readonly color?: unknown,
  ) {}
}
export { ThemeIcon as ThemeColor };

/** Text that is only collected. */
export class MarkdownString {
  value = '';

  appendText(text: string): this {
    this.value += text;
    return this;
  }

  appendMarkdown(text: string): this {
    this.value += text;
    return this;
  }
}

export const TreeItemCollapsibleState = { None: 0, Collapsed: 1, Expanded: 2 };
export const workspace = { isTrusted: true };
const registered = new Map<string, (...args: unknown[]) => unknown>();
export const commands = {
  registerCommand: (id: string, run: (...args: unknown[]) => unknown) => {
    registered.set(id, run);
    return { dispose: () => registered.delete(id) };
  },
  executeCommand: async (id: string, ...args: unknown[]): Promise<unknown> =>
    Promise.resolve(registered.get(id)?.(...args)),
};
export const l10n = {
  t: (text: string, ...values: readonly unknown[]): string =>
    text.replace(/\{(\d+)\}/g, (_match, index: string) => String(values[Number(index)])),
};
