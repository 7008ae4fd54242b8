import * as vscode from 'vscode';
import { messageOf, type Result } from '../../core/shared/errors';
import type { InboxItem } from '../../core/inbox/inbox';
import type { Inbox, InboxList } from '../../service/inbox/inbox';
import type { FinishedItems } from '../../core/inbox/inboxAnswers';
import { InboxWatcher } from '../../store/inbox/inboxWatcher';
import { setContext } from '../shared/contextKeys';
import type { WindowTasks } from '../windowTasks';
import { RefreshThrottle } from '../shared/refreshThrottle';

/** What the inboxes of a window are looked at with. */
export type InboxSession = Pick<
  WindowTasks,
  'atlas' | 'ownPlaces' | 'ownWorkspaces' | 'onDidChange' | 'onDidChangePlaces' | 'locatePlaces'
>;

/** The inboxes of a window's workspaces as they were last looked at; looks again when anybody changes them. */
export class InboxModel implements vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<void>();
  private lists: ReadonlyMap<string, Result<InboxList>> = new Map();
  private readonly ended = new Map<string, Result<FinishedItems>>();
  private readonly watcher: InboxWatcher;
  private readonly pace = new RefreshThrottle(() => this.lookSoon());
  private looking: Promise<void> | undefined;
  private next: Promise<void> | undefined;
  private disposed = false;
  private readonly subscriptions: vscode.Disposable[];
  /** Tells that they were looked at again. */
  readonly onDidLook = this.changes.event;

  constructor(
    readonly session: InboxSession,
    readonly inbox: Inbox,
  ) {
    const soon = (): void => this.pace.soon();
    this.watcher = new InboxWatcher(session.atlas.ports.paths, session.atlas.ports.log, {
      onInbox: soon,
      onWorkspaces: () => {
        session.locatePlaces().catch((error: unknown) => {
          session.atlas.ports.log.warn('The workspaces could not be looked at.', { error: messageOf(error) });
        });
      },
    });
    this.subscriptions = [
      session.onDidChangePlaces(soon),
      // Without a task's name it comes with the minutes that pass and with the focus: claims end with time, too.
      session.onDidChange((ref) => {
        if (ref === undefined) soon();
      }),
    ];
  }

  private lookSoon(): void {
    this.look().catch((error: unknown) => {
      this.session.atlas.ports.log.warn('The agent queue could not be looked at.', { error: messageOf(error) });
    });
  }

  /** Looks, and waits for it. One look at a time: what changed since one began is seen by the next. */
  async look(): Promise<void> {
    if (this.looking === undefined) {
      this.looking = this.lookOnce().finally(() => (this.looking = undefined));
      return this.looking;
    }
    this.next ??= this.looking
      .catch(() => undefined)
      .then(async () => {
        this.next = undefined;
        return this.look();
      });
    return this.next;
  }

  private async lookOnce(): Promise<void> {
    const { session } = this;
    const workspaces = session.ownWorkspaces();
    // Watched first, so that nothing is missed that comes while it is read.
    this.watcher.follow(
      workspaces,
      session.ownPlaces.some(({ workspace }) => workspace === undefined),
    );
    const lists = new Map<string, Result<InboxList>>();
    for (const workspace of workspaces) lists.set(workspace, await this.inbox.listInSlices(workspace, { finished: 0 }));
    if (this.disposed) return;
    this.lists = lists;
    this.ended.clear();
    setContext('atlas.hasInbox', this.workspaces().length > 0);
    setContext('atlas.hasOpenInboxItem', this.open().length > 0);
    this.changes.fire();
  }

  /** The window's workspaces whose inbox was used, or can't be read. */
  workspaces(): string[] {
    return [...this.lists].flatMap(([workspace, list]) => {
      if (!list.ok) return list.error.code === 'not_found' ? [] : [workspace];
      const { open, finishedTotal, findings } = list.value;
      return open.length + finishedTotal + findings.length > 0 ? [workspace] : [];
    });
  }

  /** An inbox as it was last looked at, its finished items only counted. */
  list(workspace: string): Result<InboxList> | undefined {
    return this.lists.get(workspace);
  }

  /** The newest finished items, read when they are first asked for. */
  finished(workspace: string, limit: number): Result<FinishedItems> {
    const key = `${workspace}:${limit}`;
    const known = this.ended.get(key) ?? this.inbox.finished(workspace, limit);
    this.ended.set(key, known);
    return known;
  }

  /** The open items of all these inboxes. */
  open(): { readonly workspace: string; readonly item: InboxItem }[] {
    return [...this.lists].flatMap(([workspace, list]) =>
      list.ok ? list.value.open.map((item) => ({ workspace, item })) : [],
    );
  }

  dispose(): void {
    this.disposed = true;
    this.pace.dispose();
    this.watcher.close();
    for (const subscription of this.subscriptions) subscription.dispose();
    this.changes.dispose();
  }
}
