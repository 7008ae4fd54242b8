import * as vscode from 'vscode';
import { AtlasError, messageOf, type Result } from '../../core/errors';
import { synopsis } from '../../core/hookMarkdown';
import type { Logger } from '../../core/ports';
import type { DocumentNode } from '../../protocol/document';
import {
  type HookPanelRequest,
  type ToHookPanel,
  fromHookPanelSchema,
  hookPanelStateSchema,
} from '../../protocol/hookPanel';
import { hookPanelModel } from './hookPanelModel';
import type { HookPanelCommands, HookPanelData, HookPanelSource, PanelTaskRef } from './hookPanelSource';
import { localizedTexts } from './localizedTexts';
import { webviewPage, webviewRoot } from './webviewPage';

/** What the panels are made of. */
export interface HookPanelPorts {
  readonly extensionUri: vscode.Uri;
  readonly source: HookPanelSource;
  readonly commands: HookPanelCommands;
  readonly log: Logger;
}

/** The parser comes with the first panel: the bundler keeps that module in a file of its own. */
async function render(markdown: string): Promise<DocumentNode[]> {
  const { renderDocument } = await import('./markdown');
  return renderDocument(markdown);
}

/** All open HOOK.md panels, at most one a task. */
export class HookPanels implements vscode.Disposable {
  private readonly panels = new Map<string, HookPanel>();

  constructor(
    private readonly viewType: string,
    private readonly ports: HookPanelPorts,
  ) {}

  /** Shows a task's panel, the open one if there is one. */
  open(ref: PanelTaskRef, column: vscode.ViewColumn = vscode.ViewColumn.Active): void {
    const known = this.panels.get(keyOf(ref));
    if (known !== undefined) {
      known.reveal();
      return;
    }
    const panel = vscode.window.createWebviewPanel(this.viewType, vscode.l10n.t('Atlas: HOOK.md'), column);
    this.adopt(ref, panel);
  }

  /** Takes up a panel that the editor kept over a reload. */
  restore(panel: vscode.WebviewPanel, state: unknown): void {
    const parsed = hookPanelStateSchema.safeParse(state);
    if (!parsed.success || this.panels.has(keyOf(parsed.data.ref))) {
      panel.dispose();
      return;
    }
    this.adopt(parsed.data.ref, panel);
  }

  dispose(): void {
    for (const panel of [...this.panels.values()]) panel.dispose();
  }

  private adopt(ref: PanelTaskRef, panel: vscode.WebviewPanel): void {
    const key = keyOf(ref);
    const made = new HookPanel(ref, panel, this.ports);
    this.panels.set(key, made);
    panel.onDidDispose(() => {
      made.dispose();
      this.panels.delete(key);
    });
  }
}

function keyOf(ref: PanelTaskRef): string {
  return `${ref.workspace}/${ref.id}`;
}

/** One panel. Owns its webview; loads again on every change, one load at a time. */
class HookPanel implements vscode.Disposable {
  private readonly owned: { dispose(): unknown }[] = [];
  private data: HookPanelData | undefined;
  private ready = false;
  private loading = false;
  private changedMeanwhile = false;
  private disposed = false;

  constructor(
    private readonly ref: PanelTaskRef,
    private readonly panel: vscode.WebviewPanel,
    private readonly ports: HookPanelPorts,
  ) {
    const { webview } = panel;
    panel.iconPath = {
      light: vscode.Uri.joinPath(ports.extensionUri, 'media', 'panel-light.svg'),
      dark: vscode.Uri.joinPath(ports.extensionUri, 'media', 'panel-dark.svg'),
    };
    webview.options = { enableScripts: true, localResourceRoots: [webviewRoot(ports.extensionUri)] };
    this.owned.push(
      webview.onDidReceiveMessage((message: unknown) => {
        this.receive(message);
      }),
      ports.source.onDidChange((changed) => {
        if (changed === undefined || keyOf(changed) === keyOf(ref)) this.refresh();
      }),
      panel.onDidChangeViewState(() => {
        // A hidden webview is gone; the one that comes back says when it is ready, before or after this.
        if (panel.visible) this.refresh();
        else this.ready = false;
      }),
    );
    webview.html = webviewPage(webview, ports.extensionUri, 'hook', 'HOOK.md');
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

  private refresh(): void {
    if (this.disposed || !this.ready || !this.panel.visible) return;
    if (this.loading) {
      this.changedMeanwhile = true;
      return;
    }
    this.loading = true;
    void this.load().finally(() => {
      this.loading = false;
      if (!this.changedMeanwhile) return;
      this.changedMeanwhile = false;
      this.refresh();
    });
  }

  private async load(): Promise<void> {
    try {
      const loaded = await this.ports.source.load(this.ref);
      if (!loaded.ok) {
        this.post({ type: 'unavailable', ...told(loaded.error) });
        return;
      }
      const document = await render(loaded.value.markdown);
      this.data = loaded.value;
      const model = hookPanelModel(this.ref, loaded.value, document, localizedTexts());
      this.panel.title = vscode.l10n.t('HOOK.md: {0}', shortened(model.title));
      this.post({ type: 'model', model });
    } catch (error) {
      this.ports.log.error('The HOOK.md panel could not be filled.', { error: messageOf(error) });
      this.post({ type: 'unavailable', message: messageOf(error) });
    }
  }

  private post(message: ToHookPanel): void {
    if (!this.disposed) void this.panel.webview.postMessage(message);
  }

  private receive(message: unknown): void {
    const parsed = fromHookPanelSchema.safeParse(message);
    if (!parsed.success) {
      this.ports.log.warn('A message of the HOOK.md panel was not understood.');
      return;
    }
    if (parsed.data.type === 'ready') {
      this.ready = true;
      this.refresh();
      return;
    }
    void this.answer(parsed.data.id, parsed.data.request);
  }

  private async answer(id: number, request: HookPanelRequest): Promise<void> {
    this.post({ type: 'response', response: { type: 'accepted', id } });
    try {
      const result = await this.perform(request);
      const response = result.ok
        ? ({ type: 'done', id } as const)
        : ({ type: 'refused', id, ...told(result.error) } as const);
      this.post({ type: 'response', response });
    } catch (error) {
      this.ports.log.error('A request of the HOOK.md panel failed.', { error: messageOf(error) });
      this.post({ type: 'response', response: { type: 'refused', id, message: messageOf(error) } });
    }
  }

  private async perform(request: HookPanelRequest): Promise<Result<void>> {
    const { commands } = this.ports;
    switch (request.kind) {
      case 'run':
        return commands.run(this.ref, request.action, request.recovery);
      case 'openLink':
        await vscode.env.openExternal(vscode.Uri.parse(request.href, true));
        return DONE;
      case 'openFile':
        return this.isNamed(request.path) ? commands.openFile(this.ref, request.path) : NOT_SHOWN;
      case 'openSource':
        return this.openSource();
      case 'showCheckpoint':
        return this.data?.hook.checkpoints.some((each) => each.checkpoint_id === request.id) === true
          ? commands.showCheckpoint(this.ref, request.id)
          : NOT_SHOWN;
      case 'copy':
        return this.copy(request.what);
    }
  }

  /** A webview can ask for any path; only those that it was shown are opened. */
  private isNamed(path: string): boolean {
    return this.data?.drift?.some((file) => file.path === path) === true;
  }

  private async openSource(): Promise<Result<void>> {
    if (this.data === undefined) return NOT_SHOWN;
    await vscode.window.showTextDocument(vscode.Uri.file(this.data.hookPath));
    return DONE;
  }

  private async copy(what: 'synopsis' | 'path'): Promise<Result<void>> {
    if (this.data === undefined) return NOT_SHOWN;
    const { hook, task, hookPath } = this.data;
    await vscode.env.clipboard.writeText(what === 'path' ? hookPath : synopsis(hook, task, hookPath));
    return DONE;
  }
}

const DONE: Result<void> = { ok: true, value: undefined };
const NOT_SHOWN: Result<void> = {
  ok: false,
  error: new AtlasError('not_found', 'That is not part of what the panel shows.'),
};

function told(error: AtlasError): { message: string; mend?: string } {
  return error.mend === undefined ? { message: error.message } : { message: error.message, mend: error.mend };
}

function shortened(title: string): string {
  return title.length > 40 ? `${title.slice(0, 39)}…` : title;
}
