import { accessSync, constants, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, posix, resolve, win32 } from 'node:path';
import { type Result, fail, ok } from '../../core/shared/errors';
import type { FileSystem, Ids } from '../../core/shared/ports';
import { discardFile, ensureFolder, renameWithRetry, replaceFile } from '../files/atomicFile';
import { codeOf, fileError } from '../files/fileErrors';
import { LAUNCHER_MARK } from './launcher';
import { readRegularFile } from '../files/regularFile';

const MAX_LINK_BYTES = 64 * 1024;
/** How the launcher's path ends in every editor of this kind, also where the editor itself is gone. */
const LAUNCHERS_END = /[\\/]atlas-hooks\.atlas-hooks[\\/]bin[\\/]atlas(\.cmd)?$/u;

/** Where a link may go, and what it leads to. */
export interface LinkRequest {
  /** The launcher's path. */
  readonly launcher: string;
  /** The PATH of the user's other shells. */
  readonly path: string;
  readonly home: string;
  /** The command's name there. */
  readonly name: string;
  readonly platform: NodeJS.Platform;
}

/** What making a link needs. */
interface LinkPorts {
  readonly files: FileSystem;
  readonly ids: Ids;
}

/** A link that was made, or was there already. */
export interface MadeLink {
  readonly path: string;
  readonly folder: string;
  /** Whether other shells look into that folder. */
  readonly onPath: boolean;
  /** A program of the same name that other shells find first. */
  readonly shadowedBy?: string;
}

/** What a name must be: no folder, nothing that a shell would read as something else. */
export const LINK_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/u;

/**
 * Links the launcher into a folder of the user's: the first of the usual ones that other shells look into, else
 * `~/.local/bin`. A file there that is not ours stays, and is named by the error (`unsafe_path`).
 */
export function linkLauncher(ports: LinkPorts, request: LinkRequest): Result<MadeLink> {
  const { name, launcher, platform } = request;
  if (!LINK_NAME.test(name)) return fail('usage', `"${name}" is not a valid command name.`);
  const folder = chooseFolder(request);
  const path = join(folder, platform === 'win32' ? `${name}.cmd` : name);
  try {
    const found = entryAt(path);
    if (found === 'other') {
      return fail('unsafe_path', `${path} belongs to another program and was not changed.`, {
        hint: 'Choose another name for the Atlas command.',
      });
    }
    ensureFolder(ports.files, folder);
    if (platform === 'win32') writeShim(ports, path, launcher);
    else makeSymlink(ports, launcher, path, found === 'ours');
  } catch (error) {
    return { ok: false, error: fileError('write_failed', `${path} could not be created`, error) };
  }
  const shadowedBy = firstOf(request);
  return ok({
    path,
    folder,
    onPath: foldersOf(request).some((each) => samePath(each, folder)),
    ...(shadowedBy === undefined || samePath(dirname(shadowedBy), folder) ? {} : { shadowedBy }),
  });
}

function foldersOf({ path, platform }: LinkRequest): string[] {
  const separator = platform === 'win32' ? win32.delimiter : posix.delimiter;
  return path.split(separator).filter((folder) => isAbsolute(folder));
}

function chooseFolder(request: LinkRequest): string {
  const { home, platform } = request;
  const usual = [join(home, '.local', 'bin'), join(home, 'bin')];
  const shared = platform === 'win32' ? [] : ['/usr/local/bin'];
  const known = foldersOf(request);
  const fits = [...usual, ...shared].find(
    (folder) => known.some((each) => samePath(each, folder)) && canBeWritten(folder, usual.includes(folder)),
  );
  return fits ?? join(home, '.local', 'bin');
}

/** Whether a folder can be written; one of the user's own that isn't there yet can be made. */
function canBeWritten(folder: string, mayBeMade: boolean): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return statSync(folder).isDirectory();
  } catch (error) {
    return mayBeMade && codeOf(error) === 'ENOENT';
  }
}

function samePath(a: string, b: string): boolean {
  const real = (path: string): string => {
    try {
      return realpathSync.native(path);
    } catch {
      return resolve(path);
    }
  };
  return real(a) === real(b);
}

/** The program of that name which a shell with this PATH starts, unless it is ours. */
function firstOf(request: LinkRequest): string | undefined {
  const { name, platform } = request;
  const names = platform === 'win32' ? [`${name}.exe`, `${name}.cmd`, `${name}.bat`] : [name];
  for (const folder of foldersOf(request)) {
    for (const each of names) {
      const path = join(folder, each);
      const entry = entryAt(path);
      if (entry === 'none' || !isProgram(path)) continue;
      return entry === 'ours' ? undefined : path;
    }
  }
  return undefined;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Whose a file is. A link is ours by where it leads, also where nothing is there any more. */
function entryAt(path: string): 'none' | 'ours' | 'other' {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return 'none';
  if (stat.isSymbolicLink() && LAUNCHERS_END.test(readlinkSync(path))) return 'ours';
  try {
    const text = Buffer.from(readRegularFile(path, MAX_LINK_BYTES)).toString('utf8');
    return text.includes(LAUNCHER_MARK) ? 'ours' : 'other';
  } catch {
    return 'other';
  }
}

function makeSymlink({ files, ids }: LinkPorts, launcher: string, path: string, replaces: boolean): void {
  if (!replaces) {
    files.symlink(launcher, path);
    return;
  }
  const temporary = `${path}.${ids.hex(4)}.tmp`;
  try {
    files.symlink(launcher, temporary);
    renameWithRetry(files, temporary, path);
  } catch (error) {
    discardFile(files, temporary);
    throw error;
  }
}

/** Without `call`, which would read the arguments a second time; control doesn't come back, nor has to. */
function writeShim({ files, ids }: LinkPorts, path: string, launcher: string): void {
  const text = ['@echo off', `rem ${LAUNCHER_MARK}.`, `"${launcher.replaceAll('%', '%%')}" %*`, ''].join('\r\n');
  replaceFile(files, ids, path, text, { durable: false });
}

/** The lines that put a folder on the PATH, for the shells that people use there. */
export function pathLines(
  folder: string,
  home: string,
  platform: NodeJS.Platform,
): readonly { readonly shell: string; readonly line: string }[] {
  if (platform === 'win32') {
    const value = `'${folder.replaceAll("'", "''")};' + [Environment]::GetEnvironmentVariable('Path', 'User')`;
    return [{ shell: 'PowerShell', line: `[Environment]::SetEnvironmentVariable('Path', ${value}, 'User')` }];
  }
  const short = folder.startsWith(`${home}/`) ? `$HOME${folder.slice(home.length)}` : folder;
  const line = (file: string): string => `echo 'export PATH="${short}:$PATH"' >> ~/${file}`;
  return [
    { shell: 'bash', line: line('.bashrc') },
    { shell: 'zsh', line: line('.zshrc') },
    { shell: 'fish', line: `fish_add_path "${short}"` },
  ];
}
