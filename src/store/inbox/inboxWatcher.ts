import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { itemOfWakeName } from '../../core/inbox/inbox';
import type { Logger } from '../../core/shared/ports';
import { type Concerns, FolderWatches, type Wanted } from '../../system/files/folderWatches';
import type { StorePaths } from '../paths';

/** What is told. */
export interface InboxNews {
  /** An item or a wake came, changed or went. */
  onInbox(): void;
  /** Other workspaces may be there than before. */
  onWorkspaces(): void;
}

/**
 * Tells what happens in the inboxes of some workspaces, by whatever process. Two watches a workspace: its folder, where
 * wakes are published, and `inbox/`, which an item that is finished leaves.
 */
export class InboxWatcher {
  private readonly watches: FolderWatches;

  constructor(
    private readonly paths: StorePaths,
    log: Logger,
    private readonly news: InboxNews,
  ) {
    this.watches = new FolderWatches(log);
  }

  /**
   * Watches these workspaces and no others. To be called again after each news: folders come and go.
   * @param awaited whether one more workspace is waited for
   */
  follow(workspaces: readonly string[], awaited: boolean): void {
    const inboxes = workspaces.flatMap((workspace) => this.inboxOf(workspace));
    this.watches.follow('', [...inboxes, ...(awaited ? this.list() : [])]);
  }

  private inboxOf(workspace: string): Wanted[] {
    const inbox = this.paths.inbox(workspace);
    const tell = (): void => this.news.onInbox();
    // Some systems don't name the file; then it may have been one of these.
    const concerns: Concerns = (event, name) =>
      name === null || itemOfWakeName(name) !== undefined || (event === 'rename' && name === basename(inbox));
    return [
      { folder: this.paths.workspace(workspace), concerns, tell },
      { folder: inbox, concerns: (_event, name) => name?.endsWith('.tmp') !== true, tell },
    ];
  }

  /** Where workspaces come; the store itself until one was there. */
  private list(): Wanted[] {
    const { workspaces, root } = this.paths;
    const tell = (): void => this.news.onWorkspaces();
    if (existsSync(workspaces)) return [{ folder: workspaces, concerns: (event) => event === 'rename', tell }];
    return [{ folder: root, concerns: (_event, name) => name === null || name === basename(workspaces), tell }];
  }

  close(): void {
    this.watches.close();
  }
}
