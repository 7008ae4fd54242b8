import { posix, win32 } from 'node:path';
import { type Result, ok } from '../../core/shared/errors';
import type { FileSystem, Ids } from '../../core/shared/ports';
import { ensureFolder, replaceFile } from '../files/atomicFile';
import { fileError } from '../files/fileErrors';

/** The variable by which the launcher tells the command its own path, so that a git hook can name it. */
export const LAUNCHER_VARIABLE = 'ATLAS_LAUNCHER';
/** In each launcher and each link to one: what has it is ours, and may be replaced. */
export const LAUNCHER_MARK = 'Atlas: Task Recovery made this file';

const MAX_LAUNCHER_BYTES = 64 * 1024;
const EXECUTABLE = 0o755;

/** What a launcher starts. */
export interface LauncherTarget {
  /** Where the launcher lies; the path has no version in it. */
  readonly folder: string;
  /** The program that runs it: the editor's own Node. */
  readonly node: string;
  /** The bundle, `dist/cli.js`. */
  readonly cli: string;
}

/** A launcher's file: its name and its text. */
export interface LauncherFile {
  readonly name: string;
  readonly text: string;
}

/** The launcher's path on a platform: what other programs call and what git hooks name. */
export function launcherPath(folder: string, platform: NodeJS.Platform = process.platform): string {
  return platform === 'win32' ? win32.join(folder, 'atlas.cmd') : posix.join(folder, 'atlas');
}

/** A text as one word of sh, whatever is in it. */
export function shWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A path for a shell of POSIX kind; those on Windows take forward slashes and would eat the others. */
function shPath(path: string, platform: NodeJS.Platform): string {
  return shWord(platform === 'win32' ? path.replaceAll('\\', '/') : path);
}

/**
 * A path inside of double quotes in a batch file. It starts from the file's own folder where it can: the folder above
 * often holds the user's name, which a batch file can't hold if it is not in the console's code page.
 */
function cmdPath(path: string, folder: string): string {
  const relative = win32.relative(folder, path);
  const text = win32.isAbsolute(relative) ? path : relative;
  return `${win32.isAbsolute(relative) ? '' : '%dp0%'}${text.replaceAll('%', '%%')}`;
}

const GONE = 'the Atlas extension that this command belongs to is gone or was updated.';
const REOPEN = 'Open your editor once to bring it in line, or remove';

/**
 * Node reads these certificates at every start, which takes longer than the rest of it, and `atlas` opens no connection.
 * What it starts gets them back.
 */
export const KEPT_CERTIFICATES = 'ATLAS_NODE_EXTRA_CA_CERTS';

/** An agent that stops waits for the answer: where that is nothing, a script beside the bundle gives it. */
const STOP = `if [ "\${1-} \${2-}" = 'lifecycle stop' ] && [ -f "\${cli%/*}/stop.sh" ]; then
  . "\${cli%/*}/stop.sh"
fi
`;

/** The files of a launcher for a platform. */
export function launcherFiles(target: LauncherTarget, platform: NodeJS.Platform = process.platform): LauncherFile[] {
  const { folder, node, cli } = target;
  const own = platform === 'win32' ? win32.join(folder, 'atlas') : posix.join(folder, 'atlas');
  const shell = `#!/bin/sh
# ${LAUNCHER_MARK}. It is regenerated when the editor starts; changes are lost.
node=${shPath(node, platform)}
cli=${shPath(cli, platform)}
if [ ! -f "$cli" ] || [ ! -x "$node" ]; then
  printf '%s\\n' ${shWord(`atlas: ${GONE}`)} ${shWord(`${REOPEN} ${own}.`)} >&2
  exit 127
fi
${LAUNCHER_VARIABLE}=${shPath(own, platform)}
ELECTRON_RUN_AS_NODE=1
export ${LAUNCHER_VARIABLE} ELECTRON_RUN_AS_NODE
if [ -n "\${NODE_EXTRA_CA_CERTS-}" ]; then
  ${KEPT_CERTIFICATES}=$NODE_EXTRA_CA_CERTS
  export ${KEPT_CERTIFICATES}
  unset NODE_EXTRA_CA_CERTS
fi
${platform === 'win32' ? '' : STOP}exec "$node" "$cli" "$@"
`;
  if (platform !== 'win32') return [{ name: 'atlas', text: shell }];
  return [
    { name: 'atlas', text: shell },
    { name: 'atlas.cmd', text: batchText(target) },
  ];
}

/**
 * Delayed expansion would take `!` out of arguments. Only a called label knows the file's own folder also where the
 * command was typed in quotes. The last line hands the exit code on.
 */
function batchText({ folder, node, cli }: LauncherTarget): string {
  const [nodePath, cliPath] = [cmdPath(node, folder), cmdPath(cli, folder)];
  return [
    '@echo off',
    `rem ${LAUNCHER_MARK}. It is regenerated when the editor starts; changes are lost.`,
    'setlocal DisableDelayedExpansion',
    'call :find_dp0',
    `if not exist "${cliPath}" goto gone`,
    `if not exist "${nodePath}" goto gone`,
    `set "${LAUNCHER_VARIABLE}=%dp0%atlas.cmd"`,
    'set "ELECTRON_RUN_AS_NODE=1"',
    `"${nodePath}" "${cliPath}" %*`,
    'exit /b %ERRORLEVEL%',
    ':gone',
    `echo atlas: ${GONE} 1>&2`,
    `echo ${REOPEN} "%dp0%atlas.cmd". 1>&2`,
    'exit /b 127',
    ':find_dp0',
    'set "dp0=%~dp0"',
    'exit /b',
    '',
  ].join('\r\n');
}

/** Writes the launcher where it isn't already as it should be; `true` if it wrote. */
export function writeLauncher(
  ports: { readonly files: FileSystem; readonly ids: Ids },
  target: LauncherTarget,
  platform: NodeJS.Platform = process.platform,
): Result<boolean> {
  const { files, ids } = ports;
  const style = platform === 'win32' ? win32 : posix;
  let wrote = false;
  try {
    ensureFolder(files, target.folder);
    for (const { name, text } of launcherFiles(target, platform)) {
      const path = style.join(target.folder, name);
      if (isAsWanted(files, path, text, platform)) continue;
      replaceFile(files, ids, path, text, { durable: false, mode: EXECUTABLE });
      wrote = true;
    }
    return ok(wrote);
  } catch (error) {
    return { ok: false, error: fileError('write_failed', "The 'atlas' launcher could not be written", error) };
  }
}

function isAsWanted(files: FileSystem, path: string, text: string, platform: NodeJS.Platform): boolean {
  const stat = files.stat(path);
  if (stat?.kind !== 'file' || stat.size > MAX_LAUNCHER_BYTES) return false;
  if (platform !== 'win32' && (stat.mode & 0o500) !== 0o500) return false;
  return Buffer.from(files.read(path, MAX_LAUNCHER_BYTES)).toString('utf8') === text;
}
