import type { Platform } from '../platform.mts';
import { installWindows } from './install.mts';
import { LEFT_OUT } from './leftOut.mts';
import { WindowsMachine } from './machine.mts';

const CANNOT_TELL = `What this can't tell: Wine is a stand-in. It has no NTFS, no virus scanner and no PowerShell; no power is cut, and no
window of VS Code is opened. The shell of Git for Windows can start nothing beside itself there (Cygwin's fork), so that
hooks that do are left out.`;

/** Windows' own Node and Git for Windows, under Wine. */
export const WINDOWS: Platform = {
  name: 'Windows',
  tests: ['test/windows', 'test/unit', 'test/integration', 'test/crash'],
  share: ['test/windows', 'test/unit'],
  leftOut: LEFT_OUT,
  preload: 'scripts/platforms/windows/preload.ts',
  cannotTell: CANNOT_TELL,
  open: async () => {
    const machine = new WindowsMachine(await installWindows());
    await machine.keepServer();
    return machine;
  },
};
