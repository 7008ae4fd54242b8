import * as vscode from 'vscode';
import { messageOf } from '../../core/shared/errors';
import { needsUser } from '../../core/session/sessionOrder';
import type { SessionRef } from '../../core/session/sessionRecord';
import type { ObservedSession, SessionService } from '../../service/sessions/sessionService';
import { FolderWatches } from '../../system/files/folderWatches';
import { setContext } from '../shared/contextKeys';
import type { WindowTasks } from '../windowTasks';
import { sessionsOfWindow } from './outline';

/** What the sessions of a window are looked at with. */
export type SessionsSession = Pick<WindowTasks, 'atlas' | 'ownPlaces' | 'onDidChangePlaces'>;

/** How often it is looked whether a process ended, in ms. */
const PULSE_MS = 1000;
/** How often sessions are looked for that no hook reports, in ms. */
const TICK_MS = 10_000;
/** From the end of a look to the next one, in ms: looks ask git, and an agent may report many events a second. */
const REST_MS = 500;
/** A look that took long is followed by a rest of so many times as long. */
const REST_SHARE = 2;

/** The sessions of a window's repositories. Takes in what agents' hosts report, and looks again when anything happens. */
export class SessionsModel implements vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<void>();
  private readonly watches: FolderWatches;
  private readonly timers: NodeJS.Timeout[];
  private readonly subscription: vscode.Disposable;
  private sessions: ObservedSession[] = [];
  private looking: Promise<void> | undefined;
  private resting: NodeJS.Timeout | undefined;
  /** Processes that were seen to be gone. */
  private readonly gone = new Set<string>();
  private isWanted = false;
  private tracked = false;
  /** What the views were told of last. */
  private told: readonly unknown[] = [];
  private disposed = false;
  /** Tells that they were looked at again, and that something is another. */
  readonly onDidLook = this.changes.event;

  constructor(
    readonly session: SessionsSession,
    readonly service: SessionService,
  ) {
    this.watches = new FolderWatches(session.atlas.ports.log);
    this.subscription = session.onDidChangePlaces(() => this.show());
    this.timers = [
      setInterval(() => this.pulse(), PULSE_MS),
      setInterval(() => {
        this.soon();
      }, TICK_MS),
    ];
  }

  get now(): number {
    return this.session.atlas.ports.clock.now();
  }

  /** Whether sessions are observed, by the user's consent. */
  get tracks(): boolean {
    return this.tracked;
  }

  /** The window's sessions as they were last looked at, the most urgent first. */
  all(): readonly ObservedSession[] {
    return this.sessions;
  }

  /** One of them. */
  find({ host, sessionId }: SessionRef): ObservedSession | undefined {
    return this.sessions.find(({ ref }) => ref.host === host && ref.sessionId === sessionId);
  }

  /** Those that wait for the user, the most urgent first. */
  waiting(): ObservedSession[] {
    return this.sessions.filter(needsUser);
  }

  /** Looks now; resolves once what was there at the call is known. One look at a time. */
  async look(): Promise<void> {
    const before = this.looking ?? Promise.resolve();
    const look = before.then(() => this.lookOnce());
    this.looking = look;
    await look;
    if (this.looking === look) this.looking = undefined;
  }

  private async lookOnce(): Promise<void> {
    if (this.disposed || !vscode.workspace.isTrusted) return;
    try {
      // Watched first, so that nothing is missed that comes while it is read.
      this.follow();
      this.tracked = (await this.service.config()).track ?? this.tracked;
      await this.service.refresh();
      // The folder for reports may have come or gone with it.
      this.follow();
      this.show();
    } catch (error) {
      this.session.atlas.ports.log.error('Looking at the sessions failed.', { error: messageOf(error) });
    }
  }

  /** Looks in a moment; several calls look once. */
  private soon(): void {
    this.isWanted = true;
    if (this.resting !== undefined || this.disposed) return;
    this.isWanted = false;
    const began = performance.now();
    // Set at once, so that what happens while it looks waits for the rest.
    this.resting = setTimeout(() => undefined, 0);
    void this.look().then(() => {
      const took = performance.now() - began;
      if (this.disposed) return;
      this.resting = setTimeout(
        () => {
          this.resting = undefined;
          if (this.isWanted) this.soon();
        },
        Math.max(REST_MS, took * REST_SHARE),
      );
    });
  }

  private follow(): void {
    if (this.disposed) return;
    const { root } = this.session.atlas.ports.paths;
    const named = new Set([null, 'observed', 'sessions', 'config.yaml']);
    const reported = this.service.spool.folder;
    this.watches.follow('', [
      { folder: root, concerns: (_event, name) => named.has(name), tell: () => this.soon() },
      {
        folder: reported,
        concerns: (_event, name) => name === null || name.endsWith('.json'),
        tell: () => {
          // What was drained goes, and that is an event too.
          if (this.service.spool.hasReports()) this.soon();
          else this.show();
        },
      },
    ]);
  }

  /** Whether a process of a session ended. Asked of each once: what that means, the next look finds out. */
  private pulse(): void {
    if (!this.tracked || this.looking !== undefined) return;
    for (const session of this.sessions) {
      const { state, record } = session;
      if (record.process === undefined || state === 'interrupted' || state === 'ended') continue;
      const key = `${keyOf(session)} ${record.process.pid}`;
      if (this.gone.has(key) || exists(record.process.pid)) continue;
      this.gone.add(key);
      this.soon();
    }
  }

  private show(): void {
    this.sessions = sessionsOfWindow(this.service.list(), this.session.ownPlaces);
    setContext('atlas.hasSessions', this.tracked || this.sessions.length > 0);
    // Ages are shown in minutes; a record is the same object as long as nobody wrote it.
    const minute = Math.floor(this.now / 60_000);
    const told = [this.tracked, minute, ...this.sessions.flatMap(({ record, state, shown }) => [record, state, shown])];
    const isSame = told.length === this.told.length && told.every((each, index) => each === this.told[index]);
    this.told = told;
    if (!isSame) this.changes.fire();
  }

  dispose(): void {
    this.disposed = true;
    clearTimeout(this.resting);
    for (const timer of this.timers) clearInterval(timer);
    this.watches.close();
    this.subscription.dispose();
    this.changes.dispose();
  }
}

/** Whether a process has this id. What belongs to another user is there, too. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

function keyOf({ ref }: ObservedSession): string {
  return `${ref.host} ${ref.sessionId}`;
}
