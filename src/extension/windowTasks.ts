import * as vscode from 'vscode';
import { messageOf } from '../core/shared/errors';
import { isTerminal } from '../core/task/taskRecord';
import type { Diagnosis } from '../core/recovery/liveness';
import type { TaskConfig } from '../core/config/config';
import { DEFAULT_CONFIG } from '../core/config/config';
import { worktreeOf } from '../core/task/task';
import type { Place } from '../service/atlasReader';
import type { OpenAtlas } from '../service/createAtlas';
import { setContext } from './shared/contextKeys';
import type { WindowSpool } from './gitHooks/windowSpool';
import { WindowOwnership } from '../service/sessions/ownership';
import { ensureFolder } from '../system/files/atomicFile';
import type { ConfigIssue } from '../core/config/configIssue';
import { type TaskRef, refKey } from '../core/task/taskRef';
import { type Ranked, byUrgency } from '../core/task/urgency';
import { StoreWatcher } from '../store/storeWatcher';
import type { StoredTask } from '../core/task/storedTask';

/** How often this window says that it lives, in ms. */
const HEARTBEAT_MS = 60_000;
/** How often due checkpoints, silence and deaths are looked for, in ms. */
const TICK_MS = 10_000;

/** A task with how it fares. */
export interface TaskView {
  readonly stored: StoredTask;
  readonly diagnosis: Diagnosis;
  /** What was found and fixed in its files since this window opened, for people. */
  readonly findings: readonly string[];
}

/** A view as it is ranked. */
export function rankedView({ stored: { hook }, diagnosis }: TaskView): Ranked {
  return { hook, health: diagnosis.kind };
}

/** Sessions of agents that wait for the user: how many, and the most urgent one. */
export interface Attention {
  readonly count: number;
  readonly text: string;
  readonly tooltip: string;
  readonly interrupted: boolean;
}

/** What the views were told of a task. */
interface Told {
  /** The same object as long as nobody wrote the task's files. */
  readonly read: WeakRef<object>;
  readonly kind: Diagnosis['kind'] | undefined;
  readonly findings: number;
  /** When the files of a checkpoint were captured last, in ms. */
  readonly captured: number | undefined;
}

/** This window's view of the store: which tasks it has, how they fare, and the work that keeps them recoverable. */
export class WindowTasks implements vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<TaskRef | undefined>();
  private readonly crashes = new vscode.EventEmitter<StoredTask>();
  private readonly watcher: StoreWatcher;
  private readonly ownership: WindowOwnership;
  private spool: WindowSpool | undefined;
  private readonly timers: NodeJS.Timeout[] = [];
  private readonly findings = new Map<string, string[]>();
  private readonly configs = new Map<string, TaskConfig>();
  private readonly fileChanges = new Map<string, number>();
  private readonly roots = new Set<string>();
  private readonly configReads = new vscode.EventEmitter<readonly ConfigIssue[]>();
  private readonly placeChanges = new vscode.EventEmitter<void>();
  private readonly touches = new vscode.EventEmitter<string>();
  private places: Place[] = [];
  private looking: Promise<void> = Promise.resolve();
  private shown = '';
  /** The workspaces and open tasks that the views were told of when all were looked at. */
  private listed: string | undefined;
  /** What the views were told last of each task. */
  private readonly told = new Map<string, Told>();
  private disposed = false;

  /** Sessions of agents that wait for the user, as the status bar tells of them. */
  attention: Attention | undefined;
  /** Tells of a changed task, or without a name of any. */
  readonly onDidChange = this.changes.event;
  /** Tells of a crash that this window recorded or found recorded. */
  readonly onDidFindCrash = this.crashes.event;

  /** Tells that a folder or repository came or went. */
  readonly onDidChangePlaces = this.placeChanges.event;
  /** Tells of a worktree in which a file changed. */
  readonly onDidChangeFiles = this.touches.event;
  /** Tells what is wrong in the configuration files, each time they were read. */
  readonly onDidReadConfig = this.configReads.event;

  constructor(readonly atlas: OpenAtlas) {
    this.ownership = new WindowOwnership(atlas);
    this.watcher = new StoreWatcher(atlas.ports.paths, atlas.ports.log, (refs) => this.noticed(refs));
  }

  /** Looks at the folders and the store, recovers what crashed, and keeps looking. */
  async start(folders: readonly string[]): Promise<void> {
    for (const folder of folders) this.roots.add(folder);
    await this.locatePlaces();
    this.changes.fire(undefined);
    setContext('atlas.ready', true);
    if (vscode.workspace.isTrusted) ensureFolder(this.atlas.ports.files, this.atlas.ports.paths.open);
    this.watcher.start(this.atlas.catalog.open());
    if (!vscode.workspace.isTrusted) return;
    const { WindowSpool } = await import('./gitHooks/windowSpool');
    if (this.disposed) return;
    this.spool ??= new WindowSpool(this.atlas, this.watcher, (refs) => this.changedAll(refs));
    await this.spool.start();
    await this.look();
    this.timers.push(
      setInterval(() => this.ownership.heartbeat(), HEARTBEAT_MS),
      setInterval(() => void this.tick(), TICK_MS),
    );
    void this.sweep();
    void this.recoverRestores();
  }

  /** Adds a folder whose tasks are this window's: a workspace folder or a repository that git found. */
  async addRoot(folder: string): Promise<void> {
    if (this.roots.has(folder)) return;
    this.roots.add(folder);
    await this.locatePlaces();
    await this.look();
  }

  /** Forgets a folder that was closed. */
  async removeRoot(folder: string): Promise<void> {
    if (!this.roots.delete(folder)) return;
    await this.locatePlaces();
    this.changes.fire(undefined);
  }

  /** Says which sessions wait for the user. */
  attend(attention: Attention | undefined): void {
    this.attention = attention;
    this.changes.fire(undefined);
  }

  /** Where this window's tasks belong. */
  get ownPlaces(): readonly Place[] {
    return this.places;
  }

  /** Names of the workspaces of this window's folders. */
  ownWorkspaces(): string[] {
    return [...new Set(this.places.flatMap((place) => place.workspace ?? []))];
  }

  /** This window's open tasks, the one changed last first. */
  ownTasks(): StoredTask[] {
    return this.ownWorkspaces().flatMap((workspace) => this.atlas.catalog.openTasks(workspace));
  }

  /** This window's open tasks with how they are doing, the most urgent first. */
  ranked(): TaskView[] {
    return this.ownTasks()
      .flatMap(({ ref }) => this.view(ref) ?? [])
      .sort((a, b) => byUrgency(rankedView(a), rankedView(b)));
  }

  /** A task with how it fares now; `undefined` when it can't be read. */
  view(ref: TaskRef): TaskView | undefined {
    const read = this.atlas.catalog.read(ref);
    if (!read.ok) return undefined;
    const config = this.configs.get(worktreeOf(read.value.task) ?? '') ?? DEFAULT_CONFIG;
    const seen = this.fileChanges.get(worktreeOf(read.value.task) ?? '') ?? 0;
    const diagnosis = this.atlas.diagnose(read.value, config.staleThresholdMs, [seen]);
    return { stored: read.value, diagnosis, findings: this.findings.get(refKey(ref)) ?? [] };
  }

  /** A file of a worktree changed, which shows that somebody is at work. */
  sawFileChange(worktree: string): void {
    this.fileChanges.set(worktree, this.atlas.ports.clock.now());
    this.touches.fire(worktree);
  }

  /** Tells at once of a change that this window made; what the watcher notices of it later is no news. */
  changed(ref: TaskRef): void {
    this.changedAll([ref]);
  }

  private changedAll(refs: readonly TaskRef[]): void {
    if (refs.length === 0) return;
    this.follow();
    for (const ref of new Map(refs.map((each) => [refKey(each), each])).values()) {
      this.isNews(ref);
      this.changes.fire(ref);
    }
  }

  /** Whether a task is another than the views were told last, which this notes as told. */
  private isNews(ref: TaskRef): boolean {
    const key = refKey(ref);
    const read = this.atlas.catalog.read(ref);
    const { files, paths } = this.atlas.ports;
    const now = {
      kind: this.view(ref)?.diagnosis.kind,
      findings: this.findings.get(key)?.length ?? 0,
      captured: files.stat(paths.snapshots(ref))?.mtimeMs,
    };
    const before = this.told.get(key);
    const isSame =
      before !== undefined &&
      before.kind === now.kind &&
      before.findings === now.findings &&
      before.captured === now.captured;
    if (isSame && before.read.deref() === read) return false;
    this.told.set(key, { ...now, read: new WeakRef(read) });
    return true;
  }

  /** Looks for crashes, commits and foreign edits now. One look at a time. */
  async look(): Promise<void> {
    this.looking = this.looking
      .then(() => this.lookOnce())
      .catch((error: unknown) => {
        this.atlas.ports.log.error('Looking at the tasks failed.', { error: messageOf(error) });
      });
    return this.looking;
  }

  private async lookOnce(): Promise<void> {
    if (this.disposed || !vscode.workspace.isTrusted) return;
    if (await this.hasNewWorkspace()) await this.locatePlaces();
    await this.readConfigs();
    for (const workspace of this.ownWorkspaces()) {
      for (const ref of this.atlas.catalog.open(workspace)) await this.lookAt(ref);
    }
    this.follow();
    await this.scanGit();
    this.tellNews();
  }

  /** Tells of the tasks that are others than the views were told last, and of all where one came or went. */
  private tellNews(): void {
    const open = this.ownWorkspaces().flatMap((workspace) => this.atlas.catalog.open(workspace));
    const news = open.filter((ref) => this.isNews(ref));
    const list = [...this.ownWorkspaces(), ...open.map(refKey)].join('\n');
    if (list !== this.listed) this.changes.fire(undefined);
    else for (const ref of news) this.changes.fire(ref);
    this.listed = list;
  }

  private async readConfigs(): Promise<void> {
    const issues = new Map<string, ConfigIssue>();
    const worktrees = this.places.length === 0 ? [undefined] : this.places.map((place) => place.worktree);
    for (const worktree of worktrees) {
      const loaded = await this.atlas.configs.forWorktree(worktree);
      if (worktree !== undefined) this.configs.set(worktree, loaded.config);
      const templates = await this.atlas.configs.templates(worktree);
      for (const issue of [...loaded.issues, ...templates.issues])
        issues.set(`${issue.file}:${issue.position.line}:${issue.message}`, issue);
    }
    this.configReads.fire([...issues.values()]);
  }

  private async lookAt(ref: TaskRef): Promise<void> {
    const read = this.atlas.catalog.read(ref);
    const repairable = !read.ok && (read.error.code === 'damaged' || read.error.code === 'not_found');
    if (repairable || (read.ok && read.value.suspect)) await this.repair(ref);
    const settled = this.atlas.catalog.read(ref);
    if (!settled.ok || isTerminal(settled.value.hook.state)) return;
    const before = settled.value.hook.state;
    if (before !== 'recovering' && this.view(ref)?.diagnosis.kind !== 'crashed') return;
    const { recovery } = await this.atlas.drive();
    const detected = await recovery.detect(settled.value);
    if (!detected.ok) this.atlas.ports.log.warn('Looking for a crash failed.', { error: detected.error.message });
    else if (detected.value.recorded || before === 'recovering') this.crashes.fire(detected.value.task);
  }

  private async repair(ref: TaskRef): Promise<void> {
    const result = await (await this.atlas.drive()).reconcile(ref);
    if (!result.ok) {
      this.atlas.ports.log.warn(`Task ${refKey(ref)} can't be fixed.`, { error: result.error.message });
      return;
    }
    const messages = result.value.findings.map((finding) => finding.message);
    if (messages.length === 0) return;
    this.findings.set(refKey(ref), [...(this.findings.get(refKey(ref)) ?? []), ...messages]);
    for (const message of messages) this.atlas.ports.log.warn(message, { task: refKey(ref) });
  }

  /** Makes the checkpoints for commits and pushes of this window's repositories. */
  async scanGit(): Promise<void> {
    if (this.disposed || !vscode.workspace.isTrusted) return;
    for (const { repository } of this.places) {
      if (repository === undefined) continue;
      try {
        const made = await (await this.atlas.git()).scan(repository);
        if (!made.ok) this.atlas.ports.log.warn('Reading commits failed.', { error: made.error.message });
        else this.changedAll(made.value);
      } catch (error) {
        this.atlas.ports.log.warn('Reading commits failed.', { error: messageOf(error) });
      }
    }
  }

  private async tick(): Promise<void> {
    await this.ownership.tick();
    await this.scanGit();
    // What the watcher missed, and what waited for another process.
    void this.spool?.drain();
    if (await this.hasNewWorkspace()) {
      await this.look();
      return;
    }
    const fares = this.ownTasks().map((task) => this.view(task.ref)?.diagnosis.kind ?? '');
    if (fares.includes('crashed')) {
      await this.look();
      return;
    }
    // Ages are shown in minutes: drawing everything anew more often than that would only disturb.
    const shown = [Math.floor(this.atlas.ports.clock.now() / 60_000), ...fares].join();
    if (shown !== this.shown) this.changes.fire(undefined);
    this.shown = shown;
  }

  private noticed(refs: readonly TaskRef[]): void {
    for (const ref of refs) this.watcher.add(ref);
    const mine = new Set(this.ownWorkspaces());
    const unknown = refs.some((ref) => !mine.has(ref.workspace));
    void (async () => {
      if (unknown) await this.locatePlaces();
      for (const ref of refs) {
        const read = this.atlas.catalog.read(ref);
        const suspect = read.ok && read.value.suspect && this.ownWorkspaces().includes(ref.workspace);
        if (suspect && vscode.workspace.isTrusted) await this.lookAt(ref);
        if (read.ok && isTerminal(read.value.hook.state)) this.watcher.remove(ref);
      }
      this.follow();
      for (const ref of refs) if (this.isNews(ref)) this.changes.fire(ref);
    })().catch((error: unknown) => {
      this.atlas.ports.log.error('Taking up a change failed.', { error: messageOf(error) });
    });
  }

  private follow(): void {
    if (this.disposed || !vscode.workspace.isTrusted) return;
    const own = this.ownTasks().map((task) => task.ref);
    for (const ref of own) this.watcher.add(ref);
    this.ownership.update(own, (ref) => this.view(ref)?.diagnosis.kind === 'crashed');
  }

  /** Finds the workspaces again: a folder gets one with its first task. */
  async locatePlaces(): Promise<void> {
    const places: Place[] = [];
    for (const root of this.roots) {
      try {
        const place = await this.atlas.locate(root);
        if (!places.some((known) => known.worktree === place.worktree)) places.push(place);
      } catch (error) {
        this.atlas.ports.log.warn(`Folder ${root} can't be read.`, { error: messageOf(error) });
      }
    }
    // From when a place is known, views ask for all of its tasks at once.
    await this.atlas.catalog.warm(places.flatMap((place) => place.workspace ?? []));
    this.places = places;
    this.placeChanges.fire();
  }

  /** A folder's first task, begun by another process before the watcher heard: nothing later would tell of it. */
  private async hasNewWorkspace(): Promise<boolean> {
    for (const { worktree, workspace } of this.places) {
      if (workspace === undefined && (await this.atlas.locate(worktree)).workspace !== undefined) return true;
    }
    return false;
  }

  /** Finishes or undoes restores of files whose process died. */
  private async recoverRestores(): Promise<void> {
    const { files, paths, log } = this.atlas.ports;
    for (const task of this.ownTasks()) {
      if (this.disposed || files.stat(paths.snapshots(task.ref)) === undefined) continue;
      const recovered = await (await this.atlas.snapshots()).recoverIn(task);
      if (!recovered.ok) log.warn('A restore could not be finished.', { error: recovered.error.message });
      else if (recovered.value !== undefined) this.changed(task.ref);
    }
  }

  private async sweep(): Promise<void> {
    const lost: TaskRef[] = [];
    await this.atlas.catalog.sweep(
      (ref) => lost.push(ref),
      () => this.disposed,
    );
    for (const ref of lost) {
      const fixed = await (await this.atlas.drive()).reconcileLost(ref);
      if (!fixed.ok) this.atlas.ports.log.warn(`Task ${refKey(ref)} is damaged.`, { error: fixed.error.message });
    }
    if (lost.length > 0) await this.look();
  }

  /** Signs off: a window that closes or reloads has not crashed. */
  dispose(): void {
    this.disposed = true;
    for (const timer of this.timers) clearInterval(timer);
    this.ownership.signOff();
    this.spool?.withdraw();
    this.watcher.close();
    this.changes.dispose();
    this.placeChanges.dispose();
    this.touches.dispose();
    this.configReads.dispose();
    this.crashes.dispose();
  }
}
