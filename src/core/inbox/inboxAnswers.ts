import type { AtlasError } from '../shared/errors';
import type { InboxItem } from './inbox';

/** Something in an inbox that can't be used; it is left as it is. */
export interface InboxFinding {
  readonly path: string;
  readonly error: AtlasError;
}

/** Items with what could not be read. */
export interface ReadItems {
  readonly items: readonly InboxItem[];
  readonly findings: readonly InboxFinding[];
}

/** An item that was ended; `changed` is false where it was done already. */
export interface EndedItem {
  readonly item: InboxItem;
  readonly changed: boolean;
}

/** Finished items, the newest first. */
export interface FinishedItems extends ReadItems {
  readonly total: number;
}
