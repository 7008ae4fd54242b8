import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { type Result, fail, ok } from '../../core/shared/errors';
import { askGit } from '../read/gitCommand';

/** Where git looks for a repository's hooks. */
export interface HooksFolder {
  /** The folder; a real path if it is there. */
  readonly folder: string;
  readonly worktree: string;
  /** Whether a link leads there from inside the repository, and the folder lies outside it. */
  readonly linkedOutside: boolean;
  /** What is worth knowing before hooks are put there. */
  readonly notes: readonly string[];
}

async function answer(folder: string, args: readonly string[]): Promise<string | undefined> {
  // The folder need not be the top one of its worktree.
  const printed = await askGit(folder, args, { env: { GIT_CEILING_DIRECTORIES: '' } });
  return printed?.replace(/\r?\n$/u, '');
}

function real(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

/** Asks git itself: `core.hooksPath`, linked worktrees and submodules count. */
export async function findHooksFolder(folder: string): Promise<Result<HooksFolder>> {
  const kind = await answer(folder, ['rev-parse', '--is-bare-repository', '--is-inside-work-tree']);
  if (kind === undefined) {
    return fail('no_repository', `${folder} is not in a usable git repository.`, {
      hint: 'Name a folder in a repository. If it belongs to another user, run git status there to see how to trust it.',
    });
  }
  if (kind.startsWith('true')) {
    return fail('no_repository', `${folder} is a bare repository, which has no commits of its own.`, {
      hint: 'Name one of its worktrees.',
    });
  }
  const top = kind.endsWith('true') ? await answer(folder, ['rev-parse', '--show-toplevel']) : undefined;
  if (top === undefined) {
    return fail('no_repository', `${folder} is inside a repository's git folder.`, { hint: 'Name the worktree.' });
  }
  const worktree = resolve(top);
  const hooks = await answer(worktree, ['rev-parse', '--git-path', 'hooks']);
  if (hooks === undefined) return fail('git_failed', `Git does not report where the git hooks of ${worktree} are.`);
  const named = resolve(worktree, hooks);
  const found = real(named);
  if (statSync(found, { throwIfNoEntry: false })?.isDirectory() === false) {
    return fail('write_failed', `Git looks for git hooks in ${found}, which is not a folder, so they are turned off.`, {
      hint: 'Check core.hooksPath in git config.',
    });
  }
  const common = resolve(worktree, (await answer(worktree, ['rev-parse', '--git-common-dir'])) ?? '.git');
  const isOurs = (path: string): boolean => isInside(path, worktree) || isInside(path, common);
  const isOursReally = isInside(found, real(worktree)) || isInside(found, real(common));
  const linkedOutside = isOurs(named) && !isOursReally;
  const notes = await notesOn(worktree, found, real(common));
  if (linkedOutside) notes.push(`${named} is a symbolic link to ${found}, outside this repository.`);
  return ok({ folder: found, worktree, linkedOutside, notes });
}

async function notesOn(worktree: string, folder: string, common: string): Promise<string[]> {
  const notes: string[] = [];
  const scope = await answer(worktree, ['config', '--show-scope', '--get', 'core.hooksPath']);
  if (scope !== undefined && /^(global|system|command)\s/u.test(scope)) {
    notes.push(
      `core.hooksPath is set for more than this repository: git hooks in ${folder} run in all of them. Without a task they do nothing.`,
    );
  }
  const base = real(worktree);
  if (isInside(folder, base) && !isInside(folder, common)) {
    const ignored = await answer(worktree, ['check-ignore', '--quiet', join(folder, 'post-commit')]);
    if (ignored === undefined) {
      notes.push(`${folder} is in the worktree: the git hooks show in git status and contain paths of this machine.`);
    }
  }
  return notes;
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !/^\.\.[\\/]/u.test(way) && !isAbsolute(way));
}
