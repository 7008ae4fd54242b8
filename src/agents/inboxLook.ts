import type { TaskRef } from '../storage/paths';

/** An item of the inbox that is being worked on. */
export interface ActiveItem {
  readonly id: number | string;
  readonly sender: string;
  readonly content: string;
}

/** What a hook asks of an inbox. */
export interface InboxLook {
  /** The items in `processing`. */
  active(): readonly ActiveItem[];
  pendingCount(): number;
}

const NONE: InboxLook = { active: () => [], pendingCount: () => 0 };

/** The inbox of a workspace. May throw where its files can't be read. */
export function inboxOf(_root: string, _workspace: TaskRef['workspace']): InboxLook {
  return NONE;
}
