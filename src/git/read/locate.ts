import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import type { Repository } from '../../core/shared/ports';
import { readRegularFile } from '../../system/files/regularFile';

/** More than git writes into any of the files that are read here; the largest is packed-refs. */
const MAX_SMALL_BYTES = 64 * 1024 * 1024;

/** The text of a small file; `undefined` if it can't be read. */
export function readSmall(path: string): string | undefined {
  try {
    return Buffer.from(readRegularFile(path, MAX_SMALL_BYTES)).toString('utf8');
  } catch {
    return undefined;
  }
}

/** A path that git wrote to a file of its own: as git does, only line breaks at its end are left out. */
function readPath(file: string): string | undefined {
  return readSmall(file)?.replace(/[\r\n]+$/u, '');
}

function real(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

function absolute(base: string, path: string): string {
  return isAbsolute(path) ? path : resolve(base, path);
}

/** The git folder that a worktree's `.git` names: itself, or for linked worktrees and submodules another. */
function gitDirOf(worktree: string): string | undefined {
  const entry = join(worktree, '.git');
  try {
    if (statSync(entry).isDirectory()) return existsSync(join(entry, 'HEAD')) ? entry : undefined;
  } catch {
    return undefined;
  }
  const named = /^gitdir: ([^]+)$/u.exec(readPath(entry) ?? '')?.[1];
  const gitDir = named === undefined ? undefined : absolute(worktree, named);
  return gitDir !== undefined && existsSync(join(gitDir, 'HEAD')) ? gitDir : undefined;
}

function describe(worktree: string, gitDir: string): Repository {
  const common = readPath(join(gitDir, 'commondir'));
  const realGitDir = real(gitDir);
  const commonDir = common === undefined ? realGitDir : real(absolute(gitDir, common));
  const realWorktree = real(worktree);
  const ofCommon = basename(commonDir) === '.git' ? dirname(commonDir) : commonDir;
  return {
    worktree: realWorktree,
    commonDir,
    gitDir: realGitDir,
    // A submodule's or a separate git folder lies elsewhere; there the only worktree is the main one.
    main: commonDir === realGitDir ? realWorktree : ofCommon,
  };
}

/** The repository that a folder belongs to, without starting a process; `undefined` where there is none. */
export function locateRepository(folder: string): Repository | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const gitDir = gitDirOf(at);
    if (gitDir !== undefined) return describe(at, gitDir);
    if (dirname(at) === at) return undefined;
  }
}

/** All worktrees of a repository that are there, the main one first; `prunable` ones are left out. */
export function listWorktrees(repository: Repository): Repository[] {
  const main = repository.main === repository.commonDir ? [] : [repository.main];
  const folder = join(repository.commonDir, 'worktrees');
  const linked = (existsSync(folder) ? readdirSync(folder) : []).flatMap((name) => {
    const pointer = readPath(join(folder, name, 'gitdir'));
    return pointer === undefined ? [] : [dirname(absolute(join(folder, name), pointer))];
  });
  return [...main, ...linked.sort()].flatMap((worktree) => {
    const gitDir = gitDirOf(worktree);
    const described = gitDir === undefined ? undefined : describe(worktree, gitDir);
    return described?.commonDir === repository.commonDir ? [described] : [];
  });
}
