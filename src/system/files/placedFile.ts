import { basename, dirname, join, sep } from 'node:path';
import { messageOf } from '../../core/shared/errors';
import type { FileStat, FileSystem } from '../../core/shared/ports';
import { codeOf } from './fileErrors';

/** What lies at a path where somebody may have placed anything: `real` is the path without links. */
export type Placed =
  | { readonly kind: 'absent' }
  | { readonly kind: 'there'; readonly real: string; readonly stat: FileStat }
  | { readonly kind: 'refused'; readonly why: string };

/**
 * Finds out what lies at a path before anything is opened.
 * @param wanted what it has to be; anything else is refused
 * @param within the folder that no link may lead out of; without it, links may lead anywhere
 */
export function placedAt(
  files: FileSystem,
  path: string,
  wanted: 'file' | 'folder',
  within: string | undefined,
): Placed {
  try {
    if (files.stat(path) === undefined) return { kind: 'absent' };
    const real = files.realPath(path);
    if (within !== undefined && !isBelow(real, files.realPath(within)))
      return {
        kind: 'refused',
        why: `A symbolic link points outside the repository, to ${real}. Such a ${wanted} is not read.`,
      };
    const stat = files.stat(real);
    if (stat?.kind === wanted) return { kind: 'there', real, stat };
    return { kind: 'refused', why: `This is ${NOUN[stat?.kind ?? 'other']}, not a ${wanted}.` };
  } catch (error) {
    const dangling = codeOf(error) === 'ENOENT' || codeOf(error) === 'ELOOP';
    const why = dangling ? 'This is a broken symbolic link.' : `This could not be read: ${messageOf(error)}`;
    return { kind: 'refused', why };
  }
}

const NOUN = {
  file: 'a file',
  folder: 'a folder',
  link: 'a link',
  other: 'a pipe, socket or device',
} as const satisfies Record<FileStat['kind'], string>;

/** Whether a real path lies below a folder's. */
export function isBelow(real: string, folder: string): boolean {
  return real.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** The path without links of a file that need not be there yet. */
export function realPathOfNew(files: FileSystem, path: string): string {
  const above = dirname(path);
  if (above === path || files.stat(path) !== undefined) return files.realPath(path);
  return join(realPathOfNew(files, above), basename(path));
}
