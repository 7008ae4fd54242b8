import { existsSync, lstatSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Result, fail, ok } from '../../core/shared/errors';
import type { FileSystem, Repository } from '../../core/shared/ports';
import { runGit, withoutHooks } from './gitCommand';
import { pathBelow } from './gitPath';
import { ensureFolder } from '../../system/files/atomicFile';

/* How git is run on an index of our own. */

const TIMEOUT_MS = 60_000;
/** What git calls a tree. */
export const TREE_ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/u;

/**
 * Where git writes tree objects: beside the store, never into the repository. Lazy fetching is off, since a missing
 * object only means that it isn't needed.
 */
export function environment(
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

/** Runs git in a worktree, with paths as bytes; another exit code than 0 fails. */
export type Git = (args: readonly string[], input?: string) => Promise<Result<string>>;

/** Runs git with paths as bytes; another exit code than 0 fails. */
export function gitOf(repository: Repository, env: Readonly<Record<string, string>>): Git {
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
 * What decides how a file's content becomes git's: with other filters, what was read before counts no longer.
 * @param attributes the paths of the tracked files that say so
 */
export async function filtersOf(repository: Repository, git: Git, attributes: readonly string[]): Promise<string> {
  const config = await git(['config', '-z', '--get-regexp', '^(filter|core)\\.']);
  const shared = Buffer.from(join(repository.commonDir, 'info', 'attributes'));
  const own = attributes.map((path) => pathBelow(repository.worktree, path));
  const stamps = [shared, ...own].map((path) => {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat === undefined ? '-' : `${path.toString('latin1')}:${stat.ino}:${stat.size}:${stat.ctimeMs}`;
  });
  return [config.ok ? config.value : '', ...stamps].join('\0');
}

/** Whether a file says how git reads others. */
export function isAttributes(path: string): boolean {
  return path === '.gitattributes' || path.endsWith('/.gitattributes');
}

/** Takes files into the index as they are; their content is hashed and not kept. */
export async function update(repository: Repository, git: Git, changed: readonly string[]): Promise<Result<void>> {
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

/** A folder, pipe or device that lies where a tracked file was; a submodule is none. */
function isNoContent(repository: Repository, path: string): boolean {
  const stat = lstatSync(pathBelow(repository.worktree, path), { throwIfNoEntry: false });
  return stat !== undefined && !hasContent(repository, path, stat);
}

/** Whether a file, a link or a submodule lies at a path. */
export function hasContent(
  repository: Repository,
  path: string,
  stat = lstatSync(pathBelow(repository.worktree, path), { throwIfNoEntry: false }),
): boolean {
  if (stat === undefined) return false;
  if (stat.isFile() || stat.isSymbolicLink()) return true;
  return stat.isDirectory() && existsSync(pathBelow(repository.worktree, `${path}/.git`));
}

/** Records as git reads them with `-z`. */
export function joined(records: readonly string[]): string {
  return records.map((record) => `${record}\0`).join('');
}

/** The tree that an index makes. */
export async function writtenTree(git: Git): Promise<Result<string>> {
  const written = await git(['write-tree', '--missing-ok']);
  if (!written.ok) return written;
  const id = written.value.trim();
  return TREE_ID.test(id) ? ok(id) : fail('git_failed', `git write-tree answered ${JSON.stringify(id)}.`);
}
