import { messageOf } from '../core/shared/errors';
import type { ConfigIssue } from '../core/config/configIssue';
import type { TaskConfig } from '../core/config/config';
import type { StoredTask } from '../core/task/storedTask';
import { isTerminal } from '../core/task/taskRecord';
import { type TaskRef, refKey } from '../core/task/taskRef';
import { WindowOwnership } from '../service/sessions/ownership';
import type { StoreWatcher } from '../store/storeWatcher';
import { WindowSpool } from './gitHooks/windowSpool';
import type { WindowTasks } from './windowTasks';

/** How often this window says that it lives, in ms. */
const HEARTBEAT_MS = 60_000;
/** How often due checkpoints, silence and deaths are looked for, in ms. */
const TICK_MS = 10_000;

/** What the window hears from its upkeep. */
export interface UpkeepNews {
  /** The configuration of a worktree was read. */
  readonly configured: (worktree: string, config: TaskConfig) => void;
  /** All configuration files were read. */
  readonly configsRead: (issues: readonly ConfigIssue[]) => void;
  /** Something was found and fixed in a task's files. */
  readonly fixed: (ref: TaskRef, messages: readonly string[]) => void;
  readonly crashed: (task: StoredTask) => void;
  /** Checkpoints were made for these tasks. */
  readonly changed: (refs: readonly TaskRef[]) => void;
  /** All tasks were looked at. */
  readonly looked: () => void;
  /** Ages and health may be others than the views show. */
  readonly aged: () => void;
}

/** The work that keeps a window's tasks recoverable, which a window begins without; nothing of it in an untrusted workspace. */
export class WindowUpkeep {
  private readonly ownership: WindowOwnership;
  private readonly spool: WindowSpool;
  private readonly timers: NodeJS.Timeout[] = [];
  private looking: Promise<void> = Promise.resolve();
  private shown = '';
  private ended = false;

  constructor(
    private readonly window: WindowTasks,
    private readonly news: UpkeepNews,
    watcher: StoreWatcher,
  ) {
    this.ownership = new WindowOwnership(window.atlas);
    this.spool = new WindowSpool(window.atlas, watcher, news.changed);
  }

  /** Recovers what crashed, and keeps looking. */
  async start(): Promise<void> {
    await this.spool.start();
    await this.look();
    if (this.ended) return;
    this.timers.push(
      setInterval(() => this.ownership.heartbeat(), HEARTBEAT_MS),
      setInterval(() => void this.tick(), TICK_MS),
    );
    void this.sweep();
    void this.recoverRestores();
  }

  /** Owns those of the tasks that are in flight. */
  own(refs: readonly TaskRef[]): void {
    this.ownership.update(refs, (ref) => this.window.view(ref)?.diagnosis.kind === 'crashed');
  }

  /** Looks for crashes, commits and foreign edits now. One look at a time. */
  async look(): Promise<void> {
    this.looking = this.looking
      .then(() => this.lookOnce())
      .catch((error: unknown) => {
        this.window.atlas.ports.log.error('Looking at the tasks failed.', { error: messageOf(error) });
      });
    return this.looking;
  }

  private async lookOnce(): Promise<void> {
    if (this.ended) return;
    const { window } = this;
    if (await window.hasNewWorkspace()) await window.locatePlaces();
    await this.readConfigs();
    for (const workspace of window.ownWorkspaces()) {
      for (const ref of window.atlas.catalog.open(workspace)) await this.lookAt(ref);
    }
    window.follow();
    await this.scanGit();
    this.news.looked();
  }

  private async readConfigs(): Promise<void> {
    const issues = new Map<string, ConfigIssue>();
    const { ownPlaces, atlas } = this.window;
    const worktrees = ownPlaces.length === 0 ? [undefined] : ownPlaces.map((place) => place.worktree);
    for (const worktree of worktrees) {
      const loaded = await atlas.configs.forWorktree(worktree);
      if (worktree !== undefined) this.news.configured(worktree, loaded.config);
      const templates = await atlas.configs.templates(worktree);
      for (const issue of [...loaded.issues, ...templates.issues])
        issues.set(`${issue.file}:${issue.position.line}:${issue.message}`, issue);
    }
    this.news.configsRead([...issues.values()]);
  }

  /** Fixes what is damaged of a task, and records that it crashed where it did. */
  async lookAt(ref: TaskRef): Promise<void> {
    const { atlas } = this.window;
    const read = atlas.catalog.read(ref);
    const repairable = !read.ok && (read.error.code === 'damaged' || read.error.code === 'not_found');
    if (repairable || (read.ok && read.value.suspect)) await this.repair(ref);
    const settled = atlas.catalog.read(ref);
    if (!settled.ok || isTerminal(settled.value.hook.state)) return;
    const before = settled.value.hook.state;
    if (before !== 'recovering' && this.window.view(ref)?.diagnosis.kind !== 'crashed') return;
    const { recovery } = await atlas.drive();
    const detected = await recovery.detect(settled.value);
    if (!detected.ok) atlas.ports.log.warn('Looking for a crash failed.', { error: detected.error.message });
    else if (detected.value.recorded || before === 'recovering') this.news.crashed(detected.value.task);
  }

  private async repair(ref: TaskRef): Promise<void> {
    const { atlas } = this.window;
    const result = await (await atlas.drive()).reconcile(ref);
    if (!result.ok) {
      atlas.ports.log.warn(`Task ${refKey(ref)} can't be fixed.`, { error: result.error.message });
      return;
    }
    const messages = result.value.findings.map((finding) => finding.message);
    if (messages.length === 0) return;
    this.news.fixed(ref, messages);
    for (const message of messages) atlas.ports.log.warn(message, { task: refKey(ref) });
  }

  /** Makes the checkpoints for commits and pushes of this window's repositories. */
  async scanGit(): Promise<void> {
    const { atlas, ownPlaces } = this.window;
    for (const { repository } of ownPlaces) {
      if (this.ended || repository === undefined) continue;
      try {
        const made = await (await atlas.git()).scan(repository);
        if (!made.ok) atlas.ports.log.warn('Reading commits failed.', { error: made.error.message });
        else this.news.changed(made.value);
      } catch (error) {
        atlas.ports.log.warn('Reading commits failed.', { error: messageOf(error) });
      }
    }
  }

  private async tick(): Promise<void> {
    const { window } = this;
    await this.ownership.tick();
    await this.scanGit();
    // What the watcher missed, and what waited for another process.
    void this.spool.drain();
    const fares = window.ownTasks().map((task) => window.view(task.ref)?.diagnosis.kind ?? '');
    if ((await window.hasNewWorkspace()) || fares.includes('crashed')) {
      await this.look();
      return;
    }
    // Ages are shown in minutes: drawing everything anew more often than that would only disturb.
    const shown = [Math.floor(window.atlas.ports.clock.now() / 60_000), ...fares].join();
    if (shown !== this.shown) this.news.aged();
    this.shown = shown;
  }

  /** Finishes or undoes restores of files whose process died. */
  private async recoverRestores(): Promise<void> {
    const { atlas } = this.window;
    const { files, paths, log } = atlas.ports;
    for (const task of this.window.ownTasks()) {
      if (this.ended || files.stat(paths.snapshots(task.ref)) === undefined) continue;
      const recovered = await (await atlas.snapshots()).recoverIn(task);
      if (!recovered.ok) log.warn('A restore could not be finished.', { error: recovered.error.message });
      else if (recovered.value !== undefined) this.window.changed(task.ref);
    }
  }

  private async sweep(): Promise<void> {
    const { atlas } = this.window;
    const lost: TaskRef[] = [];
    await atlas.catalog.sweep(
      (ref) => lost.push(ref),
      () => this.ended,
    );
    for (const ref of lost) {
      const fixed = await (await atlas.drive()).reconcileLost(ref);
      if (!fixed.ok) atlas.ports.log.warn(`Task ${refKey(ref)} is damaged.`, { error: fixed.error.message });
    }
    if (lost.length > 0) await this.look();
  }

  /** Signs off: a window that closes or reloads has not crashed. Synchronous, since a closing window waits for nothing. */
  end(): void {
    this.ended = true;
    for (const timer of this.timers) clearInterval(timer);
    this.ownership.signOff();
    this.spool.withdraw();
  }
}
