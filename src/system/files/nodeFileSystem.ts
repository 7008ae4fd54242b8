import * as fs from 'node:fs';
import type { FileData, FilePath, FileStat, FileSystem } from '../../core/shared/ports';
import { codeOf } from './fileErrors';
import { openRegularFile, readPiece, readRegularFile } from './regularFile';

function kindOf(stats: fs.Stats): FileStat['kind'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'folder';
  return stats.isSymbolicLink() ? 'link' : 'other';
}

/** A path as Node takes it. */
function native(path: FilePath): string | Buffer {
  return typeof path === 'string' ? path : Buffer.from(path.buffer, path.byteOffset, path.byteLength);
}

/** Below a file there is nothing, just as in a folder that isn't there. */
function lstat(path: string): fs.Stats | undefined {
  try {
    return fs.lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (codeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

function writeAll(fd: number, data: FileData): void {
  let bytes: Uint8Array;
  let written = 0;
  if (typeof data === 'string') bytes = Buffer.from(data, 'utf8');
  else if (data instanceof Uint8Array) bytes = data;
  else {
    written = fs.writevSync(fd, data);
    if (written === data.reduce((sum, piece) => sum + piece.length, 0)) return;
    bytes = Buffer.concat(data);
  }
  while (written < bytes.length) written += fs.writeSync(fd, bytes, written, bytes.length - written);
}

/** Uses a file that is opened for writing: what isn't one is refused before a byte is written. */
function withFile(path: string, flags: number, mode: number, use: (fd: number) => void): void {
  const { fd } = openRegularFile(path, flags, { mode });
  try {
    use(fd);
  } finally {
    fs.closeSync(fd);
  }
}

const { O_RDONLY, O_RDWR, O_WRONLY, O_CREAT, O_EXCL, O_TRUNC, O_APPEND } = fs.constants;

/** So many syncs run at once. */
const AT_ONCE = 8;

/** The file operations of this machine. */
export class NodeFileSystem implements FileSystem {
  read(path: string, maxBytes: number, link: 'follow' | 'refuse' = 'follow'): Uint8Array {
    return readRegularFile(path, maxBytes, link);
  }

  readAt(path: string, position: number, length: number): Uint8Array {
    const { fd } = openRegularFile(path, O_RDONLY);
    try {
      return readPiece(fd, position, length);
    } finally {
      fs.closeSync(fd);
    }
  }

  write(path: string, data: FileData, options: { mode?: number; exclusive?: boolean; sync?: boolean } = {}): void {
    withFile(
      path,
      O_WRONLY | O_CREAT | (options.exclusive === true ? O_EXCL : O_TRUNC),
      options.mode ?? 0o644,
      (fd) => {
        writeAll(fd, data);
        if (options.sync === true) fs.fsyncSync(fd);
      },
    );
  }

  append(path: string, data: string | Uint8Array, options: { sync?: boolean } = {}): void {
    withFile(path, O_WRONLY | O_CREAT | O_APPEND, 0o644, (fd) => {
      writeAll(fd, data);
      if (options.sync === true) fs.fdatasyncSync(fd);
    });
  }

  truncate(path: string, size: number): void {
    withFile(path, O_RDWR, 0o644, (fd) => {
      fs.ftruncateSync(fd, size);
      fs.fdatasyncSync(fd);
    });
  }

  rename(from: string, to: FilePath): void {
    fs.renameSync(from, native(to));
  }

  link(existing: string, path: string): void {
    fs.linkSync(existing, path);
  }

  symlink(target: FilePath, path: string): void {
    fs.symlinkSync(native(target), path);
  }

  unlink(path: FilePath): void {
    fs.unlinkSync(native(path));
  }

  removeFolder(path: string): void {
    fs.rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  }

  removeEmptyFolder(path: FilePath): void {
    fs.rmdirSync(native(path));
  }

  makeFolder(path: FilePath, mode = 0o755): void {
    fs.mkdirSync(native(path), { mode });
  }

  list(path: string): string[] {
    return fs.readdirSync(path);
  }

  stat(path: string): FileStat | undefined {
    const stats = lstat(path);
    if (stats === undefined) return undefined;
    return {
      kind: kindOf(stats),
      size: stats.size,
      mtimeMs: stats.mtimeMs,
      ino: String(stats.ino),
      mode: stats.mode & 0o7777,
    };
  }

  exists(path: string): boolean {
    return fs.existsSync(path);
  }

  touch(path: string, mtimeMs: number): void {
    fs.utimesSync(path, mtimeMs / 1000, mtimeMs / 1000);
  }

  chmod(path: FilePath, mode: number): void {
    fs.chmodSync(native(path), mode);
  }

  realPath(path: string): string {
    return fs.realpathSync.native(path);
  }

  syncFolder(path: string): void {
    // Windows can't open a folder for this; its file system orders the rename itself.
    if (process.platform === 'win32') return;
    const fd = fs.openSync(path, 'r');
    try {
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
  }

  async syncAll(paths: readonly FilePath[]): Promise<void> {
    // Each of these waits for the disk on a thread of its own, and the disk writes for all of them at once.
    const rest = [...paths];
    const isWindows = process.platform === 'win32';
    const work = async (): Promise<void> => {
      for (let path = rest.pop(); path !== undefined; path = rest.pop()) {
        if (isWindows && (await fs.promises.stat(native(path))).isDirectory()) continue;
        // Windows syncs only what is open for writing.
        const handle = await fs.promises.open(native(path), isWindows ? 'r+' : 'r');
        try {
          await handle.sync();
        } finally {
          await handle.close();
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }
}
