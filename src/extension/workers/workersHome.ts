import { join } from 'node:path';
import * as vscode from 'vscode';
import { FolderWatches, type Wanted } from '../../system/files/folderWatches';
import { setContext } from '../shared/contextKeys';
import type { WindowTasks } from '../windowTasks';
import { ForgeSigns } from './forgeSigns';
import type { WorkersWindow } from './workersWindow';

/** Whether the window's repositories have workers. All that knows workers is loaded once they do, or a command is called. */
class WorkersHome implements vscode.Disposable {
  private readonly signs: ForgeSigns;
  private readonly watches: FolderWatches;
  private readonly subscriptions: { dispose(): unknown }[] = [];
  private opened: Promise<WorkersWindow> | undefined;
  private disposed = false;

  constructor(
    private readonly session: WindowTasks,
    private readonly extension: vscode.ExtensionContext,
  ) {
    this.signs = new ForgeSigns(session.atlas.ports.files);
    this.watches = new FolderWatches(session.atlas.ports.log);
    this.subscriptions.push(session.onDidChangePlaces(() => this.look()));
    this.look();
  }

  /** The view and its model; commands make the first worker with them. */
  async open(): Promise<WorkersWindow> {
    return (this.opened ??= this.load());
  }

  private async load(): Promise<WorkersWindow> {
    const { makeWindow } = await import('./workersWindow');
    const window = makeWindow(this.session, this.signs, this.extension.workspaceState);
    if (this.disposed) window.parts.dispose();
    else this.subscriptions.push(window.parts);
    // From here on it watches for itself.
    this.watches.close();
    await window.model.look();
    return window;
  }

  private look(): void {
    if (this.opened !== undefined || !vscode.workspace.isTrusted) return;
    const repositories = this.session.ownPlaces.flatMap(({ repository }) => repository ?? []);
    if (repositories.some((repository) => this.signs.has(repository))) {
      setContext('atlas.hasWorkers', true);
      void this.open();
      return;
    }
    this.watches.follow(
      '',
      repositories.flatMap(({ commonDir }) => this.signsIn(commonDir)),
    );
  }

  /**
   * The first sling, by whatever process, makes the folder of its branches, and a moment later the branches; where git keeps tables, it
   * changes those.
   */
  private signsIn(commonDir: string): Wanted[] {
    const heads = join(commonDir, 'refs', 'heads');
    const tell = (): void => this.look();
    return [
      { folder: heads, concerns: (_event, name) => name === null || name === 'forge', tell },
      { folder: join(heads, 'forge'), concerns: () => true, tell },
      { folder: join(commonDir, 'reftable'), concerns: () => true, tell },
    ];
  }

  dispose(): void {
    this.disposed = true;
    this.watches.close();
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}

/** The workers of a window, from when its folders are known; the window disposes of them. */
export function openWorkersHome(session: WindowTasks, extension: vscode.ExtensionContext): WorkersHome {
  const home = new WorkersHome(session, extension);
  extension.subscriptions.push(home);
  return home;
}
