import type { Logger } from '../../core/shared/ports';
import { FolderWatches } from '../../system/files/folderWatches';
import type { StorePaths } from '../../store/paths';
import { type TaskRef, refKey } from '../../core/task/taskRef';

const LIST = 'list';
const MARKDOWN = 'HOOK.md';

/** Tells when HOOK.md of some tasks was written, by whatever process, and when a task began or ended. */
export class MarkdownWatcher {
  private readonly watches: FolderWatches;

  constructor(
    private readonly paths: StorePaths,
    log: Logger,
  ) {
    this.watches = new FolderWatches(log);
  }

  /** Tells when other tasks are open than before; the store has to be there. */
  watchList(onList: () => void): void {
    // A change of a task only touches its marker; one that comes or goes is another list.
    this.watches.watch(LIST, this.paths.open, (event) => event === 'rename', onList);
  }

  add(ref: TaskRef, onWritten: () => void): void {
    // Some systems don't name the file; then it may have been that one.
    const concerns = (_event: string, name: string | null): boolean => name === null || name === MARKDOWN;
    this.watches.watch(refKey(ref), this.paths.task(ref), concerns, onWritten);
  }

  remove(ref: TaskRef): void {
    this.watches.end(refKey(ref));
  }

  close(): void {
    this.watches.close();
  }
}
