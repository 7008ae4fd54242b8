import * as vscode from 'vscode';
import { messageOf } from '../../core/shared/errors';
import type { Logger } from '../../core/shared/ports';
import type { WindowTasks } from '../windowTasks';
import type { GitApi, GitExtension, GitRepository } from './gitApi';
import { ReflogWatch } from './reflogWatch';

/** One git command leads to several notices: after a scan, what comes within this time (ms) leads to one more. */
const SETTLE_MS = 150;

/** Worker hooks' worktrees are not the user's repositories. */
const WORKER_WORKTREE = /[\\/]\.forge[\\/]/u;

/**
 * Listens to the built-in Git extension: it tells that something happened in a repository, the reflogs tell what.
 * Without it (disabled, or not there) commits are still found: the reflogs are watched too.
 */
export class GitBridge implements vscode.Disposable {
  private readonly subscriptions: { dispose(): unknown }[] = [];
  private readonly repositories = new Map<string, vscode.Disposable>();
  private api: GitApi | undefined;
  private timer: NodeJS.Timeout | undefined;
  private again = false;

  constructor(
    private readonly session: WindowTasks,
    private readonly log: Logger,
  ) {}

  /** Watches the reflogs and connects to the Git extension, now or once it is enabled. */
  async start(): Promise<void> {
    if (!vscode.workspace.isTrusted) return;
    this.subscriptions.push(new ReflogWatch(this.session, () => this.noticed()));
    const extension = vscode.extensions.getExtension<GitExtension>('vscode.git');
    if (extension === undefined) {
      this.log.warn('The built-in Git extension is not there: commits are found by their reflogs only.');
      return;
    }
    try {
      const git = extension.isActive ? extension.exports : await extension.activate();
      this.subscriptions.push(
        git.onDidChangeEnablement((enabled) => {
          if (enabled) this.connect(git);
          else this.disconnect();
        }),
      );
      if (git.enabled) this.connect(git);
      else this.log.info('Git is disabled in this window: commits are found by their reflogs only.');
    } catch (error) {
      this.log.warn('The built-in Git extension could not be used.', { error: messageOf(error) });
    }
  }

  /** A file as a commit has it, for a diff editor; `undefined` without the Git extension. */
  committed(uri: vscode.Uri, commit: string): vscode.Uri | undefined {
    return this.api?.toGitUri(uri, commit);
  }

  private connect(git: GitExtension): void {
    const api = git.getAPI(1);
    this.api = api;
    this.subscriptions.push(
      api.onDidOpenRepository((repository) => this.open(repository)),
      api.onDidCloseRepository((repository) => this.close(repository)),
    );
    for (const repository of api.repositories) this.open(repository);
  }

  private disconnect(): void {
    this.api = undefined;
    for (const subscription of this.repositories.values()) subscription.dispose();
    this.repositories.clear();
  }

  private open(repository: GitRepository): void {
    const root = repository.rootUri.fsPath;
    if (WORKER_WORKTREE.test(root) || this.repositories.has(root)) return;
    this.repositories.set(
      root,
      repository.state.onDidChange(() => this.noticed()),
    );
    void this.session.addRoot(root).then(() => this.noticed());
  }

  private close(repository: GitRepository): void {
    const root = repository.rootUri.fsPath;
    this.repositories.get(root)?.dispose();
    this.repositories.delete(root);
    const isFolder = (vscode.workspace.workspaceFolders ?? []).some((folder) => folder.uri.fsPath === root);
    if (!isFolder) void this.session.removeRoot(root);
  }

  /** The first notice is acted on at once: somebody may be looking at the tree. */
  private noticed(): void {
    if (this.timer !== undefined) {
      this.again = true;
      return;
    }
    this.again = false;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (this.again) this.noticed();
    }, SETTLE_MS);
    void this.session.scanGit();
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.disconnect();
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}
