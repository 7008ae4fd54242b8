import type { Result } from '../../core/shared/errors';
import type { DetailsModel } from '../../protocol/detailsPanel';
import type { InboxWindow } from '../inbox/inboxWindow';
import type { Changes } from '../shared/panel';
import type { WindowTasks } from '../windowTasks';
import type { WorkersWindow } from '../workers/workersWindow';

/** A button of a details panel, and the command that it runs. */
export interface DetailsAction {
  readonly label: string;
  readonly hint?: string;
  readonly rank: 'primary' | 'secondary';
  /** The command's id and argument; or, of what is offered in this panel only, a name of its own and what it does. */
  readonly command: string;
  readonly argument?: unknown;
  readonly run?: () => Promise<void>;
}

/** A file in a details panel. */
export interface DetailsFile {
  readonly path: string;
  readonly detail: string;
  /** Opens it; absent where there is nothing to open. */
  readonly open?: () => Promise<void>;
}

/** What a details panel shows. Texts from outside may be in it as they are: the page shows them as text. */
export interface Details extends Omit<DetailsModel, 'subject' | 'strings' | 'actions' | 'files' | 'announcement'> {
  readonly tab: string;
  readonly actions: readonly DetailsAction[];
  readonly files?: { readonly heading: string; readonly summary: string; readonly rows: readonly DetailsFile[] };
}

/** Where a details panel gets what it shows. */
export interface DetailsSource {
  readonly changes: Changes;
  /** Reads it as it is now. */
  readonly read: () => Promise<Result<Details>>;
}

/** What the sources of all details panels need. */
export interface DetailsSources {
  readonly session: WindowTasks;
  readonly inbox: () => Promise<InboxWindow>;
  readonly workers: () => Promise<WorkersWindow>;
}
