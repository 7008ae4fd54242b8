import type { TaskRef } from '../../../core/task/taskRef';
import * as vscode from 'vscode';
import { AtlasError, type Result, ok } from '../../../core/shared/errors';
import { synopsis } from '../../../core/hookMarkdown/hookMarkdown';
import type { DocumentNode } from '../../../protocol/document';
import { type HookPanelRequest, type ToHookPanel, fromHookPanelSchema } from '../../../protocol/hookPanel';
import { hookPanelModel } from './hookPanelModel';
import type { HookPanelCommands, HookPanelData, HookPanelSource } from './hookPanelSource';
import { localizedTexts } from './localizedTexts';
import { type Filling, type PanelHost, type PanelKind, TaskPanel, TaskPanels, tabTitle } from '../../shared/taskPanel';

/** What the panels are made of. */
export interface HookPanelPorts extends PanelHost {
  readonly source: HookPanelSource;
  readonly commands: HookPanelCommands;
}

const KIND: PanelKind<HookPanelRequest> = { page: 'taskPanel', name: 'HOOK.md', messages: fromHookPanelSchema };

/** The parser comes with the first panel: the bundler keeps that module in a file of its own. */
async function render(markdown: string): Promise<DocumentNode[]> {
  const { renderDocument } = await import('../../shared/markdown');
  return renderDocument(markdown);
}

/** All open HOOK.md panels. */
export type HookPanels = TaskPanels<HookPanel>;

/** Makes the keeper of the HOOK.md panels. */
export function hookPanels(viewType: string, ports: HookPanelPorts): HookPanels {
  return new TaskPanels(viewType, vscode.l10n.t('Atlas: HOOK.md'), (ref, panel) => new HookPanel(ref, panel, ports));
}

/** The panel of one task's HOOK.md. */
class HookPanel extends TaskPanel<ToHookPanel, HookPanelRequest> {
  private data: HookPanelData | undefined;

  constructor(
    ref: TaskRef,
    panel: vscode.WebviewPanel,
    private readonly ports: HookPanelPorts,
  ) {
    super(ref, panel, KIND, ports, ports.source);
  }

  protected async load(): Promise<Result<Filling<ToHookPanel>>> {
    const loaded = await this.ports.source.load(this.ref);
    if (!loaded.ok) return loaded;
    const document = await render(loaded.value.markdown);
    this.data = loaded.value;
    const model = hookPanelModel(this.ref, loaded.value, document, localizedTexts());
    return ok({ title: vscode.l10n.t('HOOK.md: {0}', tabTitle(model.title)), messages: [{ type: 'model', model }] });
  }

  protected async perform(request: HookPanelRequest): Promise<Result<void>> {
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
