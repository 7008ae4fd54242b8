import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Repository } from '../../core/shared/ports';

/** The pipe for which git would wait for ever, if it reads one whenever it looks at a worktree. */
export function waitsFor({ worktree, commonDir }: Repository): string | undefined {
  const read = [
    join(worktree, '.gitignore'),
    join(worktree, '.gitattributes'),
    join(commonDir, 'info', 'exclude'),
    join(commonDir, 'info', 'attributes'),
  ];
  return read.find((path) => lstatSync(path, { throwIfNoEntry: false })?.isFIFO() === true);
}
