import { join } from 'node:path';
import * as z from 'zod/mini';
import type { FileSystem, Repository } from '../../core/shared/ports';
import { replaceFile } from '../../system/files/atomicFile';
import { readJson } from '../../system/files/readJson';
import { recordsOf } from './gitPath';
import { type IndexPorts, OwnIndex, digest, fileStamp } from './ownIndex';
import { type Git, environment, filtersOf, gitOf, hasContent, isAttributes, update, writtenTree } from './worktreeGit';

const MAX_NOTE_BYTES = 1024 * 1024;
/** With more changed files than that, an index is kept that has them, so that the next look is quick again. */
const MANY_CHANGED = 200;

const noteSchema = z.object({
  /** Which file the kept index is. */
  kept: z.string(),
  /** The user's index that it was brought to. */
  index: z.string(),
  /** What decided how files were read, and the tracked files among that. */
  reading: z.string(),
  attributes: z.array(z.string()),
  /** What the user's index tracks and this one doesn't, since no file with content lies there. */
  gone: z.array(z.string()),
  /** The tree that the kept index makes. */
  tree: z.string(),
});

/** What an index that was kept stands for. */
type Known = z.infer<typeof noteSchema>;

/** Which index the user's git has just now. */
export function indexStamp(files: FileSystem, { gitDir }: Repository): string {
  return fileStamp(files, join(gitDir, 'index'));
}

/** Notes what an index that was kept stands for. */
export function noteKnown({ files, ids }: IndexPorts, repository: Repository, scratch: string, known: Known): void {
  replaceFile(files, ids, notePath(repository, scratch), JSON.stringify(known), { durable: false });
}

function notePath({ worktree }: Repository, scratch: string): string {
  return join(scratch, `known-${digest(worktree)}.json`);
}

/**
 * The tree of a worktree's files as {@link workingTreeOf} makes it, by one look at them, where the index that was kept last
 * still has the files that the user's tracks, read in the same way: `undefined` anywhere else.
 */
export async function knownTree(
  ports: IndexPorts,
  repository: Repository,
  scratch: string,
  theirs: Git,
): Promise<string | undefined> {
  const known = readJson(ports.files, notePath(repository, scratch), MAX_NOTE_BYTES, noteSchema);
  if (known === undefined || known.index !== indexStamp(ports.files, repository)) return undefined;
  const own = OwnIndex.open(ports, scratch, repository.worktree, known.reading);
  try {
    if (own.copied !== known.kept) return undefined;
    const git = gitOf(repository, environment(ports.files, repository, scratch, own.path));
    const [reading, changed] = await Promise.all([filtersOf(repository, theirs, known.attributes), changedIn(git)]);
    if (reading !== known.reading || changed === undefined || changed.length > MANY_CHANGED) return undefined;
    if (known.gone.some((path) => hasContent(repository, path))) return undefined;
    if (changed.length === 0) return known.tree;
    if (changed.some(isAttributes)) return undefined;
    const written = (await update(repository, git, changed)).ok ? await writtenTree(git) : undefined;
    return written?.ok === true ? written.value : undefined;
  } finally {
    own.dispose();
  }
}

/** The paths whose files aren't as in the index, untracked ones included. */
async function changedIn(git: Git): Promise<readonly string[] | undefined> {
  const options = ['--untracked-files=all', '--no-renames', '--ignore-submodules=dirty'];
  const status = await git(['status', '--porcelain=v1', '-z', ...options]);
  if (!status.ok) return undefined;
  // The first mark is how the index differs from HEAD.
  return recordsOf(status.value).flatMap((record) => (record[1] === ' ' ? [] : [record.slice(3)]));
}
