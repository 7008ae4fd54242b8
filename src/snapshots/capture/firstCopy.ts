import { join } from 'node:path';
import { ok } from '../../core/shared/errors';
import type { PrivateGit } from '../storage/privateGit';
import type { Outcome } from '../storage/snapshotPorts';
import type { UserIndex } from './userIndex';

/** Blobs of the user's index that a first capture may copy. */
export interface CopyPlan {
  /** One id a line. */
  readonly ids: readonly string[];
  /** What they take in the user's object database, in bytes. */
  readonly bytes: number;
}

const CHECK = ['cat-file', '--batch-check=%(objectname) %(objecttype) %(objectsize) %(objectsize:disk)'];
/** Fewer aren't worth a pack. */
const FEW = 50;

/**
 * What of the user's index the object database lacks. Copied as git has it packed, it takes a fraction of the time and room
 * that the same contents take as new objects.
 */
export async function planCopy(git: PrivateGit, user: UserIndex, maxFileSize: number): Promise<Outcome<CopyPlan>> {
  const nothing = ok({ ids: [], bytes: 0 });
  const { repository } = git.place;
  if (repository === undefined) return nothing;
  const wanted = new Set<string>();
  const listed = await user.entries((_tag, mode, id) => {
    if (mode !== '160000') wanted.add(id);
  });
  // An index that can't be read has nothing to copy.
  if (!listed.ok || wanted.size < FEW) return nothing;
  const missing: string[] = [];
  const own = await checked(git, [...wanted], undefined, ([id = '', state]) => {
    if (state === 'missing') missing.push(id);
  });
  if (!own.ok) return own;
  const ids: string[] = [];
  let bytes = 0;
  const theirs = join(repository.commonDir, 'objects');
  const seen = await checked(git, missing, theirs, ([id = '', type, size, disk]) => {
    if (type !== 'blob' || Number(size) > maxFileSize) return;
    ids.push(id);
    bytes += Number(disk);
  });
  return seen.ok ? ok({ ids, bytes }) : nothing;
}

async function checked(
  git: PrivateGit,
  ids: readonly string[],
  reads: string | undefined,
  take: (fields: string[]) => void,
): Promise<Outcome<void>> {
  if (ids.length === 0) return ok(undefined);
  const said = await git.run(CHECK, { input: ids.map((id) => `${id}\n`).join(''), reads });
  if (!said.ok) return said;
  for (const line of said.value.split('\n')) if (line !== '') take(line.split(' '));
  return ok(undefined);
}

/** Copies blobs. The user's database is read and stays as it is, to the time stamps. */
export async function copyBlobs(git: PrivateGit, { ids }: CopyPlan): Promise<Outcome<void>> {
  const { repository, objects } = git.place;
  if (repository === undefined || ids.length < FEW) return ok(undefined);
  const args = ['pack-objects', '-q', '--window=0', '--delta-base-offset', join(objects, 'pack', 'pack')];
  const packed = await git.run(args, {
    input: ids.map((id) => `${id}\n`).join(''),
    reads: join(repository.commonDir, 'objects'),
  });
  return packed.ok ? ok(undefined) : packed;
}
