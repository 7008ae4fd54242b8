import type { TaskRef } from '../../../core/task/taskRef';
import * as vscode from 'vscode';
import { messageOf } from '../../../core/shared/errors';
import type { Verdicts } from '../../receipts/verdicts';
import type { WindowTasks } from '../../windowTasks';
import type { HookPanels } from './hookPanel';

import type { ReceiptsPanels } from '../../receipts/panel/receiptsPanel';
import type { PanelHost } from '../../shared/taskPanel';

/** The panels' view types; public, the editor keeps them over reloads. */
const HOOK_VIEW = 'atlas.hook';
const RECEIPTS_VIEW = 'atlas.receipts';

/** What all panels of a kind can do. */
interface Panels extends vscode.Disposable {
  restore(panel: vscode.WebviewPanel, state: unknown): void;
}

/** Panels of one kind, whose code is loaded with the first one. */
class LateKind<P extends Panels> implements vscode.Disposable, vscode.WebviewPanelSerializer {
  private readonly registration: vscode.Disposable;
  private loaded: Promise<P> | undefined;

  constructor(
    viewType: string,
    private readonly host: PanelHost,
    private readonly load: () => Promise<P>,
  ) {
    this.registration = vscode.window.registerWebviewPanelSerializer(viewType, this);
  }

  use(task: (panels: P) => unknown): void {
    this.panels()
      .then(task)
      .catch((error: unknown) => this.host.log.error('A panel failed.', { error: messageOf(error) }));
  }

  async deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    (await this.panels()).restore(panel, state);
  }

  dispose(): void {
    this.registration.dispose();
    void this.loaded?.then((panels) => {
      panels.dispose();
    });
  }

  private panels(): Promise<P> {
    this.loaded ??= this.load();
    return this.loaded;
  }
}

/** All panels, each kind loaded with its first one. */
export class LatePanels implements vscode.Disposable {
  private readonly hook: LateKind<HookPanels>;
  private readonly receipts: LateKind<ReceiptsPanels>;

  constructor(host: PanelHost, session: WindowTasks, verdicts: Verdicts) {
    this.hook = new LateKind(HOOK_VIEW, host, async () => {
      const [{ hookPanels }, { hookPanelParts }] = await Promise.all([import('./hookPanel'), import('./panelPorts')]);
      return hookPanels(HOOK_VIEW, { ...host, ...hookPanelParts(session) });
    });
    this.receipts = new LateKind(RECEIPTS_VIEW, host, async () => {
      const [{ receiptsPanels }, { receiptsPanelParts }] = await Promise.all([
        import('../../receipts/panel/receiptsPanel'),
        import('../../receipts/panel/receiptsPorts'),
      ]);
      return receiptsPanels(RECEIPTS_VIEW, { ...host, ...receiptsPanelParts(session, verdicts) });
    });
  }

  /** Shows a task's HOOK.md, the open panel if there is one. */
  open(ref: TaskRef): void {
    this.hook.use((panels) => panels.open(ref));
  }

  /** Shows a task's receipts, and the details of one of them. */
  openReceipts(ref: TaskRef, receiptId?: string): void {
    this.receipts.use((panels) => {
      panels.open(ref).showReceipt(receiptId);
    });
  }

  dispose(): void {
    this.hook.dispose();
    this.receipts.dispose();
  }
}
