import { messageOf } from '../../core/shared/errors';
import { snapshotOf } from '../../core/snapshot/snapshotEntry';
import { quotePath } from '../../core/snapshot/treePath';
import type { StoredTask } from '../../core/task/storedTask';
import type { SinceCheckpoint } from '../../core/task/worktreeState';
import type { SnapshotChange } from '../../snapshots/storage/contents';
import type { AtlasReader } from '../atlasReader';

/** The most files that are recorded. */
const MAX_FILES = 30;

const CHANGES: Readonly<Record<SnapshotChange['kind'], SinceCheckpoint['files'][number]['change']>> = {
  added: 'added',
  modified: 'modified',
  removed: 'deleted',
  mode: 'permissions',
  type: 'modified',
};

/**
 * How a task's files differ from those of its newest checkpoint that has any; `undefined` where none has, where snapshots
 * are turned off, or where it can't be said in time.
 */
export async function sinceCheckpoint(
  atlas: Pick<AtlasReader, 'ports' | 'snapshots'>,
  stored: StoredTask,
  timeoutMs: number,
): Promise<SinceCheckpoint | undefined> {
  const { files, paths, log } = atlas.ports;
  // Nothing is loaded for a task whose files were never captured.
  if (files.stat(paths.snapshots(stored.ref)) === undefined) return undefined;
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), timeoutMs);
  const late = new Promise<undefined>((resolve) => timeout.signal.addEventListener('abort', () => resolve(undefined)));
  try {
    return await Promise.race([compare(atlas, stored, timeoutMs, timeout.signal), late]);
  } catch (error) {
    log.warn('The files were not compared with the last checkpoint.', { error: messageOf(error) });
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

async function compare(
  atlas: Pick<AtlasReader, 'snapshots'>,
  stored: StoredTask,
  waitMs: number,
  signal: AbortSignal,
): Promise<SinceCheckpoint | undefined> {
  const { files } = await atlas.snapshots();
  if (!(await files.isEnabled(stored))) return undefined;
  const last = files.list(stored).findLast((each) => each.trigger !== 'auto' && snapshotOf(each) !== undefined);
  if (last === undefined) return undefined;
  const diff = await files.diff(stored, last, 'now', { stat: true, waitMs, signal });
  if (!diff.ok) return undefined;
  const { changes, unknown } = diff.value;
  return {
    checkpoint_id: last.id,
    files: changes.slice(0, MAX_FILES).map(({ path, kind, additions, deletions }) => ({
      path: quotePath(path),
      change: CHANGES[kind],
      ...(additions === undefined ? {} : { added: additions }),
      ...(deletions === undefined ? {} : { removed: deletions }),
    })),
    files_total: changes.length,
    ...(unknown.length === 0 ? {} : { unknown: unknown.length }),
  };
}
