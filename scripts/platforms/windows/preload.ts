/*
 * Loaded first by every Node of these tests. Wine 8 says that it made a symbolic link, and makes none. A Windows without
 * its developer mode, which is the usual one, refuses.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

function refusal(path: unknown): NodeJS.ErrnoException {
  const error = new Error(`EPERM: operation not permitted, symlink '${String(path)}'`);
  return Object.assign(error, { errno: -4048, code: 'EPERM', syscall: 'symlink' });
}

fs.symlinkSync = (_target, path) => {
  throw refusal(path);
};
fs.promises.symlink = (_target, path) => Promise.reject(refusal(path));
syncBuiltinESMExports();
