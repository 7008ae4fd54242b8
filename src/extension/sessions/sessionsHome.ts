import { join } from 'node:path';
import * as vscode from 'vscode';
import { messageOf } from '../../core/shared/errors';
import { launcherPath } from '../../system/launcher/launcher';
import { FolderWatches } from '../../system/files/folderWatches';
import type { WindowTasks } from '../windowTasks';
import type { SessionsWindow } from './sessionsWindow';

/** Whether sessions of agents are observed, or any is kept. All that knows them is loaded once one is, or a command is called. */
class SessionsHome implements vscode.Disposable {
  private readonly watches: FolderWatches;
  private readonly subscriptions: { dispose(): unknown }[] = [];
  private opened: Promise<SessionsWindow> | undefined;
  private disposed = false;

  constructor(
    private readonly session: WindowTasks,
    private readonly memory: vscode.Memento,
    /** The file that starts this version's `atlas`. */
    private readonly launcher: string,
  ) {
    this.watches = new FolderWatches(session.atlas.ports.log);
    this.subscriptions.push(vscode.workspace.onDidGrantWorkspaceTrust(() => void this.look()));
    void this.look();
  }

  /** The view and its model. */
  async open(): Promise<SessionsWindow> {
    return (this.opened ??= this.load());
  }

  private async load(): Promise<SessionsWindow> {
    const { makeSessionsWindow } = await import('./sessionsWindow');
    const window = makeSessionsWindow(this.session, this.memory, this.launcher);
    if (this.disposed) window.parts.dispose();
    else this.subscriptions.push(window.parts);
    // From here on it watches for itself.
    this.watches.close();
    await window.model.look();
    return window;
  }

  private async look(): Promise<void> {
    if (this.opened !== undefined || this.disposed || !vscode.workspace.isTrusted) return;
    const { ports, configs } = this.session.atlas;
    try {
      const { root } = ports.paths;
      const names = new Set<string | null>([null, 'observed', 'sessions', 'config.yaml']);
      const concerns = (_event: string, name: string | null): boolean => names.has(name);
      this.watches.follow('', [{ folder: root, concerns, tell: () => void this.look() }]);
      const isThere = (name: string): boolean => ports.files.stat(join(root, name)) !== undefined;
      if (isThere('observed') || isThere('sessions') || (await configs.forWorktree(undefined)).config.sessions.track)
        await this.open();
    } catch (error) {
      ports.log.warn('The sessions could not be looked at.', { error: messageOf(error) });
    }
  }

  dispose(): void {
    this.disposed = true;
    this.watches.close();
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}

/** The sessions of a window, from when its folders are known; the window disposes of them. */
export function openSessionsHome(
  session: WindowTasks,
  extension: vscode.ExtensionContext,
  launcherFolder: string,
): SessionsHome {
  const home = new SessionsHome(session, extension.globalState, launcherPath(launcherFolder));
  extension.subscriptions.push(home);
  return home;
}
