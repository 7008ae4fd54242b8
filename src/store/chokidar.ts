/** The file watcher's package, built as a file of its own: it loads after the window's first answer. */
export { watch, type FSWatcher } from 'chokidar';
