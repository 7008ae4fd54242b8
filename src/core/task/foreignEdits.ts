import { eventsOf } from '../history/historyEvent';
import type { TaskRecord } from './taskRecord';

/** How hook.json was changed by something else: written first, edited, or put back to an older version. */
export const FOREIGN_EDITS = ['adopted', 'edited', 'rolled_back'] as const;

/** What is known of the edits from outside that no human has acknowledged yet. */
export interface ForeignEdits {
  readonly count: number;
  readonly kind: (typeof FOREIGN_EDITS)[number];
  /** When the last one was found, RFC 3339. */
  readonly at: string;
}

/** The edits of hook.json from outside since a human last acknowledged some; `undefined` where there are none. */
export function foreignEdits({ history }: Pick<TaskRecord, 'history'>): ForeignEdits | undefined {
  const acknowledged = history.findLastIndex(({ trigger }) => trigger === 'acknowledge');
  const edits = eventsOf(history.slice(acknowledged + 1), 'adopted_edit');
  const last = edits.at(-1);
  if (last === undefined) return undefined;
  const kind = FOREIGN_EDITS.find((each) => each === last.details.kind) ?? 'edited';
  return { count: edits.length, kind, at: last.timestamp };
}
