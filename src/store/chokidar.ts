import { basename } from 'node:path';
import { watch } from 'chokidar';
import type { FolderWatcher } from '../system/files/folderWatcher';

/**
 * By chokidar, which reads a folder first and sets a watch on each of its files: for folders of few files that come and
 * go, such as a spool. It hears of the files that are there when it begins, so none is missed before it is ready. Built
 * as a file of its own, which loads after the window's first answer.
 * @param wanted names of the entries that are heard of; no others are watched
 */
export function fewFiles(wanted: (name: string) => boolean): FolderWatcher {
  return {
    watch(folder, heard, failed) {
      const ignored = (path: string): boolean => path !== folder && !wanted(basename(path));
      // One file that can't be read is no reason to hear of no other.
      const watcher = watch(folder, { depth: 0, ignored, ignorePermissionErrors: true, atomic: false });
      watcher.on('add', (path) => heard('rename', basename(path)));
      watcher.on('change', (path) => heard('change', basename(path)));
      watcher.on('error', failed);
      return () => void watcher.close();
    },
  };
}
