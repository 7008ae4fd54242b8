import { AtlasError } from '../../core/shared/errors';
import { LIMITS } from '../../core/worker/limits';
import { sizeText } from '../../core/shared/text';
import { LEDGER_BRANCH, workerOfBranch } from '../../core/worker/names';
import { attempt, unlessDamaged } from '../attempt';
import type { ForgeBranches } from '../git/forgeBranches';
import { type ForgeView, readLedgerAt } from './forgeView';
import { readLedgerTexts } from '../ledger/ledgerTexts';
import type { Refused } from '../git/treeReader';

/** A branch that can't be used. */
export interface BranchProblem {
  /** Without `refs/heads/`. It may be any name that git allows. */
  readonly branch: string;
  readonly error: AtlasError;
}

/** Files of a branch that are left out. */
export interface RefusedFiles {
  readonly branch: string;
  /** The first of them. */
  readonly files: readonly Refused[];
  readonly count: number;
}

type Tip = readonly [ref: string, commit: string];

/** Branches of a remote: those that can be used, and those that can't. */
interface CheckedTips {
  readonly usable: readonly Tip[];
  readonly unusable: readonly BranchProblem[];
  readonly ledgerDamage: AtlasError | undefined;
}

/** The name of a branch as people write it. */
export function shortName(ref: string): string {
  return ref.replace(/^refs\/heads\//u, '');
}

function problem(branch: string, why: string, hint: string): BranchProblem {
  return {
    branch: shortName(branch),
    error: new AtlasError('damaged', `${shortName(branch)} can't be used: ${why}.`, { hint }),
  };
}

/**
 * Sorts out a remote's branches before ours are moved to them. A worker's branch that is over a limit can be moved to: it is shown as
 * damaged, and repaired from there. One whose commit is missing, damaged or no commit can't, nor can a ledger that can't be read.
 * @param fresh those that are not ours yet
 * @param names the branches here, and the names of all branches of the remote
 */
export async function problemsOf(
  branches: ForgeBranches,
  fresh: readonly Tip[],
  { known, all }: { readonly known: ReadonlyMap<string, string>; readonly all: Iterable<string> },
): Promise<CheckedTips> {
  const commits = fresh.map(([, commit]) => commit);
  const objects = await branches.objects.sizes(commits);
  const summaries = await branches.objects.trees.summaries(commits);
  const usable: Tip[] = [];
  const unusable = blockingProblems(all, known.keys());
  let ledgerDamage: AtlasError | undefined;
  let room = LIMITS.branches - known.size;
  for (const [index, tip] of fresh.entries()) {
    const [ref, commit] = tip;
    const [object, summary] = [objects[index], summaries[index]];
    const isNew = !known.has(ref) && ref !== LEDGER_BRANCH;
    const why = commitProblem(object) ?? (summary?.isMissing === true ? summary.problem : undefined);
    if (why !== undefined)
      unusable.push(problem(ref, why, 'Restore the branch in the clone that pushed it, or delete it on the remote.'));
    else if (isNew && room <= 0)
      unusable.push(problem(ref, TOO_MANY, 'Delete branches of former workers on the remote.'));
    else if (ref === LEDGER_BRANCH) {
      const ledger = await attempt(async () => readLedgerAt(branches, commit));
      if (ledger.ok) usable.push(tip);
      else {
        ledgerDamage = ledger.error;
        unusable.push({ branch: shortName(ref), error: ledger.error });
      }
    } else {
      if (isNew) room -= 1;
      usable.push(tip);
      if (summary?.problem !== undefined)
        unusable.push(problem(ref, summary.problem, 'Restore its last usable state with: atlas worker repair --yes'));
    }
  }
  return { usable, unusable, ledgerDamage };
}

const TOO_MANY = `there are more than ${LIMITS.branches.toLocaleString('en')} branches of workers`;

function commitProblem(object: { readonly type: string; readonly size: number } | undefined): string | undefined {
  if (object === undefined) return 'its commit is missing or damaged';
  if (object.type !== 'commit') return `it points to a ${object.type}, not to a commit`;
  if (object.size > LIMITS.commitBytes) return `its commit has ${sizeText(object.size)}`;
  return undefined;
}

/** The names above a branch's: git makes a folder of each part, so that none of them can be a branch beside it. */
function namesAbove(ref: string): string[] {
  const parts = ref.split('/');
  return parts.slice(3).map((_part, index) => parts.slice(0, index + 3).join('/'));
}

/** Branches of a remote that no worker has, and beside which git can't keep one of `ours`. */
export function inTheWay(
  refs: Iterable<string>,
  ours: Iterable<string>,
): { readonly ref: string; readonly of: string }[] {
  const wanted = new Map([...ours].map((ref) => [ref, ref]));
  const above = new Map([...wanted.keys()].flatMap((ref) => namesAbove(ref).map((name) => [name, ref] as const)));
  return [...refs].flatMap((ref) => {
    if (workerOfBranch(ref) !== undefined || ref === LEDGER_BRANCH) return [];
    const of = above.get(ref) ?? namesAbove(ref).find((name) => wanted.has(name));
    return of === undefined ? [] : [{ ref, of }];
  });
}

/** The same, as what is wrong with them. */
export function blockingProblems(refs: Iterable<string>, ours: Iterable<string>): BranchProblem[] {
  return inTheWay(refs, ours)
    .slice(0, LIMITS.listed)
    .map(({ ref, of }) =>
      problem(ref, `git can't keep it beside ${shortName(of)}`, 'Delete it on the remote, or rename it.'),
    );
}

/** The files of branches that are left out here. */
export async function refusedIn(branches: ForgeBranches, tips: readonly Tip[]): Promise<RefusedFiles[]> {
  const found: RefusedFiles[] = [];
  for (const [ref, commit] of tips) {
    const checked = await unlessDamaged(async () => branches.objects.checkedFiles(commit));
    if (checked.ok && checked.value.refusedCount > 0)
      found.push({ branch: shortName(ref), files: checked.value.refused, count: checked.value.refusedCount });
  }
  return found;
}

/** What is wrong with the ledger that a remote had when it was last fetched, where it is another than ours and can't be used. */
export async function ledgerProblem(
  branches: ForgeBranches,
  { ledgerCommit }: ForgeView,
  remote: string | undefined,
): Promise<(BranchProblem & { readonly commit: string }) | undefined> {
  const commit = remote === undefined ? undefined : (await branches.tipsOf(remote)).get(LEDGER_BRANCH);
  if (remote === undefined || commit === undefined || commit === ledgerCommit) return undefined;
  const read = await unlessDamaged(async () => readLedgerTexts(branches, commit));
  return read.ok ? undefined : { branch: `${remote}/${shortName(LEDGER_BRANCH)}`, error: read.error, commit };
}
