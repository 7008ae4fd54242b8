import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** `atlas` as a shell finds it on the PATH. */
const BY_NAME = 'atlas';

/**
 * How a hook starts `atlas`: by its name where a shell finds it, since the file may be shared, else as it was started now.
 * @param command the program and its first arguments
 */
export function hookStart(env: NodeJS.ProcessEnv, command: readonly string[]): string {
  return isOnPath(env) ? BY_NAME : inShell(command);
}

/** Every way in which a hook may start this `atlas`: nothing else that a repository's file names is ever run. */
export function hookStarts(command: readonly string[]): readonly string[] {
  return [BY_NAME, inShell(command)];
}

/** Whether a hook's command can be found, as far as that can be told without running it: by its name on the PATH. */
export function isFound(command: string, env: NodeJS.ProcessEnv): boolean {
  return !command.startsWith(`${BY_NAME} `) || isOnPath(env);
}

function inShell(command: readonly string[]): string {
  // A backslash means something else to the shell in which hosts on Windows may run hooks.
  const words = command.map((word) => (process.platform === 'win32' ? word.replaceAll('\\', '/') : word));
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/u.test(word) ? word : `"${word.replace(/(["\\$`])/gu, '\\$1')}"`))
    .join(' ');
}

function isOnPath(env: NodeJS.ProcessEnv): boolean {
  const endings = process.platform === 'win32' ? (env['PATHEXT'] ?? '.EXE;.CMD;.BAT').split(';') : [''];
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.some((folder) => endings.some((ending) => isProgram(join(folder, `${BY_NAME}${ending}`))));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
