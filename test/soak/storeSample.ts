import { type Dirent, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Atlas } from '../../src/service/atlas';

/** What lies in a store. */
export interface StoreSample {
  /** Reports of agents that wait to be taken in. */
  readonly reports: number;
  /** Temporary files and locks of the store that are older than a minute: nobody is at them any more. */
  readonly abandoned: number;
  /** Entries of checkpoints and restore points of the open task that has most. */
  readonly captures: number;
  /** Files of the task that has most, of all that there ever were. */
  readonly filesOfTask: number;
  /** Files for each session that is not forgotten. */
  readonly filesOfSession: number;
  /** Files that belong to neither, and are not of the database. */
  readonly otherFiles: number;
  /** Files of the database with the files of checkpoints. */
  readonly databaseFiles: number;
  /** Size of that database, MB. */
  readonly databaseSize: number;
}

const MB = 1024 * 1024;
const OLD_MS = 60_000;

interface StoredFile {
  readonly path: string;
  readonly size: number;
  readonly ageMs: number;
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // not there yet, or gone since it was listed
  }
}

function filesBelow(folder: string): StoredFile[] {
  return entriesOf(folder).flatMap((entry) => {
    const each = path.join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(each);
    const stat = statSync(each, { throwIfNoEntry: false });
    return stat === undefined ? [] : [{ path: each, size: stat.size, ageMs: Date.now() - stat.mtimeMs }];
  });
}

/** Looks at a store. */
export function sampleStore({ ports: { paths }, catalog, workspaces }: Atlas): StoreSample {
  const files = filesBelow(paths.root);
  const count = (folder: string): number => entriesOf(folder).length;
  const below = (folder: string): StoredFile[] => files.filter((file) => file.path.startsWith(folder + path.sep));
  const sessions = path.join(paths.root, 'sessions');
  const [database, ofTasks, ofSessions] = [
    below(paths.snapshotDatabases),
    below(paths.workspaces),
    below(sessions),
  ] as const;
  const tasks = workspaces.names().flatMap((name) => workspaces.taskIds(name).map((id) => ({ workspace: name, id })));
  return {
    reports: files.filter((file) => path.dirname(file.path) === path.join(paths.root, 'observed')).length,
    abandoned: files.filter(({ path: each, ageMs }) => /\.(?:tmp|lock)$/u.test(each) && ageMs > OLD_MS).length,
    captures: Math.max(...catalog.open().map((ref) => count(paths.snapshots(ref)))),
    filesOfTask: Math.max(0, ...tasks.map((ref) => below(paths.task(ref)).length)),
    filesOfSession: ofSessions.length / Math.max(1, count(sessions)),
    otherFiles: files.length - database.length - ofTasks.length - ofSessions.length,
    databaseFiles: database.length,
    databaseSize: database.reduce((sum, { size }) => sum + size, 0) / MB,
  };
}
