import { existsSync } from 'node:fs';
import type { Logger } from '../core/shared/ports';
import { systemFolders } from '../system/files/folderWatcher';
import { FolderWatches } from '../system/files/folderWatches';
import type { StorePaths } from './paths';
import { type TaskRef, refKey } from '../core/task/taskRef';

/** Several writes of one change come as one notice after this time, in ms. */
const SETTLE_MS = 30;
const STATE_FILES = new Set(['hook.json', 'task.json']);
const MARKERS = 'markers';

/**
 * Tells which tasks were changed, by whatever process. It watches the folder of markers, which every writer of ours
 * touches, and the folders of open tasks, for writers that know nothing of it. All of them by the system's own means:
 * chokidar would read each folder first and watch each file, which for a hundred tasks takes twenty times as long and
 * ten times the memory. The spool of git hooks alone is chokidar's.
 */
export class StoreWatcher {
  private readonly folders: FolderWatches;
  private readonly changed = new Map<string, TaskRef>();
  private spool: FolderWatches | undefined;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(
    private readonly paths: StorePaths,
    private readonly log: Logger,
    private readonly onChange: (refs: readonly TaskRef[]) => void,
  ) {
    // A change touches a marker and the task's folder: they settle together.
    this.folders = new FolderWatches(log, systemFolders, 0);
  }

  /** Starts watching: every change from then on is seen. */
  start(refs: readonly TaskRef[]): void {
    for (const ref of refs) this.add(ref);
    if (!existsSync(this.paths.open)) return;
    this.folders.watch(
      MARKERS,
      this.paths.open,
      () => true,
      (name) => {
        const ref = name === null ? undefined : this.paths.refOfMarker(name);
        if (ref !== undefined) this.tell(ref);
      },
    );
  }

  /** Tells of events that git hooks write from now on, and of those that wait; the folder is there. */
  async addSpool(onSpool: () => void): Promise<void> {
    const { fewFiles } = await import('./chokidar');
    if (this.closed) return;
    this.spool?.close();
    // Who drains and which windows are open stands there too.
    const events = fewFiles((name) => name.startsWith('event.'));
    this.spool = new FolderWatches(this.log, events, 0);
    this.spool.watch(this.paths.spool, this.paths.spool, () => true, onSpool);
  }

  add(ref: TaskRef): void {
    this.folders.watch(
      refKey(ref),
      this.paths.task(ref),
      // Some systems don't name the file; then it may have been one of ours.
      (_event, name) => name === null || STATE_FILES.has(name),
      () => this.tell(ref),
    );
  }

  remove(ref: TaskRef): void {
    this.folders.end(refKey(ref));
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.folders.close();
    this.spool?.close();
  }

  private tell(ref: TaskRef): void {
    this.changed.set(refKey(ref), ref);
    this.timer ??= setTimeout(() => this.flush(), SETTLE_MS);
  }

  private flush(): void {
    this.timer = undefined;
    const refs = [...this.changed.values()];
    this.changed.clear();
    this.onChange(refs);
  }
}
