import { type FSWatcher, existsSync, watch } from 'node:fs';
import { basename } from 'node:path';
import { messageOf } from '../../core/shared/errors';
import type { Logger } from '../../core/shared/ports';

/** Several writes of one change come as one notice after this time, in ms. */
const SETTLE_MS = 30;

/** What is told of a folder's entry; some systems don't name it. */
export type Concerns = (event: string, name: string | null) => boolean;

/**
 * Watches of single folders, each by a key and by the system's own means: one a folder, none a file, since a watch on a
 * file goes deaf once the file is replaced.
 */
export class FolderWatches {
  private readonly watchers = new Map<string, FSWatcher>();
  private readonly timers = new Map<string, NodeJS.Timeout>();

  constructor(private readonly log: Logger) {}

  /** Whether a folder is watched by that key. */
  has(key: string): boolean {
    return this.watchers.has(key);
  }

  /** Tells a moment after something happened that concerns the caller; a folder that goes is told of and forgotten. */
  watch(key: string, folder: string, concerns: Concerns, tell: () => void): void {
    if (this.watchers.has(key)) return;
    try {
      const watcher = watch(folder, (event, name) => {
        const gone = event === 'rename' && name === basename(folder) && !existsSync(folder);
        if (gone) this.end(key);
        if (gone || concerns(event, name)) this.soon(key, tell);
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

  private soon(key: string, tell: () => void): void {
    if (this.timers.has(key)) return;
    const timer = setTimeout(() => {
      this.timers.delete(key);
      tell();
    }, SETTLE_MS);
    this.timers.set(key, timer);
  }

  private failed(folder: string, error: unknown): void {
    this.log.warn(`Watching ${folder} failed. Its changes are not reported.`, { error: messageOf(error) });
  }

  /** Stops watching a folder. */
  end(key: string): void {
    this.watchers.get(key)?.close();
    this.watchers.delete(key);
    clearTimeout(this.timers.get(key));
    this.timers.delete(key);
  }

  /** Stops watching. */
  close(): void {
    for (const key of [...this.watchers.keys(), ...this.timers.keys()]) this.end(key);
  }
}
