import { type FSWatcher, watch } from 'node:fs';
import { basename } from 'node:path';
import type { Logger } from '../core/shared/ports';
import { messageOf } from '../core/shared/errors';
import type { FSWatcher as ChokidarWatcher } from './chokidar';
import type { StorePaths } from './paths';
import { type TaskRef, refKey } from '../core/task/taskRef';

/** Several writes of one change come as one notice after this time, in ms. */
const SETTLE_MS = 30;
const STATE_FILES = new Set(['hook.json', 'task.json']);

/**
 * Tells which tasks were changed, by whatever process. It watches the folder of markers, which every writer of ours
 * touches, and the folders of open tasks, for writers that know nothing of it: one watch a folder, none a file, since
 * a watch on a file goes deaf once the file is replaced. The tasks' folders are watched by the system's own means:
 * chokidar would read each of them first, which for a hundred takes twenty times as long and ten times the memory.
 */
export class StoreWatcher {
  private watcher: ChokidarWatcher | undefined;
  private readonly tasks = new Map<string, FSWatcher>();
  private readonly changed = new Map<string, TaskRef>();
  private timer: NodeJS.Timeout | undefined;
  private onSpool: (() => void) | undefined;

  constructor(
    private readonly paths: StorePaths,
    private readonly log: Logger,
    private readonly onChange: (refs: readonly TaskRef[]) => void,
  ) {}

  /** Starts watching; resolves when every change from then on is seen. */
  async start(refs: readonly TaskRef[]): Promise<void> {
    for (const ref of refs) this.add(ref);
    const { watch: watchShared } = await import('./chokidar');
    const watcher = watchShared([this.paths.open, ...(this.onSpool === undefined ? [] : [this.paths.spool])], {
      depth: 0,
      ignoreInitial: true,
      // Only the folders themselves: chokidar would otherwise set a watch on each file in them.
      ignored: (path) => path !== this.paths.open && path !== this.paths.spool,
    });
    this.watcher = watcher;
    watcher.on('raw', (_event, name, details: unknown) => {
      this.takeShared(typeof name === 'string' ? basename(name) : '', details);
    });
    watcher.on('error', (error) => {
      this.failed(error);
    });
    await new Promise<void>((resolve) => {
      watcher.once('ready', resolve);
    });
  }

  /** Tells of events that git hooks write from now on; the folder is there. */
  addSpool(onSpool: () => void): void {
    this.onSpool = onSpool;
    this.watcher?.add(this.paths.spool);
  }

  /** Watches the folder of one more task. */
  add(ref: TaskRef): void {
    const key = refKey(ref);
    if (this.tasks.has(key)) return;
    try {
      const watcher = watch(this.paths.task(ref), (_event, name) => {
        // Some systems don't name the file; then it may have been one of ours.
        if (name === null || STATE_FILES.has(name)) this.tell(ref);
      });
      watcher.on('error', (error) => {
        this.failed(error);
        this.remove(ref);
      });
      this.tasks.set(key, watcher);
    } catch (error) {
      // The folder is gone, or the system's watches are used up: writers of ours are still seen by their markers.
      this.failed(error);
    }
  }

  /** Stops watching the folder of a task. */
  remove(ref: TaskRef): void {
    this.tasks.get(refKey(ref))?.close();
    this.tasks.delete(refKey(ref));
  }

  /** Stops watching. */
  async close(): Promise<void> {
    clearTimeout(this.timer);
    for (const watcher of this.tasks.values()) watcher.close();
    this.tasks.clear();
    await this.watcher?.close();
  }

  private failed(error: unknown): void {
    this.log.warn('Watching the Atlas store failed. Changes by other processes show late.', {
      error: messageOf(error),
    });
  }

  private takeShared(file: string, details: unknown): void {
    const watched =
      typeof details === 'object' && details !== null && 'watchedPath' in details ? details.watchedPath : undefined;
    if (watched === this.paths.spool) {
      // Who drains and which windows are open stands there too.
      if (file === '' || file.startsWith('event.')) this.onSpool?.();
      return;
    }
    const ref = watched === this.paths.open ? this.paths.refOfMarker(file) : undefined;
    if (ref !== undefined) this.tell(ref);
  }

  private tell(ref: TaskRef): void {
    this.changed.set(refKey(ref), ref);
    this.timer ??= setTimeout(() => {
      this.flush();
    }, SETTLE_MS);
  }

  private flush(): void {
    this.timer = undefined;
    const refs = [...this.changed.values()];
    this.changed.clear();
    this.onChange(refs);
  }
}
