import { join } from 'node:path';
import type { Logger } from '../../core/shared/ports';
import { slotBranchName } from '../../core/worker/names';
import { type Concerns, FolderWatches, type Wanted } from '../../system/files/folderWatches';

/** How long without a sign it takes until there is a look anyway, in ms: a process that dies moves no branch, and some disks tell nothing. */
const PATIENCE_MS = 10_000;

/** Tells when a worker's branch may have moved, from the folders in which git writes it. */
export class SlotWatch {
  private readonly watches: FolderWatches;
  private told = false;
  private wake: () => void = () => undefined;

  constructor(
    private readonly commonDir: string,
    private readonly worker: string,
    log: Logger,
    private readonly patienceMs = PATIENCE_MS,
  ) {
    this.watches = new FolderWatches(log);
  }

  /** Watches what is there by now; to be called before each look, so that nothing comes unseen between look and wait. */
  arm(): void {
    this.told = false;
    const path = [this.commonDir, ...slotBranchName(this.worker).split('/')];
    // Folders come with the first branch in them, and go with the last.
    const folders = path.slice(1).map((next, index): Wanted => {
      const concerns: Concerns = (_event, name) => name === null || name === next || name === `${next}.lock`;
      return { folder: join(...path.slice(0, index + 1)), concerns, tell: this.tell };
    });
    // Where branches are kept in tables, it is one of those that changes.
    const tables = { folder: join(this.commonDir, 'reftable'), concerns: () => true, tell: this.tell };
    this.watches.follow('', [...folders, tables]);
  }

  private readonly tell = (): void => {
    this.told = true;
    this.wake();
  };

  /** Waits for a sign since the watch was armed, for a while at most, or until it is cancelled. */
  async sign(signal: AbortSignal): Promise<void> {
    if (this.told || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.wake(), this.patienceMs);
      const cancel = (): void => this.wake();
      this.wake = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', cancel);
        this.wake = () => undefined;
        resolve();
      };
      signal.addEventListener('abort', cancel, { once: true });
    });
  }

  close(): void {
    this.watches.close();
  }
}
