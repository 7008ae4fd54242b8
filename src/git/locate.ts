import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readdirSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import type { Repository } from '../core/ports';

/** The text of a small file; `undefined` if it can't be read. */
export function readSmall(path: string): string | undefined {
  let file: number | undefined;
  try {
    // What lies there may be a pipe that nobody writes to.
    file = openSync(path, process.platform === 'win32' ? 'r' : constants.O_RDONLY | constants.O_NONBLOCK);
    return fstatSync(file).isFile() ? readFileSync(file, 'utf8') : undefined;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
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
  const named = /^gitdir: (.+)$/mu.exec(readSmall(entry) ?? '')?.[1];
  const gitDir = named === undefined ? undefined : absolute(worktree, named.trim());
  return gitDir !== undefined && existsSync(join(gitDir, 'HEAD')) ? gitDir : undefined;
}

function describe(worktree: string, gitDir: string): Repository {
  const common = readSmall(join(gitDir, 'commondir'))?.trim();
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
    const pointer = readSmall(join(folder, name, 'gitdir'))?.trim();
    return pointer === undefined ? [] : [dirname(absolute(join(folder, name), pointer))];
  });
  return [...main, ...linked.sort()].flatMap((worktree) => {
    const gitDir = gitDirOf(worktree);
    const described = gitDir === undefined ? undefined : describe(worktree, gitDir);
    return described?.commonDir === repository.commonDir ? [described] : [];
  });
}
