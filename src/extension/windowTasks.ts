import * as vscode from 'vscode';
import { messageOf } from '../core/shared/errors';
import { lazy } from '../core/shared/lazy';
import { isTerminal } from '../core/task/taskRecord';
import type { Diagnosis } from '../core/recovery/liveness';
import type { TaskConfig } from '../core/config/config';
import { DEFAULT_CONFIG } from '../core/config/config';
import { worktreeOf } from '../core/task/task';
import type { Place } from '../service/atlasReader';
import type { OpenAtlas } from '../service/createAtlas';
import { setContext } from './shared/contextKeys';
import type { UpkeepNews, WindowUpkeep } from './windowUpkeep';
import { ensureFolder } from '../system/files/atomicFile';
import type { ConfigIssue } from '../core/config/configIssue';
import { type TaskRef, refKey } from '../core/task/taskRef';
import { type Ranked, byUrgency } from '../core/task/urgency';
import { StoreWatcher } from '../store/storeWatcher';
import type { StoredTask } from '../core/task/storedTask';

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

/** This window's view of the store: which tasks it has, and how they fare. What keeps them recoverable is its upkeep's. */
export class WindowTasks implements vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<TaskRef | undefined>();
  private readonly crashes = new vscode.EventEmitter<StoredTask>();
  private readonly watcher: StoreWatcher;
  /** What keeps the tasks recoverable, loaded where the workspace is trusted. */
  private readonly upkeep = lazy(async () => this.openUpkeep());
  private openedUpkeep: WindowUpkeep | undefined;
  private readonly findings = new Map<string, string[]>();
  private readonly configs = new Map<string, TaskConfig>();
  private readonly fileChanges = new Map<string, number>();
  private readonly roots = new Set<string>();
  private readonly configReads = new vscode.EventEmitter<readonly ConfigIssue[]>();
  private readonly placeChanges = new vscode.EventEmitter<void>();
  private readonly touches = new vscode.EventEmitter<string>();
  private places: Place[] = [];
  /** The workspaces and open tasks that the views were told of when all were looked at. */
  private listed: string | undefined;
  /** What the views were told last of each task. */
  private readonly told = new Map<string, Told>();
  private disposed = false;

  /** What was wrong in the configuration files when they were read last. */
  configIssues: readonly ConfigIssue[] = [];
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
    const upkeep = await this.upkeep();
    if (!this.disposed) await upkeep.start();
  }

  private async openUpkeep(): Promise<WindowUpkeep> {
    const { WindowUpkeep: Upkeep } = await import('./windowUpkeep');
    const news: UpkeepNews = {
      configured: (worktree, config) => this.configs.set(worktree, config),
      configsRead: (issues) => {
        this.configIssues = issues;
        this.configReads.fire(issues);
      },
      fixed: (ref, messages) =>
        this.findings.set(refKey(ref), [...(this.findings.get(refKey(ref)) ?? []), ...messages]),
      crashed: (task) => this.crashes.fire(task),
      changed: (refs) => this.changedAll(refs),
      looked: () => this.tellNews(),
      aged: () => this.changes.fire(undefined),
    };
    const upkeep = new Upkeep(this, news, this.watcher);
    this.openedUpkeep = upkeep;
    // The window was closed while it was loaded.
    if (this.disposed) upkeep.end();
    return upkeep;
  }

  /** Looks for crashes, commits and foreign edits now; not in an untrusted workspace. */
  async look(): Promise<void> {
    if (this.mayWork) await (await this.upkeep()).look();
  }

  /** Makes the checkpoints for commits and pushes of this window's repositories; not in an untrusted workspace. */
  async scanGit(): Promise<void> {
    if (this.mayWork) await (await this.upkeep()).scanGit();
  }

  private get mayWork(): boolean {
    return !this.disposed && vscode.workspace.isTrusted;
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

  /** Tells of the tasks that are others than the views were told last, and of all where one came or went. */
  private tellNews(): void {
    const open = this.ownWorkspaces().flatMap((workspace) => this.atlas.catalog.open(workspace));
    const news = open.filter((ref) => this.isNews(ref));
    const list = [...this.ownWorkspaces(), ...open.map(refKey)].join('\n');
    if (list !== this.listed) this.changes.fire(undefined);
    else for (const ref of news) this.changes.fire(ref);
    this.listed = list;
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
        if (suspect && this.mayWork) await (await this.upkeep()).lookAt(ref);
        if (read.ok && isTerminal(read.value.hook.state)) this.watcher.remove(ref);
      }
      this.follow();
      for (const ref of refs) if (this.isNews(ref)) this.changes.fire(ref);
    })().catch((error: unknown) => {
      this.atlas.ports.log.error('Taking up a change failed.', { error: messageOf(error) });
    });
  }

  /** Watches this window's tasks, and owns those in flight. */
  follow(): void {
    if (!this.mayWork) return;
    const own = this.ownTasks().map((task) => task.ref);
    for (const ref of own) this.watcher.add(ref);
    this.openedUpkeep?.own(own);
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
  async hasNewWorkspace(): Promise<boolean> {
    for (const { worktree, workspace } of this.places) {
      if (workspace === undefined && (await this.atlas.locate(worktree)).workspace !== undefined) return true;
    }
    return false;
  }

  dispose(): void {
    this.disposed = true;
    this.openedUpkeep?.end();
    this.watcher.close();
    this.changes.dispose();
    this.placeChanges.dispose();
    this.touches.dispose();
    this.configReads.dispose();
    this.crashes.dispose();
  }
}
