import type { TreePath } from '../../core/snapshot/treePath';
import type { Intake } from './intake';
import { PROGRAM, modeOf, type BaseModes } from '../storage/snapshotTree';
import type { WorktreeCache } from './worktreeCache';

/** The bits that most of some files have, or others where there are none. */
function usual(modes: readonly number[], otherwise: number): number {
  const counts = new Map<number, number>();
  for (const mode of modes) counts.set(mode, (counts.get(mode) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0])[0]?.[0] ?? otherwise;
}

function baseOf(modes: readonly number[]): BaseModes {
  const isProgram = (mode: number): boolean => (mode & PROGRAM) !== 0;
  return [
    usual(
      modes.filter((mode) => !isProgram(mode)),
      0o644,
    ),
    usual(modes.filter(isProgram), 0o755),
  ];
}

/** The usual permission bits of a worktree, and those of the files that have others, after a capture. */
export function modesAfter(
  cache: WorktreeCache | undefined,
  { taken, dropped }: Intake,
  gone: readonly TreePath[],
): { readonly base: BaseModes; readonly modes: ReadonlyMap<TreePath, number> } {
  if (process.platform === 'win32') return { base: [0o644, 0o755], modes: new Map() };
  const base = cache?.base ?? baseOf([...taken.values()].filter((mode) => mode !== undefined));
  const modes = new Map(cache?.modes);
  for (const path of [...gone, ...dropped]) modes.delete(path);
  for (const [path, mode] of taken) {
    if (mode === undefined || mode === modeOf(base, mode)) modes.delete(path);
    else modes.set(path, mode);
  }
  return { base, modes };
}
