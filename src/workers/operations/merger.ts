import { type AtlasError, unwrap } from '../../core/shared/errors';
import { LEDGER_BRANCH, clashingWorker, workerOfBranch } from '../../core/worker/names';
import { compareVersions } from '../../core/worker/versionVector';
import { attempt } from '../attempt';
import type { CommitBefore, ForgeBranch, ForgeBranches, MadeCommit } from '../git/forgeBranches';
import { type SlotOnBranch, ledgerBranch, readLedgerAt, readSlot, slotBranch } from './forgeView';
import { authorOf } from '../git/gitObjects';
import { LEDGER_KINDS, ledgerFiles, unionOf } from '../ledger/ledgerTexts';
import { type BranchProblem, type RefusedFiles, problemsOf, refusedIn, shortName } from './branchProblems';
import { keepAdded, leftBehind } from '../slot/slotChange';
import type { FolderFile } from '../slot/slotTree';

/** What came of bringing a remote's branches and ours together; nothing of either is dropped. */
export interface Integration {
  readonly tips: ReadonlyMap<string, string>;
  /** Workers whose hook another clone moved on. */
  readonly received: readonly string[];
  /** Workers that two clones had: one's files count, the other's are in the history. */
  readonly superseded: readonly { readonly worker: string; readonly counts: 'ours' | 'theirs' }[];
  /** Workers here that can't be beside one of the remote: a pool and a worker have the same name. */
  readonly clashing: readonly { readonly ours: string; readonly theirs: string }[];
  /** Whether the ledger's lines of both were put together. */
  readonly ledgerMerged: boolean;
  /** Branches of the remote that can't be used, and why. The others are. */
  readonly unusable: readonly BranchProblem[];
  /** Files that branches of the remote hold and that are left out here. */
  readonly refused: readonly RefusedFiles[];
  /** Why the remote's ledger can't be used: nothing can be claimed then. */
  readonly ledgerDamage: AtlasError | undefined;
}

/** How a branch here lies to that of a remote. */
export type Relation = 'behind' | 'ahead' | 'diverged';

interface Pair {
  readonly ref: string;
  readonly ours: string;
  readonly theirs: string;
}

/** A hook whose branch another clone moved on. */
interface Moved {
  readonly made: MadeCommit;
  readonly counts?: 'ours' | 'theirs';
}

/** What is taken from the remote. */
interface Taken {
  readonly made: MadeCommit[];
  readonly received: string[];
  readonly superseded: { worker: string; counts: 'ours' | 'theirs' }[];
  ledgerMerged: boolean;
}

/** Moves our branches on to what a remote had when it was last fetched; where both moved, to a commit that has both before it. */
export async function integrate(branches: ForgeBranches, theirs: ReadonlyMap<string, string>): Promise<Integration> {
  const ours = await branches.tips();
  const clashing = clashes(ours, theirs);
  const out = new Set(clashing.map(({ theirs: worker }) => worker));
  const fresh = [...theirs].filter(([ref, commit]) => {
    const worker = workerOfBranch(ref);
    return (worker !== undefined || ref === LEDGER_BRANCH) && !out.has(worker ?? '') && ours.get(ref) !== commit;
  });
  const { usable, unusable, ledgerDamage } = await problemsOf(branches, fresh, { known: ours, all: theirs.keys() });
  const taken: Taken = { made: [], received: [], superseded: [], ledgerMerged: false };
  const pairs: Pair[] = [];
  for (const [ref, commit] of usable) {
    const mine = ours.get(ref);
    if (mine !== undefined) pairs.push({ ref, ours: mine, theirs: commit });
    else {
      taken.made.push(await forward(branches, branchOf(branches, ref), undefined, commit));
      taken.received.push(...workersOf(ref));
    }
  }
  const bad = [...unusable];
  await takePairs(branches, pairs, taken, bad);
  await publishEach(branches, taken.made, bad);
  const refused = await refusedIn(branches, usable);
  const { made, ...rest } = taken;
  return {
    ...rest,
    tips: made.length === 0 ? ours : await branches.tips(),
    clashing,
    refused,
    unusable: bad,
    ledgerDamage: ledgerDamage ?? bad.find(({ branch }) => branch === shortName(LEDGER_BRANCH))?.error,
  };
}

/** What becomes of branches that both have; one that can't be put together is noted, and the others are. */
async function takePairs(
  branches: ForgeBranches,
  pairs: readonly Pair[],
  taken: Taken,
  bad: BranchProblem[],
): Promise<void> {
  const all = await relations(branches, pairs);
  for (const [index, pair] of pairs.entries()) {
    const relation = all[index];
    if (relation === 'ahead' || relation === undefined) continue;
    const worker = workerOfBranch(pair.ref);
    const moved = await attempt(async () =>
      worker === undefined ? takeLedger(branches, pair, relation) : takeHook(branches, pair, worker, relation),
    );
    if (!moved.ok) {
      bad.push({ branch: shortName(pair.ref), error: moved.error });
      continue;
    }
    const { made, counts } = moved.value;
    taken.made.push(made);
    if (worker === undefined) taken.ledgerMerged = relation === 'diverged';
    else taken.received.push(worker);
    if (worker !== undefined && counts !== undefined) taken.superseded.push({ worker, counts });
  }
}

/** Moves our branches. Where git refuses one, the others are moved without it. */
async function publishEach(branches: ForgeBranches, made: readonly MadeCommit[], bad: BranchProblem[]): Promise<void> {
  const published = await attempt(async () => branches.publish(made));
  // What one branch holds, and no folder can show, keeps nobody from the others.
  if (published.ok || published.error.code === 'recorded_not_written') return;
  if (published.error.code !== 'git_failed' || made.length < 2) throw published.error;
  for (const each of made) {
    const alone = await attempt(async () => branches.publish([each]));
    if (!alone.ok && alone.error.code !== 'recorded_not_written')
      bad.push({ branch: shortName(each.branch.ref), error: alone.error });
  }
}

/** How branches lie to one another. */
async function relations(branches: ForgeBranches, pairs: readonly Pair[]): Promise<Relation[]> {
  if (pairs.length === 0) return [];
  const [ours, theirs] = [pairs.map((pair) => pair.ours), pairs.map((pair) => pair.theirs)];
  const incoming = await branches.objects.newCommits(theirs, ours);
  const outgoing = await branches.objects.newCommits(ours, theirs);
  return pairs.map((pair) => {
    if (leadsTo(pair.theirs, pair.ours, incoming)) return 'behind';
    return leadsTo(pair.ours, pair.theirs, outgoing) ? 'ahead' : 'diverged';
  });
}

function branchOf(branches: ForgeBranches, ref: string): ForgeBranch {
  const worker = workerOfBranch(ref);
  return worker === undefined ? ledgerBranch(branches) : slotBranch(branches, worker);
}

async function takeLedger(branches: ForgeBranches, pair: Pair, relation: Relation): Promise<Moved> {
  const branch = ledgerBranch(branches);
  if (relation === 'behind') return { made: await forward(branches, branch, pair.ours, pair.theirs) };
  const onto = await branches.before(pair.theirs);
  const { texts: ours } = await readLedgerAt(branches, pair.ours);
  const { texts: theirs } = await readLedgerAt(branches, pair.theirs);
  const texts = unionOf(ours, theirs);
  const kinds = LEDGER_KINDS.filter((kind) => texts[kind] !== '' || ours[kind] + theirs[kind] !== '');
  const made = await branches.make({
    branch,
    from: pair.ours,
    onto,
    merging: pair.ours,
    changes: ledgerFiles(texts, kinds),
    message: 'Merge ledgers',
    author: authorOf('atlas'),
  });
  return { made };
}

/** A hook that another clone moved on. What lies in its folder here and was never committed is kept first. */
async function takeHook(branches: ForgeBranches, pair: Pair, worker: string, relation: Relation): Promise<Moved> {
  const branch = slotBranch(branches, worker);
  const ours = await readSlot(branches, worker, pair.ours);
  const late = await attempt(async () => uncommitted(branches, ours));
  if (relation === 'behind' && (!late.ok || late.value === undefined))
    return { made: await forward(branches, branch, pair.ours, pair.theirs) };
  const kept = unwrap(late);
  const theirs = await readSlot(branches, worker, pair.theirs);
  const mine: CommitBefore = kept ?? (await branches.before(pair.ours));
  const yours = await attempt(async () => branches.before(pair.theirs));
  const isOurs = !yours.ok || (relation === 'diverged' && isOursNewer(ours, theirs));
  const { files } = isOurs ? mine : yours.value;
  const made = await branches.make({
    branch,
    from: pair.ours,
    merging: mine.commit,
    changes: new Map(),
    onto: { commit: pair.theirs, files, objects: mine.objects },
    message: `Keep both of ${worker}`,
    author: authorOf('atlas'),
  });
  if (isOurs) return { made: { ...made, shown: new Map() }, counts: 'ours' };
  const shown = await difference(branches, mine, pair.theirs);
  return { made: { ...made, shown, unseen: isUnseen(branches, branch) }, counts: 'theirs' };
}

/** A commit with what lies in a hook's folder and no branch has; `undefined` where that is nothing. */
async function uncommitted(branches: ForgeBranches, hook: SlotOnBranch): Promise<MadeCommit | undefined> {
  if (branches.worktrees.gitDirOf(hook.branch.folder) === undefined) return undefined;
  return keepAdded(branches, hook, await leftBehind(branches, hook), `Keep what ${hook.worker} had here`);
}

/** Our branch is to be where theirs is; its folder shows that, where there is one. */
async function forward(
  branches: ForgeBranches,
  branch: ForgeBranch,
  from: string | undefined,
  to: string,
): Promise<MadeCommit> {
  const base = { branch, from, changes: new Map(), message: 'sync', author: authorOf('atlas'), commit: to };
  const at = { ...base, files: new Map(), objects: [] };
  if (isUnseen(branches, branch)) return { ...at, unseen: true };
  const shown = await attempt(async () =>
    difference(branches, from === undefined ? undefined : await branches.before(from), to),
  );
  // Its files are more than a hook can hold: the branch moves on, and the folder stays as it is.
  return shown.ok ? { ...at, shown: shown.value } : { ...at, unseen: true };
}

/** The folders of workers of other clones are made when they are needed here. */
function isUnseen({ worktrees }: ForgeBranches, { ref, folder }: ForgeBranch): boolean {
  return ref !== LEDGER_BRANCH && worktrees.gitDirOf(folder) === undefined;
}

/** What leads a folder from one commit to another. */
async function difference(
  branches: ForgeBranches,
  before: CommitBefore | undefined,
  to: string,
): Promise<Map<string, FolderFile | undefined>> {
  const after = await branches.readAll(to);
  const gone = [...(before?.files.keys() ?? [])].filter((path) => !after.has(path));
  return new Map([...gone.map((path) => [path, undefined] as const), ...after]);
}

function workersOf(ref: string): string[] {
  const worker = workerOfBranch(ref);
  return worker === undefined ? [] : [worker];
}

/** Of one task, the later record counts; of two, the one that was shared first, since all others know of it. */
function isOursNewer(ours: SlotOnBranch, theirs: SlotOnBranch): boolean {
  const [mine, yours] = [ours, theirs].map(({ work }) => (work.ok ? work.value?.state : undefined));
  if (!theirs.work.ok) return ours.work.ok;
  return mine !== undefined && mine.taskId === yours?.taskId && compareVersions(mine, yours) > 0;
}

function clashes(
  ours: ReadonlyMap<string, string>,
  theirs: ReadonlyMap<string, string>,
): { readonly ours: string; readonly theirs: string }[] {
  const workers = (refs: ReadonlyMap<string, string>): string[] =>
    [...refs.keys()].map(workerOfBranch).filter((worker) => worker !== undefined);
  const mine = workers(ours);
  return workers(theirs).flatMap((worker) => {
    const clash = clashingWorker(worker, mine);
    return clash === undefined ? [] : [{ ours: clash, theirs: worker }];
  });
}

/** Whether one commit comes before another, by the parents of those that are new. */
function leadsTo(from: string, to: string, parents: ReadonlyMap<string, readonly string[]>): boolean {
  const waiting = [from];
  const seen = new Set<string>();
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (at === to) return true;
    if (seen.has(at)) continue;
    seen.add(at);
    waiting.push(...(parents.get(at) ?? []));
  }
  return false;
}
