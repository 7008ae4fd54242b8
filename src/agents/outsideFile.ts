import { sep } from 'node:path';
import type { FileSystem } from '../core/ports';

/** A text that somebody else wrote. */
export interface OutsideText {
  readonly text: string;
  /** Whether the file is longer than what was read. */
  readonly more: boolean;
}

/**
 * The beginning of a text file below a folder. A repository's links may not lead out of it, and what isn't a plain file
 * (a pipe would never answer) counts as missing, as does what can't be read.
 */
export function readBelow(files: FileSystem, folder: string, path: string, maxBytes: number): OutsideText | undefined {
  try {
    const real = files.realPath(path);
    const root = files.realPath(folder);
    const stat = files.stat(real);
    if (stat?.kind !== 'file' || !real.startsWith(root.endsWith(sep) ? root : root + sep)) return undefined;
    const text = Buffer.from(files.readAt(real, 0, Math.min(stat.size, maxBytes))).toString('utf8');
    return { text: text.replace(/^\uFEFF/u, ''), more: stat.size > maxBytes };
  } catch {
    return undefined;
  }
}
