import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Repository } from '../../core/shared/ports';
import type { GitOperation } from '../../core/task/worktreeState';

const OPERATIONS: readonly (readonly [file: string, operation: GitOperation])[] = [
  ['rebase-merge', 'rebase'],
  ['rebase-apply', 'rebase'],
  ['MERGE_HEAD', 'merge'],
  ['CHERRY_PICK_HEAD', 'cherry-pick'],
  ['REVERT_HEAD', 'revert'],
  ['BISECT_LOG', 'bisect'],
];

/** What git is in the middle of in a worktree; `undefined` for nothing. */
export function operationIn({ gitDir }: Repository): GitOperation | undefined {
  return OPERATIONS.find(([file]) => existsSync(join(gitDir, file)))?.[1];
}
