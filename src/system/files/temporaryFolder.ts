import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/*
 * Scratch folders in the system's own folder for temporary files. They don't go through the file system port: nothing in
 * them is needed once the process that made them is gone.
 */

/** Makes a scratch folder whose name begins with `prefix`. Throws file errors. */
export function makeTemporaryFolder(prefix: string): string {
  return mkdtempSync(join(tmpdir(), prefix));
}

/** Removes a scratch folder with all that is in it. */
export function removeTemporaryFolder(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
