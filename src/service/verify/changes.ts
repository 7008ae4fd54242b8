import { type Result, ok } from '../../core/shared/errors';
import type { Repository } from '../../core/shared/ports';
import { pathMatcher } from '../../core/verify/pathGlobs';
import { POLICY_FILE, TRUSTED_KEYS_FILE, type VerifyPolicy } from '../../core/verify/policy';
import {
  type TreeChange,
  type VerifiedCommit,
  changesBetween,
  commitsOf,
  mergeBases,
  pathsChangedBy,
  reachableFrom,
} from '../../git/notes/history';

/** The most ancestors that are looked at for one commit. */
const MAX_ANCESTORS = 100;

/** What a change does to the base, as far as it matters for what the base demands. */
export interface Change {
  /** Paths that it changes and that only a human may let pass. */
  readonly protectedPaths: readonly string[];
  /** The commits that the base has already. */
  readonly inBase: ReadonlySet<string>;
}

/**
 * What commits change of what a base protects: the policy itself, and the paths that it names. Held against every
 * merge base, and for several commits also each against its parents, so that a change that is taken back shows too.
 */
export async function protectedChanges(
  repository: Repository,
  policy: VerifyPolicy,
  base: string,
  commits: readonly VerifiedCommit[],
): Promise<Result<Change>> {
  const [tip] = commits;
  if (tip === undefined) return ok({ protectedPaths: [], inBase: new Set() });
  const isProtected = protectionOf(policy);
  const bases = await mergeBases(repository, base, tip.commit);
  if (!bases.ok) return bases;
  const from: (string | undefined)[] = bases.value.length === 0 ? [undefined] : bases.value;
  const compared = await Promise.all(from.map(async (each) => changesBetween(repository, each, tip.commit)));
  const paths = new Set<string>();
  for (const changes of compared) {
    if (!changes.ok) return changes;
    for (const { path } of changes.value) if (isProtected(path)) paths.add(path);
  }
  if (commits.length === 1)
    return ok({ protectedPaths: [...paths].sort(), inBase: new Set(bases.value.filter((id) => id === tip.commit)) });
  const inBase = await reachableFrom(
    repository,
    base,
    commits.map(({ commit }) => commit),
  );
  if (!inBase.ok) return inBase;
  const own = commits.map(({ commit }) => commit).filter((commit) => !inBase.value.has(commit));
  const touched = own.length === 0 ? ok([]) : await pathsChangedBy(repository, own);
  if (!touched.ok) return touched;
  for (const path of touched.value) if (isProtected(path)) paths.add(path);
  return ok({ protectedPaths: [...paths].sort(), inBase: inBase.value });
}

/** Whether a path is protected: what says what is demanded, and what that names. */
function protectionOf({ protect }: VerifyPolicy): (path: string) => boolean {
  const named = pathMatcher(protect);
  return (path) => path === POLICY_FILE || path === TRUSTED_KEYS_FILE || named(path);
}

/** Files of git's own change how others are read. */
const OF_GIT = /(?:^|\/)\.git[^/]*$/u;
const NOTHING_OR_FILE = new Set(['000000', '100644']);

/** An ancestor from which a commit differs in ignored paths alone. */
export interface LikeAncestor {
  readonly commit: string;
  readonly tree: string;
  readonly paths: readonly string[];
}

/**
 * The ancestors, by first parents, from which a commit differs only in regular files that the base's policy ignores,
 * the nearest first. A file that can be run, a link and a submodule are never ignored; neither is what is protected.
 */
export async function likeAncestors(
  repository: Repository,
  policy: VerifyPolicy,
  { commit, tree }: VerifiedCommit,
): Promise<Result<LikeAncestor[]>> {
  if (policy.ignore.length === 0) return ok([]);
  const isIgnored = pathMatcher(policy.ignore);
  const isProtected = protectionOf(policy);
  const mayDiffer = ({ path, before, after }: TreeChange): boolean =>
    NOTHING_OR_FILE.has(before) &&
    NOTHING_OR_FILE.has(after) &&
    isIgnored(path) &&
    !isProtected(path) &&
    !OF_GIT.test(path);
  const line = await commitsOf(repository, ['--first-parent', `--max-count=${MAX_ANCESTORS + 1}`, commit]);
  if (!line.ok) return line;
  const found: LikeAncestor[] = [];
  for (const ancestor of line.value.slice(1)) {
    const changes = await changesBetween(repository, ancestor.tree, tree);
    if (!changes.ok) return changes;
    if (!changes.value.every(mayDiffer)) break;
    found.push({ commit: ancestor.commit, tree: ancestor.tree, paths: changes.value.map(({ path }) => path) });
  }
  return ok(found);
}
