import type { TaskRef } from '../../core/task/taskRef';
import * as vscode from 'vscode';
import { AtlasError, type Result, messageOf } from '../../core/shared/errors';
import type { Logger } from '../../core/shared/ports';
import { type FromPanel, type PanelMessage, type Parser, panelStateSchema } from '../../protocol/panel';
import { type WebviewName, webviewPage, webviewRoot } from './webviewPage';

/** The answer to a request for something that the page was never shown. */
export const NOT_SHOWN: Result<void> = {
  ok: false,
  error: new AtlasError('not_found', 'That is not part of what the panel shows.'),
};

/** What every panel needs of the extension. */
export interface PanelHost {
  readonly extensionUri: vscode.Uri;
  readonly log: Logger;
}

/** What one kind of panel is. */
export interface PanelKind<Request> {
  readonly page: WebviewName;
  /** In the log and as the page's title. */
  readonly name: string;
  /** What its page may send. */
  readonly messages: Parser<FromPanel<Request>>;
}

/** What a panel shows next: its title, and the messages that fill its page. */
export interface Filling<Message> {
  readonly title: string;
  readonly messages: readonly Message[];
}

/** Calls a listener whenever what a panel shows may have changed. */
export type Changes = (listener: () => void) => vscode.Disposable;

/** Tells what changes tasks, naming one or none. */
interface TaskChanges {
  onDidChange(listener: (ref: TaskRef | undefined) => void): vscode.Disposable;
}

/** The changes of one task, or of none in particular. */
export function changesOf(ref: TaskRef, ...sources: readonly TaskChanges[]): Changes {
  return (listener) => {
    const heard = (changed: TaskRef | undefined): void => {
      if (changed === undefined || keyOfTask(changed) === keyOfTask(ref)) listener();
    };
    return vscode.Disposable.from(...sources.map((source) => source.onDidChange(heard)));
  };
}

/** The looks of a model that is loaded when it is first asked for. */
export function changesOfLook(load: () => Promise<{ readonly onDidLook: vscode.Event<void> }>): Changes {
  return (listener) => {
    let subscription: vscode.Disposable | undefined;
    let isOver = false;
    void load().then((model) => {
      if (!isOver) subscription = model.onDidLook(() => listener());
    });
    return new vscode.Disposable(() => {
      isOver = true;
      subscription?.dispose();
    });
  };
}

/** What the panels of a kind are about. */
export interface PanelSubjects<S> {
  readonly viewType: string;
  /** Until the panel knows a better one. */
  readonly title: string;
  readonly keyOf: (subject: S) => string;
  /** The subject in what the editor kept of a panel; nothing for what isn't ours. */
  readonly kept: (state: unknown) => S | undefined;
}

/** Panels of tasks. */
export function ofTasks(viewType: string, title: string): PanelSubjects<TaskRef> {
  const kept = (state: unknown): TaskRef | undefined => panelStateSchema.safeParse(state).data?.ref;
  return { viewType, title, keyOf: keyOfTask, kept };
}

/** All open panels of a kind, at most one a subject. */
export class Panels<S, P extends vscode.Disposable & { reveal(): void }> implements vscode.Disposable {
  private readonly panels = new Map<string, P>();
  private readonly shown = new Set<vscode.WebviewPanel>();

  constructor(
    private readonly subjects: PanelSubjects<S>,
    private readonly make: (subject: S, panel: vscode.WebviewPanel) => P,
  ) {}

  /** Shows a subject's panel, the open one if there is one. */
  open(subject: S): P {
    const known = this.panels.get(this.subjects.keyOf(subject));
    if (known !== undefined) {
      known.reveal();
      return known;
    }
    const column = vscode.ViewColumn.Active;
    const old = this.replaceable();
    const { viewType, title } = this.subjects;
    const made = this.adopt(subject, vscode.window.createWebviewPanel(viewType, title, column));
    old?.dispose();
    return made;
  }

  /**
   * The panel of another subject whose place a new one takes, as previews of files do: one in the active group that
   * isn't pinned. So a look at ten tasks leaves one tab and not ten.
   */
  private replaceable(): vscode.WebviewPanel | undefined {
    const { tabs } = vscode.window.tabGroups.activeTabGroup;
    // A tab names its view type with a prefix of the editor's own.
    const pinned = new Set(
      tabs.filter((tab) => isOfType(tab, this.subjects.viewType) && tab.isPinned).map(({ label }) => label),
    );
    const active = vscode.window.tabGroups.activeTabGroup.viewColumn;
    return [...this.shown].find((panel) => panel.viewColumn === active && !pinned.has(panel.title));
  }

  /** Takes up a panel that the editor kept over a reload. */
  restore(panel: vscode.WebviewPanel, state: unknown): void {
    const subject = this.subjects.kept(state);
    if (subject === undefined || this.panels.has(this.subjects.keyOf(subject))) {
      panel.dispose();
      return;
    }
    this.adopt(subject, panel);
  }

  dispose(): void {
    for (const panel of [...this.panels.values()]) panel.dispose();
  }

  private adopt(subject: S, panel: vscode.WebviewPanel): P {
    const key = this.subjects.keyOf(subject);
    const made = this.make(subject, panel);
    this.panels.set(key, made);
    this.shown.add(panel);
    panel.onDidDispose(() => {
      made.dispose();
      this.panels.delete(key);
      this.shown.delete(panel);
    });
    return made;
  }
}

function isOfType({ input }: vscode.Tab, viewType: string): boolean {
  return input instanceof vscode.TabInputWebview && input.viewType.endsWith(viewType);
}

function keyOfTask(ref: TaskRef): string {
  return `${ref.workspace}/${ref.id}`;
}

/** One panel. Owns its webview; loads again on every change, one load at a time; answers its requests. */
export abstract class Panel<Message, Request> implements vscode.Disposable {
  private readonly owned: { dispose(): unknown }[] = [];
  private ready = false;
  private loading = false;
  private changedMeanwhile = false;
  private disposed = false;

  constructor(
    private readonly panel: vscode.WebviewPanel,
    private readonly kind: PanelKind<Request>,
    private readonly host: PanelHost,
    changes: Changes,
  ) {
    const { webview } = panel;
    panel.iconPath = {
      light: vscode.Uri.joinPath(host.extensionUri, 'media', 'panel-light.svg'),
      dark: vscode.Uri.joinPath(host.extensionUri, 'media', 'panel-dark.svg'),
    };
    webview.options = { enableScripts: true, localResourceRoots: [webviewRoot(host.extensionUri)] };
    this.owned.push(
      webview.onDidReceiveMessage((message: unknown) => this.receive(message)),
      changes(() => this.refresh()),
      panel.onDidChangeViewState(() => {
        // A hidden webview is gone; the one that comes back says when it is ready, before or after this.
        if (panel.visible) this.refresh();
        else this.ready = false;
      }),
    );
    webview.html = webviewPage(webview, host.extensionUri, kind.page, kind.name);
  }

  reveal(): void {
    this.panel.reveal();
  }

  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    for (const each of this.owned) each.dispose();
    this.panel.dispose();
  }

  /** Lets go of something when the panel is closed. */
  protected owns(what: { dispose(): unknown }): void {
    this.owned.push(what);
  }

  /** Reads what the panel is about and makes what fills the page. */
  protected abstract load(): Promise<Result<Filling<Message>>>;

  /** Does what the page asks for. */
  protected abstract perform(request: Request): Promise<Result<void>>;

  /** Loads again, now or as soon as there is a page that can show it. */
  protected refresh(): void {
    if (this.disposed || !this.ready || !this.panel.visible) return;
    if (this.loading) {
      this.changedMeanwhile = true;
      return;
    }
    this.loading = true;
    void this.fill().finally(() => {
      this.loading = false;
      if (!this.changedMeanwhile) return;
      this.changedMeanwhile = false;
      this.refresh();
    });
  }

  protected post(message: Message | PanelMessage): void {
    if (!this.disposed) void this.panel.webview.postMessage(message);
  }

  private async fill(): Promise<void> {
    try {
      const loaded = await this.load();
      if (!loaded.ok) {
        this.post({ type: 'unavailable', ...told(loaded.error) });
        return;
      }
      this.panel.title = loaded.value.title;
      for (const message of loaded.value.messages) this.post(message);
    } catch (error) {
      this.host.log.error(`The ${this.kind.name} panel could not be filled.`, { error: messageOf(error) });
      this.post({ type: 'unavailable', message: messageOf(error) });
    }
  }

  private receive(message: unknown): void {
    const parsed = this.kind.messages.safeParse(message);
    if (!parsed.success) {
      this.host.log.warn(`A message of the ${this.kind.name} panel was not understood.`);
      return;
    }
    if (parsed.data.type === 'ready') {
      this.ready = true;
      this.refresh();
      return;
    }
    void this.answer(parsed.data.id, parsed.data.request);
  }

  private async answer(id: number, request: Request): Promise<void> {
    this.post({ type: 'response', response: { type: 'accepted', id } });
    try {
      const result = await this.perform(request);
      const response = result.ok
        ? ({ type: 'done', id } as const)
        : ({ type: 'refused', id, ...told(result.error) } as const);
      this.post({ type: 'response', response });
    } catch (error) {
      this.host.log.error(`A request of the ${this.kind.name} panel failed.`, { error: messageOf(error) });
      this.post({ type: 'response', response: { type: 'refused', id, message: messageOf(error) } });
    }
  }
}

function told(error: AtlasError): { message: string; hint?: string } {
  return error.hint === undefined ? { message: error.message } : { message: error.message, hint: error.hint };
}

/** A title as it fits into a tab. */
export function tabTitle(title: string): string {
  return title.length > 40 ? `${title.slice(0, 39)}…` : title;
}
