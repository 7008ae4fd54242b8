import { type Result, fail, ok } from '../../core/shared/errors';
import type { Repository } from '../../core/shared/ports';
import { runGit } from '../read/gitCommand';
import { shownPath } from '../read/gitPath';
import { gitOn, isObjectId } from './objects';

/** No setting of the change's own may hide that a submodule moved. */
const SUBMODULES_TOO = '--ignore-submodules=none';

/** A commit as it is verified. */
export interface VerifiedCommit {
  readonly commit: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly subject: string;
  /** When it was committed (RFC 3339). */
  readonly at: string;
}

const FORMAT = '%H %cI %T %P%x00%s%x00';

/** Commits, the newest first, as `git log` takes them. */
export async function commitsOf(repository: Repository, args: readonly string[]): Promise<Result<VerifiedCommit[]>> {
  const run = await gitOn(repository, ['log', `--format=${FORMAT}`, '--no-show-signature', ...args, '--']);
  if (!run.ok) return run;
  const commits: VerifiedCommit[] = [];
  // A subject holds neither NUL nor a line break.
  const parts = run.value.split('\0');
  for (let index = 0; index + 1 < parts.length; index += 2) {
    const [commit = '', at = '', tree = '', ...parents] = (parts[index] ?? '').trim().split(' ');
    if (!isObjectId(commit) || !isObjectId(tree))
      return fail('git_failed', 'git log answered something else than commits.');
    commits.push({ commit, tree, parents, subject: parts[index + 1] ?? '', at });
  }
  return ok(commits);
}

/** The best common ancestors of two commits; none where their histories have nothing in common. */
export async function mergeBases(repository: Repository, a: string, b: string): Promise<Result<string[]>> {
  const call = { timeoutMs: 60_000, env: { GIT_NO_REPLACE_OBJECTS: '1' } };
  const run = await runGit(repository.worktree, ['merge-base', '--all', a, b], call);
  if (!run.ok) return run;
  // It exits with 1 where there is none.
  if (run.value.code > 1) return fail('git_failed', 'git merge-base could not compare the commits.');
  return ok(run.value.stdout.split('\n').filter(isObjectId));
}

/** A path in which two trees differ, with what it is in each: a mode of git's, `000000` for nothing. */
export interface TreeChange {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** The tree without anything in it, which every git knows. */
function emptyTree(like: string): string {
  return like.length === 64
    ? '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321'
    : '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
}

/** The paths in which two trees or commits differ; without the first, all paths of the second. */
export async function changesBetween(
  repository: Repository,
  before: string | undefined,
  after: string,
): Promise<Result<TreeChange[]>> {
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', SUBMODULES_TOO, before ?? emptyTree(after), after];
  const run = await gitOn(repository, args, { bytes: true });
  if (!run.ok) return run;
  const parts = run.value.split('\0');
  const changes: TreeChange[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [, from = '', to = ''] = /^:(\d{6}) (\d{6}) /u.exec(parts[at] ?? '') ?? [];
    if (from !== '') changes.push({ path: shownPath(parts[at + 1] ?? ''), before: from, after: to });
  }
  return ok(changes);
}

/** Every path that one of these commits itself changed: against its parent, or for a merge against all of them. */
export async function pathsChangedBy(repository: Repository, commits: readonly string[]): Promise<Result<string[]>> {
  const args = [
    'diff-tree',
    '--stdin',
    '--root',
    '-r',
    '-c',
    '-z',
    '--no-renames',
    '--no-commit-id',
    '--name-only',
  ].concat([SUBMODULES_TOO]);
  const run = await gitOn(repository, args, { input: commits.map((id) => `${id}\n`).join(''), bytes: true });
  if (!run.ok) return run;
  return ok([...new Set(run.value.split('\0').filter((path) => path !== ''))].map(shownPath));
}

/** Which of some commits a base's history has. */
export async function reachableFrom(
  repository: Repository,
  base: string,
  commits: readonly string[],
): Promise<Result<Set<string>>> {
  const input = [...commits, `^${base}`].map((each) => `${each}\n`).join('');
  const run = await gitOn(repository, ['rev-list', '--stdin'], { input });
  if (!run.ok) return run;
  const outside = new Set(run.value.split('\n'));
  return ok(new Set(commits.filter((commit) => !outside.has(commit))));
}

/** A file of a commit: its mode and blob; `undefined` where it has none of that name. */
export async function filesAt(
  repository: Repository,
  commit: string,
  paths: readonly string[],
): Promise<Result<Map<string, { readonly mode: string; readonly blob: string }>>> {
  const run = await gitOn(repository, ['ls-tree', '-z', commit, '--', ...paths], {
    env: { GIT_LITERAL_PATHSPECS: '1' },
  });
  if (!run.ok) return run;
  const files = new Map<string, { mode: string; blob: string }>();
  for (const record of run.value.split('\0')) {
    const [, mode = '', blob = '', path = ''] = /^(\d{6}) \w+ ([0-9a-f]+)\t([^]+)$/u.exec(record) ?? [];
    if (mode !== '') files.set(path, { mode, blob });
  }
  return ok(files);
}
