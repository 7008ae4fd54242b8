import { type FSWatcher, watch } from 'node:fs';
import { messageOf } from '../core/errors';
import type { Logger } from '../core/ports';
import { type StorePaths, type TaskRef, refKey } from './paths';

/** Several writes of one change come as one notice after this time, in ms. */
const SETTLE_MS = 30;
const LIST = 'list';
const MARKDOWN = 'HOOK.md';

/** Tells when HOOK.md of some tasks was written, by whatever process, and when a task began or ended. */
export class MarkdownWatcher {
  private readonly watchers = new Map<string, FSWatcher>();
  private readonly timers = new Map<string, NodeJS.Timeout>();

  constructor(
    private readonly paths: StorePaths,
    private readonly log: Logger,
  ) {}

  /** Tells when other tasks are open than before; the store has to be there. */
  watchList(onList: () => void): void {
    // A change of a task only touches its marker; one that comes or goes is another list.
    this.watch(LIST, this.paths.open, (event) => event === 'rename', onList);
  }

  /** Tells when HOOK.md of a task was written. */
  add(ref: TaskRef, onWritten: () => void): void {
    // Some systems don't name the file; then it may have been that one.
    this.watch(refKey(ref), this.paths.task(ref), (_event, name) => name === null || name === MARKDOWN, onWritten);
  }

  /** Tells nothing more of a task. */
  remove(ref: TaskRef): void {
    this.end(refKey(ref));
  }

  /** Stops watching. */
  close(): void {
    for (const key of [...this.watchers.keys()]) this.end(key);
  }

  private watch(
    key: string,
    folder: string,
    concerns: (event: string, name: string | null) => boolean,
    tell: () => void,
  ): void {
    if (this.watchers.has(key)) return;
    try {
      const watcher = watch(folder, (event, name) => {
        if (!concerns(event, name) || this.timers.has(key)) return;
        const timer = setTimeout(() => {
          this.timers.delete(key);
          tell();
        }, SETTLE_MS);
        this.timers.set(key, timer);
      });
      watcher.on('error', (error) => {
        this.failed(folder, error);
        this.end(key);
      });
      this.watchers.set(key, watcher);
    } catch (error) {
      this.failed(folder, error);
    }
  }

  private failed(folder: string, error: unknown): void {
    this.log.warn(`Watching ${folder} failed; its changes are not told.`, { error: messageOf(error) });
  }

  private end(key: string): void {
    this.watchers.get(key)?.close();
    this.watchers.delete(key);
    clearTimeout(this.timers.get(key));
    this.timers.delete(key);
  }
}
