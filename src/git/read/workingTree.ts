import { existsSync, lstatSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Result, fail, messageOf, ok } from '../../core/shared/errors';
import type { FileSystem, Repository } from '../../core/shared/ports';
import { waitsFor } from './blockedGit';
import { runGit, withoutHooks } from './gitCommand';
import { pathBelow, recordsOf, shownPath } from './gitPath';
import { Slices } from '../../system/slices';
import { ensureFolder } from '../../system/files/atomicFile';
import { type IndexPorts, OwnIndex } from './ownIndex';

const TIMEOUT_MS = 60_000;
/** How old a file's last change has to be for its time to tell it from the next one, in ms; clocks differ a little. */
const YOUNG_MS = 2000;
/** How long files' times are looked at before others get a turn, in ms. */
const SLICE_MS = 15;
const TREE_ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/u;

/** An entry of `git ls-files -s -v -z`: mark, mode, id, stage and path. */
const ENTRY = /^([A-Za-z?]) (\d+) ([0-9a-f]+) (\d)\t([^]+)$/u;

/**
 * Where git writes tree objects: beside the store, never into the repository. Lazy fetching is off, since a missing
 * object only means that it isn't needed.
 */
function environment(
  files: FileSystem,
  repository: Repository,
  scratch: string,
  index: string | undefined,
): Record<string, string> {
  const objects = join(scratch, 'objects');
  ensureFolder(files, objects);
  const shared = join(repository.commonDir, 'objects');
  // A path with the list's separator in it has to be quoted as a C string.
  const isPlain = !shared.includes(delimiter) && !shared.startsWith('"') && !shared.includes('\n');
  return {
    GIT_OBJECT_DIRECTORY: objects,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: isPlain ? shared : JSON.stringify(shared),
    GIT_NO_LAZY_FETCH: '1',
    ...(index === undefined ? {} : { GIT_INDEX_FILE: index }),
  };
}

/**
 * What a repository must not decide: settings with which git takes a changed file for an unchanged one, overlooks a file,
 * or writes beside the index that it is given.
 */
function settings(repository: Repository): string[] {
  const isCaseless = existsSync(join(repository.worktree, '.GiT'));
  return [
    // An index that changed has a hook, too.
    withoutHooks(repository),
    'core.trustctime=true',
    'core.checkStat=default',
    'core.untrackedCache=false',
    'core.splitIndex=false',
    'core.preloadIndex=true',
    'index.sparse=false',
    `core.ignoreCase=${String(isCaseless)}`,
  ];
}

type Git = (args: readonly string[], input?: string) => Promise<Result<string>>;

/** Runs git with paths as bytes; another exit code than 0 fails. */
function gitOf(repository: Repository, env: Readonly<Record<string, string>>): Git {
  const fixed = settings(repository);
  return async (args, input) => {
    const call = { env, settings: fixed, input, bytes: true, timeoutMs: TIMEOUT_MS };
    const run = await runGit(repository.worktree, args, call);
    if (!run.ok) return run;
    if (run.value.code !== 0) return fail('git_failed', `git ${args[0] ?? ''} exited with code ${run.value.code}.`);
    return ok(run.value.stdout);
  };
}

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
    const wanted = await entriesOf(theirs);
    if (!wanted.ok) return wanted;
    own = OwnIndex.open(ports, scratch, repository.worktree, await filtersOf(repository, theirs, wanted.value));
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
    const written = await git(['write-tree', '--missing-ok']);
    if (!written.ok) return written;
    const id = written.value.trim();
    if (!TREE_ID.test(id)) return fail('git_failed', `git write-tree answered ${JSON.stringify(id)}.`);
    // What an untracked one has files read as must not be believed once it is gone.
    const isKept = !recordsOf(listed.value).some(isAttributes) && (await forgetYoung(repository, git, began)).ok;
    if (isKept) own.keep();
    return ok(id);
  } catch (error) {
    return fail('git_failed', `The files of the worktree could not be read: ${messageOf(error)}`, { cause: error });
  } finally {
    own?.dispose();
  }
}

/** What decides how a file's content becomes git's: with other filters, what was read before counts no longer. */
async function filtersOf(repository: Repository, git: Git, entries: ReadonlyMap<string, Entry>): Promise<string> {
  const config = await git(['config', '-z', '--get-regexp', '^(filter|core)\\.']);
  const shared = Buffer.from(join(repository.commonDir, 'info', 'attributes'));
  const own = [...entries.keys()].filter(isAttributes).map((path) => pathBelow(repository.worktree, path));
  const stamps = [shared, ...own].map((path) => {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat === undefined ? '-' : `${path.toString('latin1')}:${stat.ino}:${stat.size}:${stat.ctimeMs}`;
  });
  return [config.ok ? config.value : '', ...stamps].join('\0');
}

function isAttributes(path: string): boolean {
  return path === '.gitattributes' || path.endsWith('/.gitattributes');
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
 */
async function forgetYoung(repository: Repository, git: Git, began: number): Promise<Result<void>> {
  const entries = await entriesOf(git);
  if (!entries.ok) return entries;
  const slices = new Slices(SLICE_MS);
  const young: Entry[] = [];
  for (const entry of entries.value.values()) {
    const stat = lstatSync(pathBelow(repository.worktree, entry.path), { throwIfNoEntry: false });
    if (stat !== undefined && stat.ctimeMs > began - YOUNG_MS) young.push(entry);
    await slices.turn();
  }
  return young.length === 0 ? ok(undefined) : put(git, young);
}

/** Puts entries into the index without anything on their files' times and sizes. */
async function put(git: Git, entries: readonly Entry[]): Promise<Result<void>> {
  const lines = entries.map(({ mode, id, path }) => `${mode} ${id} 0\t${path}`);
  const done = await git(['update-index', '--replace', '-z', '--index-info'], joined(lines));
  return done.ok ? ok(undefined) : done;
}

/** Takes files into the index as they are; their content is hashed and not kept. */
async function update(repository: Repository, git: Git, changed: readonly string[]): Promise<Result<void>> {
  // What ends with a slash is a repository of its own.
  const files = changed.filter((file) => !file.endsWith('/'));
  const replaced = files.filter((file) => isNoContent(repository, file));
  const without = new Set(replaced);
  for (const [options, list] of [
    [['--force-remove'], replaced],
    [['--info-only', '--add', '--remove', '--replace'], files.filter((file) => !without.has(file))],
  ] as const) {
    if (list.length === 0) continue;
    const updated = await git(['update-index', ...options, '-z', '--stdin'], joined(list));
    if (!updated.ok) return updated;
  }
  return ok(undefined);
}

function isThere(repository: Repository, path: string): boolean {
  return lstatSync(pathBelow(repository.worktree, path), { throwIfNoEntry: false }) !== undefined;
}

/** A folder, pipe or device that lies where a tracked file was; a submodule is none. */
function isNoContent(repository: Repository, path: string): boolean {
  const stat = lstatSync(pathBelow(repository.worktree, path), { throwIfNoEntry: false });
  if (stat === undefined || stat.isFile() || stat.isSymbolicLink()) return false;
  return !stat.isDirectory() || !existsSync(pathBelow(repository.worktree, `${path}/.git`));
}

function joined(records: readonly string[]): string {
  return records.map((record) => `${record}\0`).join('');
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
