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
import { keyOfItem, receiptsPanelModel } from './receiptsPanelModel';
import type { ReceiptItem, ReceiptsPanelCommands, ReceiptsPanelSource } from './receiptsPanelSource';
import { receiptsPanelTexts } from './receiptsPanelTexts';
import { type Filling, type PanelHost, type PanelKind, TaskPanel, TaskPanels, tabTitle } from '../../shared/taskPanel';

/** What is the receipts panels' own of what they are made of. */
export interface ReceiptsPanelParts {
  readonly source: ReceiptsPanelSource;
  readonly commands: ReceiptsPanelCommands;
}

/** What the panels are made of. */
export interface ReceiptsPanelPorts extends PanelHost, ReceiptsPanelParts {}

const KIND: PanelKind<ReceiptsPanelRequest> = {
  page: 'receiptsPanel',
  name: 'Receipts',
  messages: fromReceiptsPanelSchema,
};

/** All open receipts panels. */
export type ReceiptsPanels = TaskPanels<ReceiptsPanel>;

/** Makes the keeper of the receipts panels. */
export function receiptsPanels(viewType: string, ports: ReceiptsPanelPorts): ReceiptsPanels {
  return new TaskPanels(
    viewType,
    vscode.l10n.t('Atlas: Receipts'),
    (ref, panel) => new ReceiptsPanel(ref, panel, ports),
  );
}

/** The panel of one task's receipts. */
class ReceiptsPanel extends TaskPanel<ToReceiptsPanel, ReceiptsPanelRequest> {
  private items: ReadonlyMap<string, ReceiptItem> = new Map();
  /** The receipts whose details the page wants. */
  private wanted: readonly string[] = [];
  /** The receipt that is to be brought into view as soon as there is a page that can. */
  private toReveal: string | undefined;

  constructor(
    ref: TaskRef,
    panel: vscode.WebviewPanel,
    private readonly ports: ReceiptsPanelPorts,
  ) {
    super(ref, panel, KIND, ports, ports.source);
  }

  /** Brings a receipt's details into view, once they are there. */
  showReceipt(receiptId: string | undefined): void {
    if (receiptId === undefined) return;
    this.toReveal = receiptId;
    this.refresh();
  }

  protected async load(): Promise<Result<Filling<ToReceiptsPanel>>> {
    const loaded = await this.ports.source.load(this.ref);
    if (!loaded.ok) return loaded;
    this.items = new Map(loaded.value.items.map((item, index) => [keyOfItem(item, index), item]));
    const model = receiptsPanelModel(this.ref, loaded.value, receiptsPanelTexts());
    const reveals = this.reveals();
    return ok({
      title: vscode.l10n.t('Receipts: {0}', tabTitle(model.title)),
      messages: [{ type: 'model', model, details: this.details() }, ...reveals],
    });
  }

  protected async perform(request: ReceiptsPanelRequest): Promise<Result<void>> {
    const { commands } = this.ports;
    switch (request.kind) {
      case 'verifyAll':
        return commands.verifyAll(this.ref);
      case 'export':
        return commands.exportReceipts(this.ref);
      case 'openHookMd':
        return commands.openHookMd(this.ref);
      case 'verify': {
        const item = this.items.get(request.key);
        return item === undefined ? NOT_SHOWN : commands.verify(this.ref, item.receipt.receipt_id);
      }
      case 'openOutput': {
        const item = this.items.get(request.key);
        return item?.kept[request.stream] === true
          ? commands.openOutput(this.ref, item.receipt.receipt_id, request.stream)
          : NOT_SHOWN;
      }
      case 'show':
        this.wanted = request.keys;
        this.post({ type: 'details', details: this.details() });
        return ok(undefined);
    }
  }

  private details(): ReceiptDetails[] {
    const texts = receiptsPanelTexts();
    return this.wanted.flatMap((key) => {
      const item = this.items.get(key);
      return item === undefined ? [] : [receiptDetails(item, key, texts)];
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

const NOT_SHOWN: Result<void> = {
  ok: false,
  error: new AtlasError('not_found', 'That is not part of what the panel shows.'),
};
