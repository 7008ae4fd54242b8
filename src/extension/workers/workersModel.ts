import { basename } from 'node:path';
import * as vscode from 'vscode';
import { AtlasError, type Result, messageOf } from '../../core/shared/errors';
import type { Repository } from '../../core/shared/ports';
import { staleness } from '../../core/worker/slotSteps';
import { locateForge } from '../../workers/forgeFolder';
import type { ForgeStatus, WorkerStatus } from '../../workers/operations/workerStatus';
import { ownerVitality } from '../../workers/operations/workerSteps';
import { Workers } from '../../workers/workers';
import { setContext } from '../shared/contextKeys';
import type { WindowTasks } from '../windowTasks';
import { RefreshThrottle } from '../shared/refreshThrottle';
import type { ForgeSigns } from './forgeSigns';
import { WorkersWatch } from './workersWatch';

/** What the workers of a window are looked at with. */
export type WorkersSession = Pick<WindowTasks, 'atlas' | 'ownPlaces' | 'onDidChange' | 'onDidChangePlaces'>;

/** A repository with its workers as they were last looked at. */
export interface LookedAt {
  readonly repository: Repository;
  readonly workers: Workers;
  readonly status: Result<ForgeStatus>;
}

/** How long changes wait while nobody sees the view, in ms: each look starts some git processes. */
const HIDDEN_MS = 3000;

/** The workers of a window's repositories; looks again when anybody changes them. */
export class WorkersModel implements vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<void>();
  private readonly watch: WorkersWatch;
  private readonly subscriptions: vscode.Disposable[];
  private readonly pace = new RefreshThrottle(() => void this.look());
  private looked = new Map<string, LookedAt>();
  private looking: Promise<void> | undefined;
  private next: Promise<void> | undefined;
  private hidden: NodeJS.Timeout | undefined;
  private visible = false;
  private disposed = false;
  /** Tells that they were looked at again. */
  readonly onDidLook = this.changes.event;

  constructor(
    readonly session: WorkersSession,
    private readonly signs: ForgeSigns,
  ) {
    this.watch = new WorkersWatch(session.atlas.ports, () => this.soon());
    this.subscriptions = [
      session.onDidChangePlaces(() => this.soon()),
      // Without a task's name it comes with the minutes that pass and with the focus.
      session.onDidChange((ref) => {
        if (ref === undefined && this.hasAged()) this.soon();
      }),
    ];
  }

  /** Whether the view is seen: hidden, it only keeps its badge, and not at once. */
  show(visible: boolean): void {
    if (visible === this.visible) return;
    this.visible = visible;
    if (visible) this.soon();
  }

  get isSeen(): boolean {
    return this.visible;
  }

  private soon(): void {
    if (this.disposed) return;
    if (this.visible) {
      clearTimeout(this.hidden);
      this.hidden = undefined;
      this.pace.soon();
      return;
    }
    this.hidden ??= setTimeout(() => {
      this.hidden = undefined;
      void this.look();
    }, HIDDEN_MS);
  }

  /** Whether time alone changed something: an owner died, a deadline passed. Asks no git. */
  private hasAged(): boolean {
    const { ports } = this.session.atlas;
    return this.all().some(({ status }) =>
      (status.ok ? status.value.workers : []).some(
        ({ state, task, stale }) =>
          state !== undefined && staleness(state, task, ownerVitality(ports, state), ports.clock.now()) !== stale,
      ),
    );
  }

  /** Looks now; resolves once what was there at the call is known. One look at a time. */
  async look(): Promise<void> {
    if (this.looking === undefined) {
      this.looking = this.lookOnce()
        .catch((error: unknown) => {
          this.session.atlas.ports.log.error('Looking at the workers failed.', { error: messageOf(error) });
        })
        .finally(() => {
          this.looking = undefined;
        });
      return this.looking;
    }
    // The one under way may have read already what was changed since.
    this.next ??= this.looking.then(async () => {
      this.next = undefined;
      return this.look();
    });
    return this.next;
  }

  private async lookOnce(): Promise<void> {
    if (this.disposed || !vscode.workspace.isTrusted) return;
    const found = new Map<string, LookedAt>();
    for (const { repository, workers } of this.repositories()) {
      // Watched first, so that nothing is missed that comes while it is read.
      this.follow(repository);
      found.set(repository.main, { repository, workers, status: await statusOf(workers) });
    }
    if (this.isOver()) return;
    this.looked = found;
    for (const { repository } of found.values()) this.follow(repository);
    this.watch.keepOnly([...found.values()].map(({ repository }) => repository));
    setContext(
      'atlas.hasWorkers',
      [...found.values()].some(({ repository }) => this.signs.has(repository)),
    );
    this.changes.fire();
  }

  /** The window may have closed while git was asked. */
  private isOver(): boolean {
    return this.disposed;
  }

  private follow(repository: Repository): void {
    const status = this.looked.get(repository.main)?.status;
    const workers = status?.ok === true ? status.value.workers : [];
    this.watch.follow(repository, this.visible ? workers.map(({ folder }) => folder) : undefined);
  }

  private repositories(): Pick<LookedAt, 'repository' | 'workers'>[] {
    const found = new Map<string, Pick<LookedAt, 'repository' | 'workers'>>();
    for (const { repository: own, worktree } of this.session.ownPlaces) {
      const located = own === undefined ? undefined : locateForge(worktree);
      if (located?.ok !== true) continue;
      const repository = located.value;
      const opened = Workers.open(repository.main, this.session.atlas.ports);
      if (opened.ok) found.set(repository.main, { repository, workers: opened.value });
    }
    return [...found.values()];
  }

  /** The window's repositories, as they were last looked at. */
  all(): LookedAt[] {
    return [...this.looked.values()];
  }

  /** One of them, by its main worktree. */
  at(repository: string): LookedAt | undefined {
    return this.looked.get(repository);
  }

  /** A worker as it was last looked at. */
  worker(repository: string, name: string): WorkerStatus | undefined {
    const status = this.at(repository)?.status;
    return status?.ok === true ? status.value.workers.find(({ worker }) => worker === name) : undefined;
  }

  /** Whether the process that works on a hook is seen alive. */
  isAlive({ state }: WorkerStatus): boolean {
    return state !== undefined && ownerVitality(this.session.atlas.ports, state) === 'alive';
  }

  dispose(): void {
    this.disposed = true;
    clearTimeout(this.hidden);
    this.pace.dispose();
    this.watch.close();
    for (const subscription of this.subscriptions) subscription.dispose();
    this.changes.dispose();
  }
}

/** A repository's name for people. */
export function repositoryName(repository: string): string {
  return basename(repository);
}

async function statusOf(workers: Workers): Promise<Result<ForgeStatus>> {
  try {
    return await workers.statuses.all();
  } catch (error) {
    // A folder that can't be listed, say: one repository's trouble is not the others'.
    const known = error instanceof AtlasError ? error : undefined;
    return { ok: false, error: known ?? new AtlasError('unreadable', messageOf(error), { cause: error }) };
  }
}
