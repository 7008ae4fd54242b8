import { lstatSync } from 'node:fs';
import { type Result, fail, messageOf, ok } from '../../core/shared/errors';
import type { Repository } from '../../core/shared/ports';
import { waitsFor } from './blockedGit';
import { pathBelow, recordsOf, shownPath } from './gitPath';
import { indexStamp, knownTree, noteKnown } from './knownTree';
import { Slices } from '../../system/slices';
import { type IndexPorts, OwnIndex } from './ownIndex';
import {
  type Git,
  TREE_ID,
  environment,
  filtersOf,
  gitOf,
  isAttributes,
  joined,
  update,
  writtenTree,
} from './worktreeGit';

/** How old a file's last change has to be for its time to tell it from the next one, in ms; clocks differ a little. */
const YOUNG_MS = 2000;
/** As many files to read again are looked at one by one. */
const MANY_YOUNG = 200;
/** How long files' times are looked at before others get a turn, in ms. */
const SLICE_MS = 15;

/** An entry of `git ls-files -s -v -z`: mark, mode, id, stage and path. */
const ENTRY = /^([A-Za-z?]) (\d+) ([0-9a-f]+) (\d)\t([^]+)$/u;

/**
 * The id of the tree that a worktree's files make: tracked ones as they are, deleted ones left out, untracked but
 * unignored ones included. Files are hashed, their content is kept nowhere. Submodules count by their commit,
 * repositories inside that are none by nothing. What the user's index says of a file's time and size is not believed:
 * only that of an index of our own, which git wrote for us.
 * @param scratch a folder for that index and for the tree objects, which {@link changedBetween} needs again
 */
export async function workingTreeOf(
  ports: IndexPorts,
  repository: Repository,
  scratch: string,
): Promise<Result<string>> {
  const pipe = waitsFor(repository);
  if (pipe !== undefined) return fail('git_failed', `${pipe} is a pipe, which would make git wait. Move it away.`);
  const began = Date.now();
  let own: OwnIndex | undefined;
  try {
    const theirs = gitOf(repository, environment(ports.files, repository, scratch, undefined));
    const known = await knownTree(ports, repository, scratch, theirs);
    if (known !== undefined) return ok(known);
    const index = indexStamp(ports.files, repository);
    const wanted = await entriesOf(theirs);
    if (!wanted.ok) return wanted;
    const attributes = [...wanted.value.keys()].filter(isAttributes);
    const reading = await filtersOf(repository, theirs, attributes);
    own = OwnIndex.open(ports, scratch, repository.worktree, reading);
    const git = gitOf(repository, environment(ports.files, repository, scratch, own.path));
    const followed = await follow(repository, wanted.value, git);
    if (!followed.ok) return followed;
    // Reads again what isn't known to be as it was, and notes the time and size of what it read.
    const refreshed = await git(['update-index', '-q', '--unmerged', '--ignore-missing', '--refresh']);
    if (!refreshed.ok && refreshed.error.cause !== undefined) return refreshed;
    const listed = await git(['ls-files', '--modified', '--others', '--exclude-standard', '-z']);
    if (!listed.ok) return listed;
    const updated = await update(repository, git, recordsOf(listed.value));
    if (!updated.ok) return updated;
    const written = await writtenTree(git);
    // What an untracked one has files read as must not be believed once it is gone.
    if (!written.ok || recordsOf(listed.value).some(isAttributes)) return written;
    const read = await forgetYoung(repository, git, began);
    if (!read.ok) return written;
    const kept = own.keep();
    const { young, entries } = read.value;
    // What git has to read again takes longer than to look at all.
    if (young <= MANY_YOUNG && ![...wanted.value.values()].some(({ skipped }) => skipped)) {
      const gone = [...wanted.value.keys()].filter((path) => !entries.has(path));
      noteKnown(ports, repository, scratch, { kept, index, reading, attributes, gone, tree: written.value });
    }
    return written;
  } catch (error) {
    return fail('git_failed', `The files of the worktree could not be read: ${messageOf(error)}`, { cause: error });
  } finally {
    own?.dispose();
  }
}

interface Entry {
  readonly mode: string;
  readonly id: string;
  readonly path: string;
  /** Whether git is told that the file is left out of the worktree. */
  readonly skipped: boolean;
}

/** The entries of an index. A file in conflict has none: it counts as it lies in the worktree. */
async function entriesOf(git: Git): Promise<Result<Map<string, Entry>>> {
  const listed = await git(['ls-files', '-s', '-v', '-z']);
  if (!listed.ok) return listed;
  const entries = new Map<string, Entry>();
  for (const record of recordsOf(listed.value)) {
    const [, mark = '', mode = '', id = '', stage, path = ''] = ENTRY.exec(record) ?? [];
    if (stage === '0') entries.set(path, { mode, id, path, skipped: mark.toUpperCase() === 'S' });
  }
  return ok(entries);
}

/**
 * Brings our index to the files that the user's tracks. Marks that hide changes are not taken over: a proof that left
 * those files out would prove nothing. In a sparse checkout the files left out aren't there, and that is no change.
 */
async function follow(repository: Repository, wanted: ReadonlyMap<string, Entry>, git: Git): Promise<Result<void>> {
  const known = await entriesOf(git);
  if (!known.ok) return known;
  const absent = new Set(
    [...wanted.values()].filter(({ skipped, path }) => skipped && !isThere(repository, path)).map(({ path }) => path),
  );
  const gone = [...known.value.keys()].filter((path) => !wanted.has(path));
  const added = [...wanted.values()].filter(({ path, mode }) => {
    const before = known.value.get(path);
    return before === undefined || before.skipped || before.mode !== mode || absent.has(path);
  });
  if (gone.length > 0) {
    const removed = await git(['update-index', '--force-remove', '-z', '--stdin'], joined(gone));
    if (!removed.ok) return removed;
  }
  if (added.length > 0) {
    const done = await put(git, added);
    if (!done.ok) return done;
  }
  if (absent.size === 0) return ok(undefined);
  const marked = await git(['update-index', '--skip-worktree', '-z', '--stdin'], joined([...absent]));
  return marked.ok ? ok(undefined) : marked;
}

/**
 * Has the next run read again what was changed shortly before or during this one: git compares whole seconds, so that
 * another change within the same second, its time of modification put back, would not be seen.
 * @returns how many those are, and what the index holds
 */
async function forgetYoung(
  repository: Repository,
  git: Git,
  began: number,
): Promise<Result<{ readonly young: number; readonly entries: ReadonlyMap<string, Entry> }>> {
  const entries = await entriesOf(git);
  if (!entries.ok) return entries;
  const slices = new Slices(SLICE_MS);
  const young: Entry[] = [];
  for (const entry of entries.value.values()) {
    const stat = lstatSync(pathBelow(repository.worktree, entry.path), { throwIfNoEntry: false });
    if (stat !== undefined && stat.ctimeMs > began - YOUNG_MS) young.push(entry);
    await slices.turn();
  }
  const done = young.length === 0 ? ok(undefined) : await put(git, young);
  return done.ok ? ok({ young: young.length, entries: entries.value }) : done;
}

/** Puts entries into the index without anything on their files' times and sizes. */
async function put(git: Git, entries: readonly Entry[]): Promise<Result<void>> {
  const lines = entries.map(({ mode, id, path }) => `${mode} ${id} 0\t${path}`);
  const done = await git(['update-index', '--replace', '-z', '--index-info'], joined(lines));
  return done.ok ? ok(undefined) : done;
}

function isThere(repository: Repository, path: string): boolean {
  return lstatSync(pathBelow(repository.worktree, path), { throwIfNoEntry: false }) !== undefined;
}

/**
 * The files in which two trees of {@link workingTreeOf} differ, as they are shown. Fails where git has one of them no
 * longer.
 */
export async function changedBetween(
  ports: IndexPorts,
  repository: Repository,
  scratch: string,
  before: string,
  after: string,
): Promise<Result<string[]>> {
  if (!TREE_ID.test(before) || !TREE_ID.test(after)) return fail('git_failed', 'These are not IDs of git trees.');
  if (before === after) return ok([]);
  const git = gitOf(repository, environment(ports.files, repository, scratch, undefined));
  const run = await git([
    'diff-tree',
    '-r',
    '-z',
    '--name-only',
    '--no-renames',
    '--ignore-submodules=none',
    before,
    after,
  ]);
  if (!run.ok)
    return run.error.cause === undefined
      ? fail('git_failed', 'Git no longer has the files that the receipt covers.')
      : run;
  return ok(recordsOf(run.value).map(shownPath));
}
