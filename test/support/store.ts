import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { unwrap } from '../../src/core/errors';
import type { FileData, FileSystem } from '../../src/core/ports';
import { Atlas } from '../../src/service/atlas';
import { type ServicePorts, silentLog, systemPorts } from '../../src/service/ports';
import type { TaskRef } from '../../src/storage/paths';
import type { Updated } from '../../src/storage/stored';

/** A store in a temporary folder and a folder to work in, which is no repository. */
export interface TestStore {
  readonly root: string;
  readonly folder: string;
  readonly atlas: Atlas;
  /** Another instance on the same store, as another process would have. */
  other(ports?: Partial<ServicePorts>): Atlas;
  /** Starts a task of the built-in template `commit`. */
  start(template?: string): Promise<TaskRef>;
  /** Starts a task and its first step. */
  running(template?: string): Promise<TaskRef>;
  dispose(): void;
}

/** Makes a store. `ports` replace those of this machine. */
export function makeStore(ports: Partial<ServicePorts> = {}): TestStore {
  const base = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'atlas-store-')));
  const root = path.join(base, 'home');
  const folder = path.join(base, 'work');
  mkdirSync(folder);
  const other = (more: Partial<ServicePorts> = {}): Atlas =>
    new Atlas({ ...systemPorts(root, '0.0.0', silentLog), ...more });
  const atlas = other(ports);
  const start = async (template = 'commit'): Promise<TaskRef> =>
    unwrap(await other().startTask({ title: 'Sample', template, folder })).ref;
  return {
    root,
    folder,
    atlas,
    other,
    start,
    running: async (template) => {
      const ref = await start(template);
      unwrap(await other().send(ref, { type: 'start_step' }));
      return ref;
    },
    dispose: () => rmSync(base, { recursive: true, force: true }),
  };
}

/** A checkpoint by hand, which has to be made. */
export async function checkpoint(atlas: Atlas, ref: TaskRef, description = 'by hand'): Promise<Updated> {
  return unwrap(await atlas.checkpoint(ref, description));
}

/** Every file below a folder with its content, but for locks. */
export function contentsOf(folder: string): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true });
  return new Map(
    names
      .filter((entry) => entry.isFile() && !entry.parentPath.endsWith('locks'))
      .map((entry) => path.join(entry.parentPath, entry.name))
      .sort()
      .map((file) => [path.relative(folder, file), readFileSync(file, 'latin1')]),
  );
}

/** Replaces part of a file by hand, as a foreign program would: in place. */
export function editFile(file: string, edit: (text: string) => string): void {
  writeFileSync(file, edit(readFileSync(file, 'utf8')));
}

/** A Node error with a code. */
export function nodeError(code: string): NodeJS.ErrnoException {
  const error: NodeJS.ErrnoException = new Error(`${code}: injected`);
  error.code = code;
  return error;
}

/** The bytes of what is to be written. */
export function bytesOf(data: FileData): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data, 'utf8');
  return data instanceof Uint8Array ? data : Buffer.concat(data);
}

/** The name of one of the operations of a file system. */
export type Operation = keyof FileSystem;

/** A file system that tells a listener of each operation first; the listener may throw what the operation then fails with. */
export function tapped(
  files: FileSystem,
  listen: (operation: Operation, args: readonly unknown[]) => void,
): FileSystem {
  return new Proxy(files, {
    get: (target, name) => {
      const original: unknown = Reflect.get(target, name);
      if (typeof original !== 'function') return original;
      return (...args: unknown[]): unknown => {
        listen(name as Operation, args);
        return Reflect.apply(original, target, args);
      };
    },
  });
}

/** The operations that change something on disk. */
export const CHANGING: ReadonlySet<Operation> = new Set<Operation>([
  'write',
  'append',
  'truncate',
  'rename',
  'link',
  'unlink',
  'removeFolder',
  'makeFolder',
  'touch',
]);
