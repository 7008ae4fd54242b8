import { join } from 'node:path';
import { ok } from '../../core/shared/errors';
import { refuse } from '../../core/snapshot/problem';
import type { PlannedPath } from '../../core/snapshot/restorePlan';
import type { TreePath } from '../../core/snapshot/treePath';
import { discardFile } from '../../system/files/atomicFile';
import { databaseSize, roomOf } from '../storage/database';
import { type DiskContent, type DiskFile, readDisk } from './diskFiles';
import type { PlannedRestore } from './preview';
import type { PrivateGit } from '../storage/privateGit';
import { type AbsentPath, modeOf, writeSnapshot } from '../storage/snapshotTree';
import type { Outcome, SnapshotPorts } from '../storage/snapshotPorts';

/** What a restore can be undone by. */
export interface Safety {
  /** The snapshot: the worktree as it is, with all that the restore is about to change. */
  readonly tree: string;
  /** What lies at the paths that change. */
  readonly disk: ReadonlyMap<TreePath, DiskContent>;
}

function isChange({ action }: PlannedPath): boolean {
  return action === 'write' || action === 'remove' || action === 'mode';
}

/**
 * Makes the safety snapshot of a restore from the capture that its plan was made for: whatever the restore writes or
 * removes is in it, however large or ignored. Fails with `changed` where a file was changed since.
 */
export async function makeSafety(
  ports: SnapshotPorts,
  git: PrivateGit,
  { preview, now, captured, disk: seen }: PlannedRestore,
  maxSize: number,
): Promise<Outcome<Safety>> {
  const changing = preview.paths.filter(isChange);
  const existing = changing.filter(({ path }) => seen.get(path) !== undefined).map(({ path }) => path);
  const extra = existing.filter((path) => !captured.has(path));
  const full = whyFull(git, extra, seen, maxSize);
  if (full !== undefined) return full;
  const kept = await readDisk(git, extra, true);
  if (!kept.ok) return kept;
  const files = new Map<TreePath, DiskFile>();
  for (const [path, found] of kept.value) {
    if (typeof found !== 'object' || !isSame(found, seen.get(path)))
      return refuse('changed', 'A file changed while the restore began.', { hint: 'Preview the restore again.' });
    files.set(path, found);
  }
  const absent = absentPaths(changing, seen);
  if (files.size === 0 && absent.length === 0) return ok({ tree: preview.now, disk: seen });
  const protectedTree = files.size === 0 ? ok(undefined) : await treeOf(ports, git, files);
  if (!protectedTree.ok) return protectedTree;
  const modes = new Map(now.modes);
  for (const [path, { mode, permissions }] of files)
    if (mode !== '120000' && permissions !== modeOf(now.base, permissions)) modes.set(path, permissions);
  const { value: tree } = protectedTree;
  const parts = { ...now, modes, absent, ...(tree === undefined ? {} : { protectedTree: tree }) };
  const written = await writeSnapshot(git, parts);
  return written.ok ? ok({ tree: written.value.tree, disk: seen }) : written;
}

function isSame(a: DiskFile, b: DiskContent): boolean {
  return typeof b === 'object' && a.stamp === b.stamp && a.id === b.id;
}

function whyFull(
  { place }: PrivateGit,
  extra: readonly TreePath[],
  seen: ReadonlyMap<TreePath, DiskContent>,
  maxSize: number,
): ReturnType<typeof refuse> | undefined {
  const sizes = extra.map((path) => seen.get(path)).map((found) => (typeof found === 'object' ? found.size : 0));
  const needed = sizes.reduce((sum, size) => sum + size, 0);
  if (needed === 0) return undefined;
  const used = databaseSize(place.objects).bytes;
  const room = roomOf(place.base);
  if (needed > room)
    return refuse('disk_full', 'The disk has no room for the files that the restore would replace.', {
      sizes: { needed, used, limit: room },
    });
  if (used + needed <= maxSize) return undefined;
  return refuse('over_limit', 'The files that the restore would replace would not fit within snapshots.max_size.', {
    sizes: { needed, used, limit: maxSize },
    hint: 'Restore chosen files, or raise snapshots.max_size.',
  });
}

/**
 * Paths at which there is nothing: undoing takes away what the restore puts there. Which of them are ignored by then, and
 * so are in no capture, depends on the ignore files that are restored.
 */
function absentPaths(changing: readonly PlannedPath[], seen: ReadonlyMap<TreePath, DiskContent>): AbsentPath[] {
  return changing.flatMap(({ path, action, goal }) =>
    action === 'write' && goal !== undefined && seen.get(path) === undefined
      ? [{ path, mode: goal.mode, id: goal.id }]
      : [],
  );
}

async function treeOf(
  { files, ids }: SnapshotPorts,
  git: PrivateGit,
  entries: ReadonlyMap<TreePath, DiskFile>,
): Promise<Outcome<string>> {
  const index = join(git.place.home, `protect-${ids.hex(6)}`);
  try {
    const input = [...entries].map(([path, { mode, id }]) => `${mode} ${id} 0\t${path}\0`).join('');
    const settings = ['core.splitIndex=false'];
    const put = await git.run(['update-index', '-z', '--index-info'], { index, input, settings });
    if (!put.ok) return put;
    const written = await git.run(['write-tree'], { index, settings });
    return written.ok ? ok(written.value.trim()) : written;
  } finally {
    for (const path of [index, `${index}.lock`]) discardFile(files, path);
  }
}
