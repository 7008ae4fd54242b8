import { basename } from 'node:path';
import { itemOfWakeName } from '../../core/inbox/inbox';
import type { FileSystem, Logger } from '../../core/shared/ports';
import { type Concerns, FolderWatches } from '../../system/files/folderWatches';
import type { StorePaths } from '../paths';

interface WatchPorts {
  readonly paths: StorePaths;
  readonly files: FileSystem;
  readonly log: Logger;
}

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
  private readonly followed = new Map<string, readonly string[]>();

  constructor(
    private readonly ports: WatchPorts,
    private readonly news: InboxNews,
  ) {
    this.watches = new FolderWatches(ports.log);
  }

  /**
   * Watches these workspaces and no others. To be called again after each news: folders come and go.
   * @param awaited whether one more workspace is waited for
   */
  follow(workspaces: readonly string[], awaited: boolean): void {
    for (const [workspace, folders] of this.followed) {
      if (workspaces.includes(workspace)) continue;
      for (const folder of folders) this.watches.end(folder);
      this.followed.delete(workspace);
    }
    for (const workspace of workspaces) this.followOne(workspace);
    this.followList(awaited);
  }

  private followOne(workspace: string): void {
    const { paths } = this.ports;
    const [folder, inbox] = [paths.workspace(workspace), paths.inbox(workspace)];
    const tell = (): void => {
      this.news.onInbox();
    };
    // Some systems don't name the file; then it may have been one of these.
    const concerns: Concerns = (event, name) =>
      name === null || itemOfWakeName(name) !== undefined || (event === 'rename' && name === basename(inbox));
    this.keep(folder, concerns, tell);
    this.keep(inbox, (_event, name) => name?.endsWith('.tmp') !== true, tell);
    this.followed.set(workspace, [folder, inbox]);
  }

  private followList(awaited: boolean): void {
    const { workspaces, root } = this.ports.paths;
    const there = this.isFolder(workspaces);
    const tell = (): void => {
      this.news.onWorkspaces();
    };
    if (awaited && there) this.keep(workspaces, (event) => event === 'rename', tell);
    else this.watches.end(workspaces);
    if (awaited && !there) this.keep(root, (_event, name) => name === null || name === basename(workspaces), tell);
    else this.watches.end(root);
  }

  /** Watches a folder, unless it is none: what a link leads to is not the store's. */
  private keep(folder: string, concerns: Concerns, tell: () => void): void {
    if (this.isFolder(folder)) this.watches.watch(folder, folder, concerns, tell);
  }

  private isFolder(path: string): boolean {
    return this.ports.files.stat(path)?.kind === 'folder';
  }

  /** Stops watching. */
  close(): void {
    this.watches.close();
  }
}
