import { messageOf } from '../../core/shared/errors';
import { oneLine } from '../../core/shared/text';
import type { FileSystem } from '../../core/shared/ports';
import { placedAt } from '../../system/files/placedFile';

/** A text that somebody else wrote. */
export interface OutsideText {
  readonly text: string;
  /** Whether the file is longer than what was read. */
  readonly more: boolean;
}

/**
 * The beginning of a text file below a folder. A repository's links may not lead out of it, and what isn't a plain file
 * (a pipe would never answer) counts as missing, as does what can't be read.
 * @param refused is told of what is there and not read
 */
export function readBelow(
  files: FileSystem,
  folder: string,
  path: string,
  maxBytes: number,
  refused: (why: string) => void = () => undefined,
): OutsideText | undefined {
  const placed = placedAt(files, path, 'file', folder);
  if (placed.kind === 'absent') return undefined;
  if (placed.kind === 'refused') {
    refused(`${oneLine(path, 300)}: ${placed.why}`);
    return undefined;
  }
  try {
    const { real, stat } = placed;
    const text = Buffer.from(files.readAt(real, 0, Math.min(stat.size, maxBytes))).toString('utf8');
    return { text: text.replace(/^\uFEFF/u, ''), more: stat.size > maxBytes };
  } catch (error) {
    refused(`${oneLine(path, 300)} could not be read: ${messageOf(error)}`);
    return undefined;
  }
}
