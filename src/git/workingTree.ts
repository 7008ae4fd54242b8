import { copyFileSync, existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Result, fail, messageOf, ok } from '../core/errors';
import type { Repository } from '../core/ports';
import { runGit } from './gitCommand';

const TIMEOUT_MS = 60_000;
const TREE_ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/u;

/** Marks in `git ls-files -v` of entries that git is told to take as unchanged, whatever the file holds. */
const ASSUMED = /^[a-z] /u;
const SKIPPED = /^S /u;

/**
 * Where git writes tree objects: beside the store, never into the repository. Lazy fetching is off, since a missing
 * object only means that it isn't needed.
 */
function environment(repository: Repository, scratch: string, index: string | undefined): Record<string, string> {
  const objects = join(scratch, 'objects');
  mkdirSync(objects, { recursive: true });
  const shared = join(repository.commonDir, 'objects');
  // A path with the list's separator in it has to be quoted as a C string.
  const quoted = shared.includes(delimiter) || shared.startsWith('"') ? JSON.stringify(shared) : shared;
  return {
    GIT_OBJECT_DIRECTORY: objects,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted,
    GIT_NO_LAZY_FETCH: '1',
    ...(index === undefined ? {} : { GIT_INDEX_FILE: index }),
  };
}

/** A copy of the index, with its time: git takes a file that is newer than the index for possibly changed. */
function copyIndex(repository: Repository, copy: string): void {
  const index = join(repository.gitDir, 'index');
  const stat = statSync(index, { throwIfNoEntry: false });
  if (stat === undefined) return;
  copyFileSync(index, copy);
  utimesSync(copy, stat.atime, stat.mtime);
}

/**
 * The id of the tree that a worktree's files make: tracked ones as they are, deleted ones left out, untracked but
 * unignored ones included. Made with a copy of the index; files are hashed, their content is kept nowhere. Submodules
 * count by their commit, repositories inside that are none by nothing.
 * @param scratch a folder for the tree objects, which {@link changedBetween} needs again
 */
export async function workingTreeOf(repository: Repository, scratch: string): Promise<Result<string>> {
  const folder = mkdtempSync(join(tmpdir(), 'atlas-index-'));
  try {
    const index = join(folder, 'index');
    copyIndex(repository, index);
    const env = environment(repository, scratch, index);
    const git = async (args: readonly string[], input?: string): Promise<Result<string>> => {
      const run = await runGit(repository.worktree, args, TIMEOUT_MS, {
        env,
        ...(input === undefined ? {} : { input }),
      });
      if (!run.ok) return run;
      if (run.value.code !== 0) return fail('git_failed', `git ${args[0] ?? ''} ended with ${run.value.code}.`);
      return ok(run.value.stdout);
    };
    const seen = await seeAll(repository, git);
    if (!seen.ok) return seen;
    const listed = await git(['ls-files', '--modified', '--others', '--exclude-standard', '-z']);
    if (!listed.ok) return listed;
    const updated = await update(repository, git, records(listed.value));
    if (!updated.ok) return updated;
    const written = await git(['write-tree', '--missing-ok']);
    if (!written.ok) return written;
    const id = written.value.trim();
    return TREE_ID.test(id) ? ok(id) : fail('git_failed', `git write-tree answered ${JSON.stringify(id)}.`);
  } catch (error) {
    return fail('git_failed', `The worktree's files can't be read: ${messageOf(error)}`, { cause: error });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Git = (args: readonly string[], input?: string) => Promise<Result<string>>;

/** Takes the marks away that hide changes: a proof that left those files out would prove nothing. */
async function seeAll(repository: Repository, git: Git): Promise<Result<void>> {
  const marked = await git(['ls-files', '-v', '-z']);
  if (!marked.ok) return marked;
  const entries = records(marked.value);
  const assumed = entries.filter((entry) => ASSUMED.test(entry)).map((entry) => entry.slice(2));
  // In a sparse checkout the skipped files aren't there, and that is no change.
  const skipped = entries
    .filter((entry) => SKIPPED.test(entry) || entry.startsWith('s '))
    .map((entry) => entry.slice(2))
    .filter((file) => lstatSync(join(repository.worktree, file), { throwIfNoEntry: false }) !== undefined);
  for (const [option, files] of [
    ['--no-assume-unchanged', assumed],
    ['--no-skip-worktree', skipped],
  ] as const) {
    if (files.length === 0) continue;
    const cleared = await git(['update-index', option, '-z', '--stdin'], joined(files));
    if (!cleared.ok) return cleared;
  }
  return ok(undefined);
}

/** Takes files into the index as they are; their content is hashed and not kept. */
async function update(repository: Repository, git: Git, changed: readonly string[]): Promise<Result<void>> {
  // What ends with a slash is a repository of its own.
  const files = changed.filter((file) => !file.endsWith('/'));
  const replaced = files.filter((file) => isPlainFolder(join(repository.worktree, file)));
  const present = files.filter((file) => !replaced.includes(file));
  for (const [options, list] of [
    [['--force-remove'], replaced],
    [['--info-only', '--add', '--remove', '--replace'], present],
  ] as const) {
    if (list.length === 0) continue;
    const updated = await git(['update-index', ...options, '-z', '--stdin'], joined(list));
    if (!updated.ok) return updated;
  }
  return ok(undefined);
}

/** A folder that lies where a tracked file was; a submodule is none. */
function isPlainFolder(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && !existsSync(join(path, '.git'));
}

function records(output: string): string[] {
  return [...new Set(output.split('\0').filter((record) => record !== ''))];
}

function joined(files: readonly string[]): string {
  return files.map((file) => `${file}\0`).join('');
}

/** The files in which two trees of {@link workingTreeOf} differ. Fails where git has one of them no longer. */
export async function changedBetween(
  repository: Repository,
  scratch: string,
  before: string,
  after: string,
): Promise<Result<string[]>> {
  if (!TREE_ID.test(before) || !TREE_ID.test(after)) return fail('git_failed', 'These are no ids of trees.');
  if (before === after) return ok([]);
  const env = environment(repository, scratch, undefined);
  const args = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', before, after];
  const run = await runGit(repository.worktree, args, TIMEOUT_MS, { env });
  if (!run.ok) return run;
  if (run.value.code !== 0) return fail('git_failed', 'Git no longer has the tree that the receipt covers.');
  return ok(records(run.value.stdout));
}
