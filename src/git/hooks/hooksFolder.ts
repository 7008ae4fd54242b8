import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { type Result, fail, ok } from '../../core/shared/errors';
import { runGit } from '../read/gitCommand';

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
  const run = await runGit(folder, args);
  return run.ok && run.value.code === 0 ? run.value.stdout.replace(/\r?\n$/u, '') : undefined;
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
    return fail('no_repository', `${folder} is in no git repository that can be used.`, {
      mend: 'Name a folder of a repository; if it belongs to another user, git says how to trust it.',
    });
  }
  if (kind.startsWith('true')) {
    return fail('no_repository', `${folder} is a bare repository: nobody commits there.`, {
      mend: 'Name a worktree of it.',
    });
  }
  const top = kind.endsWith('true') ? await answer(folder, ['rev-parse', '--show-toplevel']) : undefined;
  if (top === undefined) {
    return fail('no_repository', `${folder} lies inside a repository's git folder.`, { mend: 'Name the worktree.' });
  }
  const worktree = resolve(top);
  const hooks = await answer(worktree, ['rev-parse', '--git-path', 'hooks']);
  if (hooks === undefined) return fail('git_failed', `git doesn't say where the hooks of ${worktree} lie.`);
  const named = resolve(worktree, hooks);
  const found = real(named);
  if (statSync(found, { throwIfNoEntry: false })?.isDirectory() === false) {
    return fail('write_failed', `git takes hooks from ${found}, which is no folder: they are switched off.`, {
      mend: 'See core.hooksPath in git config.',
    });
  }
  const common = resolve(worktree, (await answer(worktree, ['rev-parse', '--git-common-dir'])) ?? '.git');
  const isOurs = (path: string): boolean => isInside(path, worktree) || isInside(path, common);
  const isOursReally = isInside(found, real(worktree)) || isInside(found, real(common));
  const linkedOutside = isOurs(named) && !isOursReally;
  const notes = await notesOn(worktree, found, real(common));
  if (linkedOutside) notes.push(`A link leads from ${named} out of this repository, to ${found}.`);
  return ok({ folder: found, worktree, linkedOutside, notes });
}

async function notesOn(worktree: string, folder: string, common: string): Promise<string[]> {
  const notes: string[] = [];
  const scope = await answer(worktree, ['config', '--show-scope', '--get', 'core.hooksPath']);
  if (scope !== undefined && /^(global|system|command)\s/u.test(scope)) {
    notes.push(
      `core.hooksPath is set for more than this repository: hooks in ${folder} run in all of them. Where there is no task they do nothing.`,
    );
  }
  const base = real(worktree);
  if (isInside(folder, base) && !isInside(folder, common)) {
    const ignored = await answer(worktree, ['check-ignore', '--quiet', join(folder, 'post-commit')]);
    if (ignored === undefined) {
      notes.push(`${folder} lies in the worktree: the hooks show in git status, and would hold paths of this machine.`);
    }
  }
  return notes;
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !/^\.\.[\\/]/u.test(way) && !isAbsolute(way));
}
