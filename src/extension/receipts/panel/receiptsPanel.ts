import type { TaskRef } from '../../../core/task/taskRef';
import * as vscode from 'vscode';
import { AtlasError, type Result, ok } from '../../../core/shared/errors';
import {
  MAX_OPEN_RECEIPTS,
  type ReceiptDetails,
  type ReceiptsPanelRequest,
  type ToReceiptsPanel,
  fromReceiptsPanelSchema,
} from '../../../protocol/receiptsPanel';

import { receiptDetails } from './receiptsDetails';
import { type ReceiptItem, type ReceiptsPanelData, keyOfItem, receiptsPanelModel } from './receiptsPanelModel';
import type { WindowTasks } from '../../windowTasks';
import type { Verdicts } from '../verdicts';
import {
  type Filling,
  NOT_SHOWN,
  type PanelHost,
  type PanelKind,
  Panel,
  Panels,
  changesOf,
  ofTasks,
  tabTitle,
} from '../../shared/panel';

const KIND: PanelKind<ReceiptsPanelRequest> = {
  page: 'receiptsPanel',
  name: 'Receipts',
  messages: fromReceiptsPanelSchema,
};

/** All open receipts panels. */
export type ReceiptsPanels = Panels<TaskRef, ReceiptsPanel>;

/** Makes the keeper of the receipts panels. */
export function receiptsPanels(
  viewType: string,
  host: PanelHost,
  session: WindowTasks,
  verdicts: Verdicts,
): ReceiptsPanels {
  const make = (ref: TaskRef, panel: vscode.WebviewPanel): ReceiptsPanel =>
    new ReceiptsPanel(ref, panel, host, session, verdicts);
  return new Panels(ofTasks(viewType, vscode.l10n.t('Atlas: Receipts')), make);
}

/** The panel of one task's receipts. */
class ReceiptsPanel extends Panel<ToReceiptsPanel, ReceiptsPanelRequest> {
  private items: ReadonlyMap<string, ReceiptItem> = new Map();
  /** The receipts whose details the page wants. */
  private wanted: readonly string[] = [];
  /** The receipt that is to be brought into view as soon as there is a page that can. */
  private toReveal: string | undefined;

  constructor(
    private readonly ref: TaskRef,
    panel: vscode.WebviewPanel,
    host: PanelHost,
    private readonly session: WindowTasks,
    private readonly verdicts: Verdicts,
  ) {
    super(panel, KIND, host, changesOf(ref, session, verdicts));
  }

  /** Brings a receipt's details into view, once they are there. */
  showReceipt(receiptId: string | undefined): void {
    if (receiptId === undefined) return;
    this.toReveal = receiptId;
    this.refresh();
  }

  protected async load(): Promise<Result<Filling<ToReceiptsPanel>>> {
    const loaded = await this.read();
    if (!loaded.ok) return loaded;
    this.items = new Map(loaded.value.items.map((item, index) => [keyOfItem(item, index), item]));
    const model = receiptsPanelModel(this.ref, loaded.value);
    const reveals = this.reveals();
    return ok({
      title: vscode.l10n.t('Receipts: {0}', tabTitle(model.title)),
      messages: [{ type: 'model', model, details: this.details() }, ...reveals],
    });
  }

  private async read(): Promise<Result<ReceiptsPanelData>> {
    const { ref } = this;
    const read = this.session.atlas.catalog.read(ref);
    if (!read.ok) return read;
    const { hook, task } = read.value;
    const { files, publicKeysPath } = await this.session.atlas.receipts();
    const statuses = this.verdicts.of(read.value);
    const { problem, checking } = this.verdicts.status(read.value);
    return ok({
      task: { title: task.description, workspace: ref.workspace, id: ref.id },
      items: hook.receipts.map((receipt) => {
        const known = statuses.get(receipt.receipt_id);
        return {
          receipt,
          report: known?.report,
          currency: known?.currency,
          kept: {
            stdout: files.isKept(ref, receipt.receipt_id, 'stdout'),
            stderr: files.isKept(ref, receipt.receipt_id, 'stderr'),
          },
        };
      }),
      keys: problem ?? publicKeysPath,
      checking,
    });
  }

  /** Does what a button asks for: the same commands as everywhere. */
  protected async perform(request: ReceiptsPanelRequest): Promise<Result<void>> {
    switch (request.kind) {
      case 'verifyAll':
        return this.verify();
      case 'verify':
        return this.items.has(request.key) ? this.verify() : NOT_SHOWN;
      case 'export':
        return this.run('atlas.exportReceipts');
      case 'openHookMd':
        return this.run('atlas.openHookMd');
      case 'openOutput': {
        const item = this.items.get(request.key);
        return item?.kept[request.stream] === true ? this.openOutput(item, request.stream) : NOT_SHOWN;
      }
      case 'show':
        this.wanted = request.keys;
        this.post({ type: 'details', details: this.details() });
        return ok(undefined);
    }
  }

  private async run(command: string): Promise<Result<void>> {
    await vscode.commands.executeCommand(command, { kind: 'task', ref: this.ref });
    return ok(undefined);
  }

  private async verify(): Promise<Result<void>> {
    const read = this.session.atlas.catalog.read(this.ref);
    if (!read.ok) return read;
    await this.verdicts.refresh(read.value);
    return ok(undefined);
  }

  private async openOutput({ receipt }: ReceiptItem, stream: 'stdout' | 'stderr'): Promise<Result<void>> {
    const { files } = await this.session.atlas.receipts();
    const path = files.outputPath(this.ref, receipt.receipt_id, stream);
    if (!path.ok) return path;
    if (!files.isKept(this.ref, receipt.receipt_id, stream)) {
      return { ok: false, error: new AtlasError('not_found', vscode.l10n.t("The output wasn't kept.")) };
    }
    await vscode.window.showTextDocument(vscode.Uri.file(path.value), { preview: true });
    return ok(undefined);
  }

  private details(): ReceiptDetails[] {
    return this.wanted.flatMap((key) => {
      const item = this.items.get(key);
      return item === undefined ? [] : [receiptDetails(item, key)];
    });
  }

  /**
   * Of several receipts with one id, which only a damaged hook has, the newest. Its details go with the model: a row
   * comes into view where it belongs only when they are there.
   */
  private reveals(): ToReceiptsPanel[] {
    const found = [...this.items].findLast(([, item]) => item.receipt.receipt_id === this.toReveal);
    if (found === undefined) return [];
    const [key] = found;
    this.toReveal = undefined;
    this.wanted = [...this.wanted.filter((each) => each !== key), key].slice(-MAX_OPEN_RECEIPTS);
    return [{ type: 'reveal', key }];
  }
}
