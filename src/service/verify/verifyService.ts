import { type Result, fail, ok } from '../../core/shared/errors';
import type { Repository } from '../../core/shared/ports';
import { quoted } from '../../core/shared/text';
import { type Demand, judgeCheck } from '../../core/verify/judge';
import type { VerifyPolicy } from '../../core/verify/policy';
import type { CheckVerdict, CommitVerdict, OtherTree, VerifyReport } from '../../core/verify/report';
import { type VerifiedCommit, commitsOf } from '../../git/notes/history';
import { namedObjects } from '../../git/notes/objects';
import { isShallow, rootsOf } from '../../git/read/roots';
import { TrustedKeys } from '../../signing/attachedStatements';
import type { LoadSecp256k1 } from '../../signing/secp256k1';
import { type Base, type BasePolicy, defaultRemote, findBase, readBase, remotesOf } from './base';
import { likeAncestors, protectedChanges } from './changes';
import { fixesFor } from './fixes';
import { AttachedNotes } from './notes';

/** More trees with notes than this aren't all read to say where else there are receipts. */
const MAX_OTHER_TREES = 300;
/** For more failing commits than this it isn't said where else there are receipts. */
const MAX_EXPLAINED = 20;
const MAX_NAMED_TREES = 3;
/** How many commits are looked through for one that has a tree. */
const MAX_LOG = 2000;

/** What is to be verified, and against what. */
export interface VerifyRequest {
  /** A commit, or `A..B`. */
  readonly revision: string;
  /** Whose policy holds; found by itself where absent. */
  readonly base: string | undefined;
  /** Checks that have to have passed beside those of the policy. */
  readonly require: readonly string[];
  readonly allowAncestor: boolean;
  /** Where CI systems name the branch that a change is for. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What a verification is made with, so that what comes after it need not be looked up again. */
export interface Verified extends BasePolicy {
  readonly report: VerifyReport;
  readonly base: Base;
  readonly commits: readonly VerifiedCommit[];
  readonly roots: readonly string[];
}

/** The commits that a revision names, the newest first. Fails with `not_found` or `usage`. */
async function commitsNamed(repository: Repository, revision: string): Promise<Result<VerifiedCommit[]>> {
  if (revision.includes('...'))
    return fail('usage', 'A range has two dots: A..B is what B has and A has not.', {
      hint: 'See: atlas verify --help',
    });
  const at = revision.indexOf('..');
  const isRange = at !== -1;
  const names = isRange ? [revision.slice(0, at), revision.slice(at + 2)] : [revision];
  const named = await namedObjects(
    repository,
    names.map((name) => `${name === '' ? 'HEAD' : name}^{commit}`),
  );
  if (!named.ok) return named;
  const ids = named.value.map((each) => each?.id);
  const missing = names.find((_name, index) => ids[index] === undefined);
  if (missing !== undefined) {
    return fail('not_found', `There is no commit ${quoted(missing, 100)} here.`, {
      hint: 'If others have it, fetch it first: git fetch',
    });
  }
  const [first = '', second = ''] = ids;
  const commits = await commitsOf(repository, isRange ? [`${first}..${second}`] : ['--max-count=1', first]);
  if (!commits.ok || commits.value.length > 0) return commits;
  return fail('not_found', `The range ${quoted(revision, 100)} has no commits.`);
}

/**
 * Verifies that commits have the receipts that their base demands: from the repository alone, without a store and
 * without private keys. A change that lacks some is an answer, not a failure.
 */
export async function verifyCommits(
  repository: Repository,
  curve: LoadSecp256k1,
  request: VerifyRequest,
): Promise<Result<Verified>> {
  if (isShallow(repository)) {
    return fail('git_failed', 'This clone is shallow, so it does not show which repository it is, nor what changed.', {
      hint: 'Fetch all of the history first: git fetch --unshallow',
    });
  }
  // Git answers while the rest is looked up: each of its processes takes as long as a hundred signatures.
  const listing = AttachedNotes.list(repository);
  const [commits, base] = await Promise.all([
    commitsNamed(repository, request.revision),
    findBase(repository, request.base, request.env),
  ]);
  if (!commits.ok) return commits;
  if (!base.ok) return base;
  const [demanded, loadedCurve] = await Promise.all([readBase(repository, base.value), curve()]);
  if (!demanded.ok) return demanded;
  const { policy, trusted } = demanded.value;
  const keys = await TrustedKeys.open(trusted, loadedCurve);
  if (!keys.ok) return keys;
  const [tip] = commits.value;
  const [notes, change, roots] = await Promise.all([
    loadedNotes(repository, keys.value, listing, commits.value),
    protectedChanges(repository, policy, base.value.commit, commits.value),
    rootsOf(repository, tip?.commit),
  ]);
  if (!notes.ok) return notes;
  if (!change.ok) return change;
  if (roots.length === 0) return fail('git_failed', 'Git could not tell the first commits of this repository in time.');
  const judge = new Judge(repository, keys.value, notes.value, policy, request, new Set(roots), change.value.inBase);
  const judged = await judge.all(commits.value);
  if (!judged.ok) return judged;
  const { protectedPaths } = change.value;
  const passed = judged.value.every((each) => each.passed);
  const outcome = protectedPaths.length > 0 ? 'protected' : passed ? 'passed' : 'not_verified';
  const remotes = await remotesOf(repository);
  const remote = remotes.ok ? defaultRemote(remotes.value) : undefined;
  const fixes = fixesFor(request.revision, judged.value, {
    remote,
    isFetched: remote !== undefined && notes.value.remotes.includes(remote),
  });
  const report = { base: base.value, commits: judged.value, protectedPaths, outcome, fixes } as const;
  return ok({
    ...demanded.value,
    report: { ...report, notes: notes.value.problems() },
    base: base.value,
    commits: commits.value,
    roots,
  });
}

/** The notes, with those on the commits' trees read. */
async function loadedNotes(
  repository: Repository,
  keys: TrustedKeys,
  listing: ReturnType<typeof AttachedNotes.list>,
  commits: readonly VerifiedCommit[],
): Promise<Result<AttachedNotes>> {
  const listed = await listing;
  if (!listed.ok) return listed;
  const notes = new AttachedNotes(repository, keys, listed.value);
  const loaded = await notes.load(commits.map(({ tree }) => tree));
  return loaded.ok ? ok(notes) : loaded;
}

/** Judges commits one by one with what was loaded for all. */
class Judge {
  private readonly demands: readonly Demand[];

  constructor(
    private readonly repository: Repository,
    private readonly keys: TrustedKeys,
    private readonly notes: AttachedNotes,
    private readonly policy: VerifyPolicy,
    private readonly request: VerifyRequest,
    private readonly roots: ReadonlySet<string>,
    private readonly inBase: ReadonlySet<string>,
  ) {
    const more = [...new Set(request.require)].filter((name) => !policy.checks.some((check) => check.name === name));
    this.demands = [
      ...policy.checks,
      ...more.map((name): Demand => ({ name, run: undefined, cwd: undefined, by: 'developer' })),
    ];
  }

  async all(commits: readonly VerifiedCommit[]): Promise<Result<CommitVerdict[]>> {
    const verdicts: CommitVerdict[] = [];
    for (const commit of commits) {
      const judged = await this.one(commit);
      if (!judged.ok) return judged;
      verdicts.push(judged.value);
    }
    const failing = verdicts.filter(({ passed }) => !passed);
    if (failing.length === 0 || failing.length > MAX_EXPLAINED) return ok(verdicts);
    const others = await this.elsewhere(new Set(failing.map(({ tree }) => tree)));
    if (!others.ok) return others;
    return ok(
      verdicts.map((verdict) => ({
        ...verdict,
        otherTrees: verdict.passed ? [] : this.related(verdict, others.value),
      })),
    );
  }

  private async one({ commit, tree, ...more }: VerifiedCommit): Promise<Result<CommitVerdict>> {
    let checks = this.demands.map((demand) => this.check(demand, tree, commit));
    if (this.request.allowAncestor && checks.some(({ stated }) => stated === undefined)) {
      const lent = await this.fromAncestors({ commit, tree, ...more }, checks);
      if (!lent.ok) return lent;
      checks = lent.value;
    }
    const passed = checks.every(({ stated }) => stated !== undefined);
    return ok({ commit, tree, subject: more.subject, passed, checks, otherTrees: [] });
  }

  private check(demand: Demand, tree: string, commit: string): CheckVerdict {
    const isInBase = this.inBase.has(commit);
    const verdict = judgeCheck(demand, { tree, roots: this.roots, isInBase }, this.notes.on(tree), this.keys);
    if (demand.run !== undefined || verdict.stated === undefined) return verdict;
    // Only the statement says what was run.
    const stated = this.notes.on(tree).find(({ receiptId }) => receiptId === verdict.stated?.receiptId);
    return { ...verdict, run: stated?.command, cwd: stated?.repository?.folder };
  }

  private async fromAncestors(
    commit: VerifiedCommit,
    checks: readonly CheckVerdict[],
  ): Promise<Result<CheckVerdict[]>> {
    const ancestors = await likeAncestors(this.repository, this.policy, commit);
    if (!ancestors.ok) return ancestors;
    const loaded = await this.notes.load(ancestors.value.map(({ tree }) => tree));
    if (!loaded.ok) return loaded;
    return ok(
      checks.map((check, at) => {
        const demand = this.demands[at];
        if (check.stated !== undefined || demand === undefined) return check;
        for (const ancestor of ancestors.value) {
          const verdict = this.check(demand, ancestor.tree, ancestor.commit);
          if (verdict.stated !== undefined) return { ...verdict, ancestor };
        }
        return check;
      }),
    );
  }

  /** The trees, apart from some, on which checks of the policy passed. */
  private async elsewhere(apart: ReadonlySet<string>): Promise<Result<OtherTree[]>> {
    const { trees } = this.notes;
    const log = await commitsOf(this.repository, ['--all', `--max-count=${MAX_LOG}`]);
    const commitOf = new Map((log.ok ? log.value : []).map(({ tree, commit }) => [tree, commit]));
    const wanted = [...trees].filter((tree) => !apart.has(tree));
    const some =
      wanted.length <= MAX_OTHER_TREES ? wanted : wanted.filter((tree) => commitOf.has(tree)).slice(0, MAX_OTHER_TREES);
    const loaded = await this.notes.load(some);
    if (!loaded.ok) return loaded;
    const newest = (tree: string): string =>
      this.notes.on(tree).reduce((last, { completedAt }) => (completedAt > last ? completedAt : last), '');
    const found = some.flatMap((tree): OtherTree[] => {
      const passed = this.demands.filter((demand) => this.check(demand, tree, '').stated !== undefined);
      const checks = passed.map(({ name }) => name);
      return checks.length === 0 ? [] : [{ tree, commit: commitOf.get(tree), checks }];
    });
    return ok(found.sort((a, b) => (newest(a.tree) < newest(b.tree) ? 1 : -1)));
  }

  private related({ checks }: CommitVerdict, others: readonly OtherTree[]): OtherTree[] {
    const missing = new Set(checks.filter(({ stated }) => stated === undefined).map(({ name }) => name));
    return others.filter((other) => other.checks.some((name) => missing.has(name))).slice(0, MAX_NAMED_TREES);
  }
}
