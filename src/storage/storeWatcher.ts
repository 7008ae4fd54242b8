import { basename } from 'node:path';
import type { FSWatcher } from 'chokidar';
import type { Logger } from '../core/ports';
import { messageOf } from '../core/errors';
import { type StorePaths, type TaskRef, refKey } from './paths';

/** Several writes of one change come as one notice after this time, in ms. */
const SETTLE_MS = 30;
const STATE_FILES = new Set(['hook.json', 'task.json']);

/**
 * Tells which tasks were changed, by whatever process. It watches the folder of markers, which every writer of ours
 * touches, and the folders of open tasks, for writers that know nothing of it: one watch a folder, none a file, since
 * a watch on a file goes deaf once the file is replaced.
 */
export class StoreWatcher {
  private watcher: FSWatcher | undefined;
  private readonly folders = new Map<string, TaskRef>();
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
    for (const ref of refs) this.folders.set(this.paths.task(ref), ref);
    const { watch } = await import('chokidar');
    const watcher = watch([this.paths.open, ...this.folders.keys()], {
      depth: 0,
      ignoreInitial: true,
      // Only the folders themselves: chokidar would otherwise set a watch on each file in them.
      ignored: (path) => path !== this.paths.open && path !== this.paths.spool && !this.folders.has(path),
    });
    this.watcher = watcher;
    watcher.on('raw', (_event, name, details: unknown) => {
      this.take(name, details);
    });
    watcher.on('error', (error) => {
      this.log.warn('Watching the Atlas store failed; changes by others show late.', { error: messageOf(error) });
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
    const folder = this.paths.task(ref);
    if (this.folders.has(folder)) return;
    this.folders.set(folder, ref);
    this.watcher?.add(folder);
  }

  /** Stops watching the folder of a task. */
  remove(ref: TaskRef): void {
    const folder = this.paths.task(ref);
    if (!this.folders.delete(folder)) return;
    this.watcher?.unwatch(folder);
  }

  /** Stops watching. */
  async close(): Promise<void> {
    clearTimeout(this.timer);
    await this.watcher?.close();
  }

  private take(name: unknown, details: unknown): void {
    const watched =
      typeof details === 'object' && details !== null && 'watchedPath' in details ? details.watchedPath : undefined;
    if (typeof watched !== 'string') return;
    const file = typeof name === 'string' ? basename(name) : '';
    if (watched === this.paths.spool) {
      // Who drains and which windows are open stands there too.
      if (file === '' || file.startsWith('event.')) this.onSpool?.();
      return;
    }
    const ref = watched === this.paths.open ? this.paths.refOfMarker(file) : this.folders.get(watched);
    if (ref === undefined) return;
    // Some systems don't name the file; then it may have been one of ours.
    if (watched !== this.paths.open && file !== '' && !STATE_FILES.has(file)) return;
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
