import { join } from 'node:path';
import type * as vscode from 'vscode';
import type { Repository } from '../../core/shared/ports';
import { FolderWatches, type Wanted } from '../../system/files/folderWatches';
import type { WindowTasks } from '../windowTasks';

/** Of so many folders of remote branches pushes are seen at once, of others a moment later. */
const MAX_FOLDERS = 200;

/**
 * Watches the reflogs of this window's repositories. git writes them with every commit and push, whoever made it, so
 * that these are seen within a moment, and also while the Git extension is disabled.
 */
export class ReflogWatch implements vscode.Disposable {
  private readonly watches: FolderWatches;
  private readonly subscription: vscode.Disposable;

  constructor(
    private readonly session: WindowTasks,
    private readonly noticed: () => void,
  ) {
    this.watches = new FolderWatches(session.atlas.ports.log);
    this.subscription = session.onDidChangePlaces(() => this.update());
    this.update();
  }

  private update(): void {
    const repositories = this.session.ownPlaces.flatMap(({ repository }) => repository ?? []);
    this.watches.follow(
      '',
      repositories.flatMap((repository) => this.logsOf(repository)),
    );
  }

  /** Folders come with the first commit and the first push in them. */
  private logsOf({ gitDir, commonDir }: Repository): Wanted[] {
    const remotes = join(commonDir, 'logs', 'refs', 'remotes');
    return [
      this.wanted(gitDir, ['logs']),
      this.wanted(join(gitDir, 'logs'), ['HEAD', 'refs']),
      this.wanted(join(commonDir, 'logs'), ['refs']),
      this.wanted(join(commonDir, 'logs', 'refs'), ['remotes']),
      ...this.foldersBelow(remotes).map((folder) => this.wanted(folder)),
    ];
  }

  private wanted(folder: string, names?: readonly string[]): Wanted {
    let cameOrWent = false;
    return {
      folder,
      concerns: (event, name) => {
        const concerns = name === null || (names?.includes(name) ?? !name.endsWith('.lock'));
        cameOrWent ||= concerns && event === 'rename';
        return concerns;
      },
      tell: () => {
        // A line that git adds to a log brings no folder, and there may be thousands of branches to look through.
        if (cameOrWent) this.update();
        cameOrWent = false;
        this.noticed();
      },
    };
  }

  private foldersBelow(folder: string): string[] {
    const { files } = this.session.atlas.ports;
    const found: string[] = [];
    try {
      if (files.stat(folder)?.kind === 'folder') found.push(folder);
      for (const each of found) {
        const inside = files.list(each).map((name) => join(each, name));
        const folders = inside.filter((path) => files.stat(path)?.kind === 'folder');
        found.push(...folders.slice(0, MAX_FOLDERS - found.length));
      }
    } catch {
      // git removes folders of branches; a commit or push is found by the next look at the latest.
    }
    return found;
  }

  dispose(): void {
    this.subscription.dispose();
    this.watches.close();
  }
}
