import { join } from 'node:path';
import * as vscode from 'vscode';
import { FolderWatches } from '../../system/files/folderWatches';
import { setContext } from '../shared/contextKeys';
import type { WindowTasks } from '../windowTasks';
import { ForgeSigns } from './forgeSigns';
import type { WorkersWindow } from './workersWindow';

/** Whether the window's repositories have workers. All that knows workers is loaded once they do, or a command is called. */
class WorkersHome implements vscode.Disposable {
  private readonly signs: ForgeSigns;
  private readonly watches: FolderWatches;
  private readonly subscriptions: { dispose(): unknown }[] = [];
  private awaited = '';
  private opened: Promise<WorkersWindow> | undefined;
  private disposed = false;

  constructor(
    private readonly session: WindowTasks,
    private readonly extension: vscode.ExtensionContext,
  ) {
    this.signs = new ForgeSigns(session.atlas.ports.files);
    this.watches = new FolderWatches(session.atlas.ports.log);
    this.subscriptions.push(
      session.onDidChangePlaces(() => {
        this.look();
      }),
    );
    this.look();
  }

  /** The view and its model; commands make the first worker with them. */
  async open(): Promise<WorkersWindow> {
    return (this.opened ??= this.load());
  }

  private async load(): Promise<WorkersWindow> {
    const { WorkersWindow } = await import('./workersWindow');
    const window = new WorkersWindow(this.session, this.signs, this.extension.workspaceState);
    if (this.disposed) window.dispose();
    else this.subscriptions.push(window);
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
    const wanted = repositories.map(({ commonDir }) => commonDir);
    if (wanted.join('\n') !== this.awaited) this.watches.close();
    this.awaited = wanted.join('\n');
    for (const commonDir of wanted) this.await(commonDir);
  }

  /**
   * The first sling, by whatever process, makes the folder of its branches, and a moment later the branches; where git keeps tables, it
   * changes those.
   */
  private await(commonDir: string): void {
    const heads = join(commonDir, 'refs', 'heads');
    const forge = join(heads, 'forge');
    this.keep(heads, (name) => name === null || name === 'forge');
    this.keep(forge, () => true);
    this.keep(join(commonDir, 'reftable'), () => true);
  }

  private keep(folder: string, concerns: (name: string | null) => boolean): void {
    if (this.session.atlas.ports.files.stat(folder)?.kind !== 'folder') return;
    this.watches.watch(
      folder,
      folder,
      (_event, name) => concerns(name),
      () => {
        this.look();
      },
    );
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
