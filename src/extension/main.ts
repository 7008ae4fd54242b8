import { setImmediate } from 'node:timers/promises';
import type { ExtensionContext } from 'vscode';
import type { AtlasApi } from './api';

/**
 * Called by the editor once. All that a window needs lies in a file of its own, which is loaded in a turn of its own:
 * the other extensions that start at the same time don't wait for it.
 */
export async function activate(extension: ExtensionContext): Promise<AtlasApi> {
  await setImmediate();
  const { openWindow } = await import('./activate');
  return openWindow(extension);
}
