import type { TaskRef } from '../../../core/task/taskRef';
import type { Result } from '../../../core/shared/errors';
import type { ValidationReceipt } from '../../../core/task/taskRecord';
import type { Freshness, ReceiptReport } from '../../../core/receipt/receipt';
import type { Disposal } from '../../tasks/panel/hookPanelSource';

/** A receipt with what is known about it. */
export interface ReceiptItem {
  readonly receipt: ValidationReceipt;
  /** Undefined until it was verified. */
  readonly report: ReceiptReport | undefined;
  /** Undefined until the files were looked at. */
  readonly currency: Freshness | undefined;
  /** Whether the command's output is still there to be opened. */
  readonly kept: { readonly stdout: boolean; readonly stderr: boolean };
}

/** What the panel is made from: as stored, nothing translated. */
export interface ReceiptsPanelData {
  readonly task: { readonly title: string; readonly workspace: string; readonly id: string };
  /** In the hook's order, the newest last. */
  readonly items: readonly ReceiptItem[];
  /** Where the public keys are, or what is wrong with them. */
  readonly keys: string;
  /** Receipts are being verified right now. */
  readonly checking: boolean;
}

/** Where the panel has its data from. */
export interface ReceiptsPanelSource {
  load(ref: TaskRef): Promise<Result<ReceiptsPanelData>>;
  /** Tells that a task's receipts or what is known about them, or without a name any task's, may have changed. */
  onDidChange(listener: (ref: TaskRef | undefined) => void): Disposal;
}

/** What the panel lets a person do. A cancelled dialog is a success; only what failed is an error. */
export interface ReceiptsPanelCommands {
  verify(ref: TaskRef, receiptId: string): Promise<Result<void>>;
  verifyAll(ref: TaskRef): Promise<Result<void>>;
  exportReceipts(ref: TaskRef): Promise<Result<void>>;
  /** Opens what a command wrote; only where it was kept. */
  openOutput(ref: TaskRef, receiptId: string, stream: 'stdout' | 'stderr'): Promise<Result<void>>;
  openHookMd(ref: TaskRef): Promise<Result<void>>;
}
