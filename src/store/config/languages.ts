import { join } from 'node:path';
import type { FileSystem } from '../../core/shared/ports';
import type { TemplateLanguage } from '../../core/task/templates/template';

const GO = /^go\.(?:mod|work)$|\.go$/u;
/** So many folders of a worktree are looked into, which orders a list and must not take long. */
const MAX_FOLDERS = 50;

/** The languages of a worktree as far as its root and the folders in it show them. Never fails. */
export function languagesOf(files: FileSystem, worktree: string): TemplateLanguage[] {
  const root = namesIn(files, worktree);
  if (root.some((name) => GO.test(name))) return ['go'];
  const inner = root.filter((name) => !name.startsWith('.') && name !== 'node_modules').slice(0, MAX_FOLDERS);
  return inner.some((name) => namesIn(files, join(worktree, name)).some((each) => GO.test(each))) ? ['go'] : [];
}

function namesIn(files: FileSystem, folder: string): string[] {
  try {
    return files.stat(folder)?.kind === 'folder' ? files.list(folder) : [];
  } catch {
    return [];
  }
}
