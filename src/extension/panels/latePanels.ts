import * as vscode from 'vscode';
import { messageOf } from '../../core/errors';
import type { HookPanelPorts, HookPanels } from './hookPanel';
import type { PanelTaskRef } from './hookPanelSource';

/** The panel's view type; public, the editor keeps it over reloads. */
const VIEW_TYPE = 'atlas.hook';

/** The HOOK.md panels, whose code is loaded with the first one. */
export class LatePanels implements vscode.Disposable, vscode.WebviewPanelSerializer {
  private readonly registration = vscode.window.registerWebviewPanelSerializer(VIEW_TYPE, this);
  private loaded: Promise<HookPanels> | undefined;

  constructor(private readonly ports: HookPanelPorts) {}

  /** Shows a task's panel, the open one if there is one. */
  open(ref: PanelTaskRef): void {
    this.load()
      .then((panels) => panels.open(ref))
      .catch((error: unknown) => this.ports.log.error('The HOOK.md panel failed.', { error: messageOf(error) }));
  }

  async deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    (await this.load()).restore(panel, state);
  }

  private load(): Promise<HookPanels> {
    this.loaded ??= import('./hookPanel').then(({ hookPanels }) => hookPanels(VIEW_TYPE, this.ports));
    return this.loaded;
  }

  dispose(): void {
    this.registration.dispose();
    void this.loaded?.then((panels) => panels.dispose());
  }
}
