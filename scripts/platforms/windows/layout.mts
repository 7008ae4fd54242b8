import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Where a distribution keeps Wine's 64-bit program. */
const WINE_PROGRAMS = ['/usr/lib/wine/wine64', '/usr/bin/wine64', '/usr/bin/wine'];

/** The source of programs of Windows that Wine lacks. */
export const SYSTEM_PROGRAMS = path.join(import.meta.dirname, 'systemPrograms.c');

/** Parts of the Windows that tests run on; each may be missing still. */
export interface WindowsLayout {
  /** Outlives the checkout: laying it out takes minutes. */
  readonly folder: string;
  readonly prefix: string;
  readonly node: string;
  readonly git: string;
  /** The folder of programs of Windows that Wine lacks: ours, compiled from {@link SYSTEM_PROGRAMS}. */
  readonly system: string;
  /** Wine's program, `undefined` where it isn't installed. */
  readonly wine: string | undefined;
}

/** Where the parts of that Windows are, laid out or not. `ATLAS_WINDOWS_DIR` names another folder. */
export function windowsLayout(): WindowsLayout {
  const cache = process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache');
  const folder = path.resolve(process.env['ATLAS_WINDOWS_DIR'] ?? path.join(cache, 'atlas-windows'));
  // Another source is compiled anew.
  const source = createHash('sha256').update(readFileSync(SYSTEM_PROGRAMS)).digest('hex').slice(0, 8);
  return {
    folder,
    prefix: path.join(folder, 'prefix'),
    node: path.join(folder, 'node', 'node.exe'),
    git: path.join(folder, 'git-for-windows', 'mingw64', 'bin', 'git.exe'),
    system: path.join(folder, `system-${source}`),
    wine: WINE_PROGRAMS.find((program) => existsSync(program)),
  };
}

/** Whether tests can run there without anything being installed. */
export function isLaidOut({ wine, node, git, system, prefix }: WindowsLayout): boolean {
  const parts = [node, git, system, path.join(prefix, 'system.reg')];
  return wine !== undefined && parts.every((file) => existsSync(file));
}

/** A path of this machine as Windows programs name it: Wine shows the root folder as drive `Z:`. */
export function windowsPath(file: string): string {
  return `Z:${path.resolve(file).replaceAll('/', '\\')}`;
}
