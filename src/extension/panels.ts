import * as vscode from 'vscode';
import { messageOf } from '../core/shared/errors';
import type { TaskRef } from '../core/task/taskRef';
import type { DetailsSubject } from '../protocol/detailsPanel';
import type { DetailsPanels } from './details/detailsPanel';
import type { DetailsSources } from './details/detailsSource';
import type { ReceiptsPanels } from './receipts/panel/receiptsPanel';
import type { Verdicts } from './receipts/verdicts';
import { setContext } from './shared/contextKeys';
import type { PanelHost } from './shared/panel';
import type { TaskPanels } from './tasks/panel/taskPanel';
import type { WindowTasks } from './windowTasks';

/** The panels' view types; public, the editor keeps them over reloads. */
const TASK_VIEW = 'atlas.hook';
const RECEIPTS_VIEW = 'atlas.receipts';
const DETAILS_VIEW = 'atlas.details';

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
    (this.loaded ??= this.load())
      .then(task)
      .catch((error: unknown) => this.host.log.error('A panel failed.', { error: messageOf(error) }));
  }

  async deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    (await (this.loaded ??= this.load())).restore(panel, state);
  }

  dispose(): void {
    this.registration.dispose();
    void this.loaded?.then((panels) => void panels.dispose());
  }
}

/** All panels, each kind loaded with its first one. */
export class LatePanels implements vscode.Disposable {
  private readonly tasks: LateKind<TaskPanels>;
  private readonly receipts: LateKind<ReceiptsPanels>;
  private readonly details: LateKind<DetailsPanels>;

  constructor(host: PanelHost, session: WindowTasks, verdicts: Verdicts, sources: DetailsSources) {
    this.tasks = new LateKind(TASK_VIEW, host, async () => {
      const { taskPanels } = await import('./tasks/panel/taskPanel');
      return taskPanels(TASK_VIEW, host, session, verdicts);
    });
    this.receipts = new LateKind(RECEIPTS_VIEW, host, async () => {
      const { receiptsPanels } = await import('./receipts/panel/receiptsPanel');
      return receiptsPanels(RECEIPTS_VIEW, host, session, verdicts);
    });
    this.details = new LateKind(DETAILS_VIEW, host, async () => {
      const { detailsPanels } = await import('./details/detailsPanel');
      return detailsPanels(DETAILS_VIEW, host, sources);
    });
  }

  /** Shows a task's HOOK.md, the open panel if there is one. */
  open(ref: TaskRef): void {
    setContext('atlas.hasOpenedHookMd', true);
    this.tasks.use((panels) => panels.open(ref));
  }

  /** Shows a task's receipts, and the details of one of them. */
  openReceipts(ref: TaskRef, receiptId?: string): void {
    this.receipts.use((panels) => panels.open(ref).showReceipt(receiptId));
  }

  /** Shows a checkpoint, a queue item or a worker, in the open panel if there is one. */
  openDetails(subject: DetailsSubject): void {
    this.details.use((panels) => panels.open(subject));
  }

  dispose(): void {
    this.tasks.dispose();
    this.receipts.dispose();
    this.details.dispose();
  }
}
