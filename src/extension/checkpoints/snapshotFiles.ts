import * as vscode from 'vscode';
import { LruCache } from '../../core/shared/lru';
import type { WindowTasks } from '../windowTasks';
import { snapshotFileOf } from './snapshotUris';

/** A larger file (bytes) is not shown. */
const MAX_BYTES = 64 * 1024 * 1024;
/** An editor asks for a file's size, and then for its bytes: so many small files are kept until then. */
const KEPT = 20;
const MAX_KEPT_BYTES = 256 * 1024;

const lately = new LruCache<Buffer>(KEPT);

/** A file as it was at a checkpoint. Throws what an editor expects of a file system. */
export async function snapshotBytes(session: WindowTasks, uri: vscode.Uri): Promise<Buffer> {
  const key = uri.toString();
  const known = lately.get(key);
  if (known !== undefined) return known;
  const named = snapshotFileOf(uri);
  const stored = named === undefined ? undefined : session.atlas.catalog.read(named.ref);
  if (named === undefined || stored?.ok !== true) throw vscode.FileSystemError.FileNotFound(uri);
  const { files } = await session.atlas.snapshots();
  const item = files.find(stored.value, named.checkpoint);
  if (!item.ok) throw vscode.FileSystemError.FileNotFound(item.error.message);
  const found = await files.read(item.value, named.path, MAX_BYTES);
  if (!found.ok) throw vscode.FileSystemError.Unavailable(found.error.message);
  if (found.value === undefined) throw vscode.FileSystemError.FileNotFound(uri);
  const { bytes } = found.value;
  if (bytes.length <= MAX_KEPT_BYTES) lately.set(key, bytes);
  return bytes;
}
