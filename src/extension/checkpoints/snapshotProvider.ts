import * as vscode from 'vscode';
import type { WindowTasks } from '../windowTasks';

/** Of files as they were at a checkpoint. */
export const SNAPSHOT_SCHEME = 'atlas-snapshot';

/**
 * Lets editors open files as they were at a checkpoint; also those that a reload left open, so that it is registered from
 * the beginning. What reads them is loaded with the first one.
 */
export function offerSnapshotFiles(session: WindowTasks): vscode.Disposable {
  const bytesOf = async (uri: vscode.Uri): Promise<Uint8Array> =>
    (await import('./snapshotFiles')).snapshotBytes(session, uri);
  const refuse = (uri: vscode.Uri): never => {
    throw vscode.FileSystemError.NoPermissions(uri);
  };
  const provider: vscode.FileSystemProvider = {
    // What a checkpoint holds never changes.
    onDidChangeFile: () => new vscode.Disposable(() => undefined),
    watch: () => new vscode.Disposable(() => undefined),
    readFile: bytesOf,
    stat: async (uri) => ({
      ...{ type: vscode.FileType.File, ctime: 0, mtime: 0, permissions: vscode.FilePermission.Readonly },
      size: (await bytesOf(uri)).length,
    }),
    readDirectory: () => [],
    createDirectory: refuse,
    writeFile: refuse,
    delete: refuse,
    rename: refuse,
  };
  return vscode.workspace.registerFileSystemProvider(SNAPSHOT_SCHEME, provider, {
    isReadonly: true,
    isCaseSensitive: true,
  });
}
