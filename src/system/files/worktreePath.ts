import { isAbsolute, join, relative, sep } from 'node:path';

/** A path below the worktree with `/`, or `undefined` if it leads out of it. */
export function insideWorktree(worktree: string, path: string): string | undefined {
  const full = isAbsolute(path) ? path : join(worktree, path);
  const inside = relative(worktree, full);
  if (inside === '' || isAbsolute(inside) || inside.split(sep)[0] === '..') return undefined;
  return inside.split(sep).join('/');
}
