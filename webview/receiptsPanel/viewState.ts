import type { ReceiptDetails, ReceiptsFilter, ReceiptsPanelModel } from '../../src/protocol/receiptsPanel';
import type { PageState } from '../shared/page';

/** What the page is drawn from. */
export interface ReceiptsViewState extends PageState<ReceiptsPanelModel> {
  readonly filter: ReceiptsFilter;
  /** Keys of the open rows, the one opened last at the end. */
  readonly open: readonly string[];
  readonly details: ReadonlyMap<string, ReceiptDetails>;
  /** Keys of the receipts whose statement is shown. */
  readonly statements: ReadonlySet<string>;
  /** The most rows that are drawn. */
  readonly limit: number;
  readonly language: string;
}
