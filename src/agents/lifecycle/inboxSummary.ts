import { unwrap } from '../../core/shared/errors';
import type { InboxItem } from '../../core/inbox/inbox';
import type { Inbox } from '../../service/inbox/inbox';

/** What a hook asks of an inbox. */
export interface InboxSummary {
  /** The items in `processing`. */
  readonly active: readonly InboxItem[];
  readonly pending: number;
}

/** What is left in the inbox of a workspace. Throws where it can't be read. */
export function summarizeInbox(inbox: Inbox, workspace: string): InboxSummary {
  const { open } = unwrap(inbox.list(workspace, { finished: 0 }));
  const active = open.filter(({ status }) => status === 'processing');
  return { active, pending: open.length - active.length };
}
