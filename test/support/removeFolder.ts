import { rmSync } from 'node:fs';

/**
 * Removes a folder in which processes that are ending may still write a file: it is read anew at each attempt, which
 * `maxRetries` of `rmSync` doesn't do.
 * @throws whatever kept it from being removed for 10 s
 */
export function removeFolder(folder: string): void {
  for (let left = 100; ; left -= 1) {
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      if (left === 0) throw error;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
}
