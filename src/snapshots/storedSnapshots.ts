import { join } from 'node:path';
import * as z from 'zod/mini';
import { ok } from '../core/shared/errors';
import { refuse } from '../core/snapshot/problem';
import { readJson } from '../system/files/readJson';
import { SnapshotContents } from './storage/contents';
import { type Place, snapshotsFolder } from './storage/place';
import { PrivateGit, aboutFile, preparePrivate } from './storage/privateGit';
import type { Outcome, SnapshotPorts } from './storage/snapshotPorts';
import { Upkeep } from './upkeep';

const MAX_BYTES = 64 * 1024;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]*$/u;
const aboutSchema = z.looseObject({ object_format: z.enum(['sha1', 'sha256']), path: z.string() });

/** The snapshots of a repository, without any of its worktrees. */
export interface StoredSnapshots {
  readonly name: string;
  /** The git folder that the repository's worktrees share, or the folder without git. It may be gone. */
  readonly path: string;
  readonly contents: SnapshotContents;
  readonly upkeep: Upkeep;
}

/** The names of the repositories that have snapshots in a store. */
export function listStored({ files }: Pick<SnapshotPorts, 'files'>, root: string): string[] {
  const folder = snapshotsFolder(root);
  if (files.stat(folder)?.kind !== 'folder') return [];
  return files
    .list(folder)
    .filter((name) => NAME.test(name) && files.stat(aboutFile(join(folder, name))) !== undefined);
}

/** Opens the snapshots of a repository whose worktree may be gone or elsewhere: to read them, and to keep them small. */
export function openStored(ports: SnapshotPorts, root: string, name: string): Outcome<StoredSnapshots> {
  const base = join(snapshotsFolder(root), name);
  const about = NAME.test(name) ? readJson(ports.files, aboutFile(base), MAX_BYTES, aboutSchema) : undefined;
  if (about === undefined) return refuse('lost', `There are no snapshots named ${JSON.stringify(name)} in ${root}.`);
  const objects = join(base, 'objects');
  const home = join(base, 'reader');
  const place: Place = {
    ...{ worktree: base, repository: undefined, objectFormat: about.object_format, excludesFile: undefined },
    ...{ base, objects, home, storeInside: undefined },
  };
  preparePrivate(ports, place, about.path);
  const git = new PrivateGit(ports, place);
  return ok({ name, path: about.path, contents: new SnapshotContents(git), upkeep: new Upkeep(ports, git) });
}
