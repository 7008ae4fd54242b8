/*
 * Loaded first by every Node of these tests: the system is macOS, has no /proc, and gives a path as the disk spells it.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import path from 'node:path';

Object.defineProperty(process, 'platform', { value: 'darwin' });
os.platform = () => 'darwin';
os.type = () => 'Darwin';

function isProc(file: unknown): boolean {
  return typeof file === 'string' && /^\/proc(?:\/|$)/u.test(file);
}

function missing(call: string, file: unknown): NodeJS.ErrnoException {
  const error = new Error(`ENOENT: no such file or directory, ${call} '${String(file)}'`);
  return Object.assign(error, { errno: -2, code: 'ENOENT', syscall: call, path: String(file) });
}

type Call = (...args: unknown[]) => unknown;

const SYNC = [
  'openSync',
  'readFileSync',
  'readdirSync',
  'readlinkSync',
  'accessSync',
  'lstatSync',
  'statSync',
] as const;
const calls = fs as unknown as Record<string, Call>;
for (const name of SYNC) {
  const call = calls[name];
  if (call === undefined) continue;
  calls[name] = (file, ...more) => {
    if (!isProc(file)) return call(file, ...more);
    if (name.endsWith('tatSync') && (more[0] as { throwIfNoEntry?: boolean } | undefined)?.throwIfNoEntry === false)
      return undefined;
    throw missing(name.replace(/(?:File)?Sync$/u, ''), file);
  };
}
const exists = fs.existsSync;
fs.existsSync = (file) => !isProc(file) && exists(file);
const promises = fs.promises as unknown as Record<string, Call>;
for (const name of ['open', 'readFile', 'readdir', 'readlink', 'access', 'lstat', 'stat'] as const) {
  const call = promises[name];
  if (call === undefined) continue;
  promises[name] = (file, ...more) => (isProc(file) ? Promise.reject(missing(name, file)) : call(file, ...more));
}

/** A real path with each name as its folder lists it. */
function asSpelled(real: string): string {
  const { dir, base } = path.parse(real);
  if (base === '') return real;
  const folder = asSpelled(dir);
  const names = fs.readdirSync(folder);
  if (names.includes(base)) return path.join(folder, base);
  const { ino, dev } = fs.lstatSync(real);
  const name = names.find((each) => {
    const stat = fs.lstatSync(path.join(folder, each), { throwIfNoEntry: false });
    return stat !== undefined && stat.ino === ino && stat.dev === dev;
  });
  return path.join(folder, name ?? base);
}

const native = fs.realpathSync.native;
const spelled = ((file: fs.PathLike, options?: 'utf8') => asSpelled(native(file, options))) as typeof native;
fs.realpathSync.native = spelled;
fs.promises.realpath = ((file: fs.PathLike) =>
  new Promise((resolve) => {
    resolve(spelled(file));
  })) as typeof fs.promises.realpath;
syncBuiltinESMExports();
