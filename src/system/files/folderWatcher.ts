import { watch } from 'node:fs';

/** What is heard of a folder's entry: it came, went or is another, or was written in place. Some systems don't name it. */
export type Heard = (event: string, name: string | null) => void;

/** Watches single folders, without what lies in folders below them. */
export interface FolderWatcher {
  /**
   * Hears what happens to the entries of a folder from now on; throws where it can't.
   * @param failed hears why nothing more is heard
   * @returns ends it
   */
  watch(folder: string, heard: Heard, failed: (error: unknown) => void): () => void;
}

/**
 * By the system's own means: one watch a folder, none a file, since a watch on a file goes deaf once the file is replaced.
 * It reads nothing and hears from the first moment on, so it is what folders with many entries are watched by.
 */
export const systemFolders: FolderWatcher = {
  watch(folder, heard, failed) {
    const watcher = watch(folder, heard).on('error', failed);
    return () => watcher.close();
  },
};
