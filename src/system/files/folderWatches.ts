import { existsSync, lstatSync } from 'node:fs';
import { basename, join } from 'node:path';
import { messageOf } from '../../core/shared/errors';
import type { Logger } from '../../core/shared/ports';
import { type FolderWatcher, type Heard, systemFolders } from './folderWatcher';

/** Several writes of one change come as one notice after this time, in ms. */
const SETTLE_MS = 30;

/** Which events of a folder's entries are told; some systems don't name the entry. */
export type Concerns = (event: string, name: string | null) => boolean;

/** A folder that is to be watched. */
export interface Wanted {
  readonly folder: string;
  readonly concerns: Concerns;
  readonly tell: () => void;
}

/** Watches of single folders, each by a key. */
export class FolderWatches {
  private readonly ends = new Map<string, () => void>();
  private readonly timers = new Map<string, NodeJS.Timeout>();
  /** By group: folder and inode. A folder may be removed and made again, and a watch stays with the old one. */
  private readonly followed = new Map<string, ReadonlyMap<string, number>>();

  /** @param settleMs after this time several events of a folder are told as one; 0 for each at once */
  constructor(
    private readonly log: Logger,
    private readonly watcher: FolderWatcher = systemFolders,
    private readonly settleMs = SETTLE_MS,
  ) {}

  /**
   * Tells a moment after something happened that concerns the caller; a folder that goes is told of and forgotten.
   * @param tell gets the entry that it happened to, the first of several
   */
  watch(key: string, folder: string, concerns: Concerns, tell: (name: string | null) => void): void {
    if (this.ends.has(key)) return;
    const failed = (error: unknown): void => {
      this.log.warn(`Watching ${folder} failed. Its changes are not reported.`, { error: messageOf(error) });
      this.end(key);
    };
    const heard: Heard = (event, name) => {
      const gone = event === 'rename' && name === basename(folder) && !existsSync(join(folder, name));
      if (gone) this.end(key);
      // Made again already, maybe as the same inode: the watch stayed with the old one.
      if (gone && existsSync(folder)) this.watch(key, folder, concerns, tell);
      if (gone || concerns(event, name)) this.soon(key, name, tell);
    };
    try {
      this.ends.set(key, this.watcher.watch(folder, heard, failed));
    } catch (error) {
      failed(error);
    }
  }

  /**
   * Watches these folders and no others of a group, each as it is named first; what is no folder, such as a link to one,
   * is left out. To be called again whenever folders may have come or gone.
   */
  follow(group: string, wanted: readonly Wanted[]): void {
    const before = this.followed.get(group);
    const now = new Map<string, number>();
    for (const { folder, concerns, tell } of wanted) {
      const inode = inodeOf(folder);
      if (inode === undefined || now.has(folder)) continue;
      const key = `${group}\n${folder}`;
      if (before?.get(folder) !== inode) this.end(key);
      this.watch(key, folder, concerns, tell);
      now.set(folder, inode);
    }
    for (const folder of before?.keys() ?? []) if (!now.has(folder)) this.end(`${group}\n${folder}`);
    this.followed.set(group, now);
  }

  private soon(key: string, name: string | null, tell: (name: string | null) => void): void {
    if (this.settleMs === 0) tell(name);
    if (this.settleMs === 0 || this.timers.has(key)) return;
    const timer = setTimeout(() => {
      this.timers.delete(key);
      tell(name);
    }, this.settleMs);
    this.timers.set(key, timer);
  }

  /** Stops watching a folder. */
  end(key: string): void {
    this.ends.get(key)?.();
    this.ends.delete(key);
    clearTimeout(this.timers.get(key));
    this.timers.delete(key);
  }

  /** Stops watching; what is followed later is watched again. */
  close(): void {
    for (const key of [...this.ends.keys(), ...this.timers.keys()]) this.end(key);
  }
}

/** Which folder it is; `undefined` where it is none. */
function inodeOf(folder: string): number | undefined {
  try {
    const stat = lstatSync(folder, { throwIfNoEntry: false });
    return stat?.isDirectory() === true ? stat.ino : undefined;
  } catch {
    return undefined;
  }
}
