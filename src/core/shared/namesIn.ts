import type { FileSystem } from './ports';

/** The names of what is in a folder, in no order; none where it isn't there or can't be read. */
export function namesIn(files: FileSystem, folder: string): string[] {
  try {
    return files.list(folder);
  } catch {
    return [];
  }
}
