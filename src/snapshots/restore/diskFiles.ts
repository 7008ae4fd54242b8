import { createHash } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { ok } from '../../core/shared/errors';
import type { TreePath } from '../../core/snapshot/treePath';
import { pathBelow } from '../../git/read/gitPath';
import { type FileLook, ParentLook, tryLookAt } from '../capture/fileLook';
import type { PrivateGit } from '../storage/privateGit';
import { quotedLine } from '../capture/roomCheck';
import type { FileEntry } from '../storage/snapshotTree';
import type { Outcome } from '../storage/snapshotPorts';

/** A change within so many ms before reading may not show in a file's times. */
const SETTLE_MS = 20;
const BATCH = 2000;

/** A file or link of a worktree as it was at one moment. */
export interface DiskFile extends FileEntry {
  /** Permission bits. */
  readonly permissions: number;
  readonly stamp: string;
  readonly size: number;
}

/** What there is at a path: `undefined` for nothing, `unreadable` also for what changes while it is read. */
export type DiskContent = DiskFile | 'unreadable' | undefined;

/** The bytes of a link: where it leads. */
export function linkBytes(worktree: string, path: TreePath): Buffer {
  return readlinkSync(pathBelow(worktree, path), { encoding: 'buffer' });
}

/** The id of a blob in git's way. */
export function blobId(format: 'sha1' | 'sha256', bytes: Uint8Array): string {
  return createHash(format).update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}

/**
 * What lies at paths, each as it was at one moment. Folders and special files are `unreadable`.
 * @param keep whether contents are stored in the object database
 */
export async function readDisk(
  git: PrivateGit,
  paths: readonly TreePath[],
  keep: boolean,
): Promise<Outcome<ReadonlyMap<TreePath, DiskContent>>> {
  const found = new Map<TreePath, DiskContent>();
  for (let at = 0; at < paths.length; at += BATCH) {
    const batch = paths.slice(at, at + BATCH);
    const read = await readBatch(git, batch, keep, found);
    if (!read.ok) return read;
  }
  return ok(found);
}

async function readBatch(
  git: PrivateGit,
  paths: readonly TreePath[],
  keep: boolean,
  found: Map<TreePath, DiskContent>,
): Promise<Outcome<void>> {
  const { worktree } = git.place;
  await settle(worktree, paths);
  const parents = new ParentLook(worktree);
  const plain: { readonly path: TreePath; readonly look: FileLook }[] = [];
  for (const path of paths) {
    const look = parents.tryLookAt(path);
    if (look?.kind === 'file') plain.push({ path, look });
    else if (look?.kind === 'link') {
      const link = await readLink(git, path, look, keep);
      if (!link.ok) return link;
      found.set(path, link.value);
    } else found.set(path, look === undefined ? undefined : 'unreadable');
  }
  const ids = await hashed(
    git,
    plain.map(({ path }) => path),
    keep,
  );
  if (!ids.ok) return ids;
  for (const { path, look } of plain) {
    const id = ids.value.get(path);
    const isStill = tryLookAt(worktree, path)?.stamp === look.stamp;
    const mode = (look.mode & 0o100) === 0 || process.platform === 'win32' ? '100644' : '100755';
    found.set(path, id === undefined || !isStill ? 'unreadable' : { mode, id, ...ofLook(look) });
  }
  return ok(undefined);
}

function ofLook({ mode, stamp, size }: FileLook): Omit<DiskFile, keyof FileEntry> {
  return { permissions: mode, stamp, size };
}

async function readLink(git: PrivateGit, path: TreePath, look: FileLook, keep: boolean): Promise<Outcome<DiskContent>> {
  let bytes: Buffer;
  try {
    bytes = linkBytes(git.place.worktree, path);
  } catch {
    return ok('unreadable');
  }
  const id = blobId(git.place.objectFormat, bytes);
  if (keep) {
    const input = bytes.toString('latin1');
    const written = await git.run(['hash-object', '-w', '--no-filters', '--stdin'], { input });
    if (!written.ok) return written;
  }
  const isStill = tryLookAt(git.place.worktree, path)?.stamp === look.stamp;
  return ok(isStill ? { mode: '120000', id, ...ofLook(look) } : 'unreadable');
}

/** Waits until the newest change is old enough for another to show. */
async function settle(worktree: string, paths: readonly TreePath[]): Promise<void> {
  const newest = Math.max(0, ...paths.map((path) => tryLookAt(worktree, path)?.changedMs ?? 0));
  const wait = newest + SETTLE_MS + 1 - Date.now();
  if (wait > 0) await new Promise((resolve) => setTimeout(resolve, Math.min(wait, SETTLE_MS + 1)));
}

/** The ids of files; halves the list until those are found that git can't read, which get none. */
async function hashed(
  git: PrivateGit,
  paths: readonly TreePath[],
  keep: boolean,
): Promise<Outcome<Map<TreePath, string>>> {
  if (paths.length === 0) return ok(new Map());
  const args = ['hash-object', ...(keep ? ['-w'] : []), '--no-filters', '--stdin-paths'];
  const run = await git.run(args, { input: paths.map((path) => `${quotedLine(path)}\n`).join('') });
  if (run.ok) {
    const ids = run.value.split('\n');
    return ok(new Map(paths.map((path, at) => [path, ids[at] ?? ''])));
  }
  if (run.error.reason === 'disk_full') return run;
  if (paths.length === 1) return ok(new Map());
  const middle = Math.ceil(paths.length / 2);
  const first = await hashed(git, paths.slice(0, middle), keep);
  if (!first.ok) return first;
  const second = await hashed(git, paths.slice(middle), keep);
  return second.ok ? ok(new Map([...first.value, ...second.value])) : second;
}
