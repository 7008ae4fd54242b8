import * as vscode from 'vscode';
import { isCheckpointId } from '../../core/snapshot/snapshotEntry';
import { type TreePath, quotePath } from '../../core/snapshot/treePath';
import type { TaskRef } from '../../core/task/taskRef';
import { field, refFrom } from '../shared/arguments';
import { SNAPSHOT_SCHEME } from './snapshotProvider';

/** A file of a checkpoint. */
export interface SnapshotFileName {
  readonly ref: TaskRef;
  readonly checkpoint: string;
  readonly path: TreePath;
}

/**
 * Where the editor finds a file as it was. What people see is the path; what is looked up stands in the query, since a
 * path need not be text.
 * @param current the file as it is: one with another path would be shown as renamed
 */
export function snapshotUri({ ref, checkpoint, path }: SnapshotFileName, current: vscode.Uri | undefined): vscode.Uri {
  const query = JSON.stringify({ ...ref, checkpoint, path });
  return vscode.Uri.from({ scheme: SNAPSHOT_SCHEME, path: current?.path ?? `/${quotePath(path)}`, query });
}

/** The file that such an address names; `undefined` for one that others made up. */
export function snapshotFileOf(uri: vscode.Uri): SnapshotFileName | undefined {
  let query: unknown;
  try {
    query = JSON.parse(uri.query);
  } catch {
    return undefined;
  }
  const ref = refFrom(query);
  const [checkpoint, path] = [field(query, 'checkpoint'), field(query, 'path')];
  if (ref === undefined || typeof checkpoint !== 'string' || typeof path !== 'string') return undefined;
  return isCheckpointId(checkpoint) ? { ref, checkpoint, path } : undefined;
}
