import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

/** The store's root: `ATLAS_HOME`, else the setting, else `~/.atlas`. A leading `~` means the home folder. */
export function resolveRoot(environment: string | undefined, setting: string | undefined): string {
  const chosen = [environment, setting].find((value) => value !== undefined && value.trim() !== '')?.trim();
  if (chosen === undefined) return join(homedir(), '.atlas');
  const expanded = /^~(?=$|[\\/])/u.test(chosen) ? join(homedir(), chosen.slice(1)) : chosen;
  return isAbsolute(expanded) ? resolve(expanded) : resolve(homedir(), expanded);
}
