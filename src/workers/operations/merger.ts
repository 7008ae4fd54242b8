import { type AtlasError, type Result, ok } from '../../core/shared/errors';
import { LEDGER_FILES, type LedgerKind, type LedgerTexts } from '../../core/worker/ledger';
import { mergeLedgers } from '../../core/worker/ledgerLines';
import { LEDGER_BRANCH, clashingWorker, workerOfBranch } from '../../core/worker/names';
import { compareVersions } from '../../core/worker/versionVector';
import {
  type CommitBefore,
  type ForgeBranch,
  type ForgeBranches,
  type MadeCommit,
  textFile,
} from '../git/forgeBranches';
import { type SlotOnBranch, readSlot, readLedgerAt } from './forgeView';
import { authorOf } from '../git/gitObjects';
import { LEDGER_KINDS, compacted, excessOf } from '../ledger/ledgerTexts';
import { type BranchProblem, type RefusedFiles, problemsOf, refusedIn, shortName } from './branchProblems';
import { slotChange, keepOutputs, leftBehind } from '../slot/slotChange';
import type { FolderFile } from '../slot/slotTree';
import type { WorkerPorts } from '../forgeFolder';

/** What came of bringing a remote's branches and ours together; nothing of either is dropped. */
export interface Integration {
  /** Where our branches are now. */
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

/** Brings what a remote had when it was last fetched into our branches: on from ours, or both put together. */
export class Merger {
  constructor(
    private readonly branches: ForgeBranches,
    private readonly ports: WorkerPorts,
  ) {}

  /** Moves our branches on to a remote's; where both moved, to a commit that has both before it. */
  async integrate(theirs: ReadonlyMap<string, string>): Promise<Result<Integration>> {
    const ours = await this.branches.tips();
    if (!ours.ok) return ours;
    const clashing = clashes(ours.value, theirs);
    const out = new Set(clashing.map(({ theirs: worker }) => worker));
    const fresh = [...theirs].filter(([ref, commit]) => {
      const worker = workerOfBranch(ref);
      return (
        (worker !== undefined || ref === LEDGER_BRANCH) && !out.has(worker ?? '') && ours.value.get(ref) !== commit
      );
    });
    const checked = await problemsOf(this.branches, fresh, { known: ours.value, all: theirs.keys() });
    if (!checked.ok) return checked;
    const { usable, unusable, ledgerDamage } = checked.value;
    const taken: Taken = { made: [], received: [], superseded: [], ledgerMerged: false };
    const pairs: Pair[] = [];
    for (const [ref, commit] of usable) {
      const mine = ours.value.get(ref);
      if (mine !== undefined) pairs.push({ ref, ours: mine, theirs: commit });
      else {
        const forwarded = await this.forward(this.branchOf(ref), undefined, commit);
        if (!forwarded.ok) return forwarded;
        taken.made.push(forwarded.value);
        taken.received.push(...workersOf(ref));
      }
    }
    const bad = [...unusable];
    const moved = await this.takePairs(pairs, taken, bad);
    if (!moved.ok) return moved;
    const published = await this.publish(taken.made, bad);
    if (!published.ok) return published;
    const refused = await refusedIn(this.branches, usable);
    if (!refused.ok) return refused;
    const now = taken.made.length === 0 ? ours : await this.branches.tips();
    if (!now.ok) return now;
    const { received, superseded, ledgerMerged } = taken;
    return ok({
      tips: now.value,
      received,
      superseded,
      clashing,
      ledgerMerged,
      refused: refused.value,
      unusable: bad,
      ledgerDamage: ledgerDamage ?? bad.find(({ branch }) => branch === shortName(LEDGER_BRANCH))?.error,
    });
  }

  /** What becomes of branches that both have; one that can't be put together is noted, and the others are. */
  private async takePairs(pairs: readonly Pair[], taken: Taken, bad: BranchProblem[]): Promise<Result<void>> {
    const relations = await this.relations(pairs);
    if (!relations.ok) return relations;
    for (const [index, pair] of pairs.entries()) {
      const relation = relations.value[index];
      if (relation === 'ahead' || relation === undefined) continue;
      const worker = workerOfBranch(pair.ref);
      const moved = await (worker === undefined ? this.ledger(pair, relation) : this.hook(pair, worker, relation));
      if (!moved.ok) {
        bad.push({ branch: shortName(pair.ref), error: moved.error });
        continue;
      }
      taken.made.push(moved.value.made);
      if (worker === undefined) taken.ledgerMerged = relation === 'diverged';
      else taken.received.push(worker);
      const { counts } = moved.value;
      if (worker !== undefined && counts !== undefined) taken.superseded.push({ worker, counts });
    }
    return ok(undefined);
  }

  /** Moves our branches. Where git refuses one, the others are moved without it. */
  private async publish(made: readonly MadeCommit[], bad: BranchProblem[]): Promise<Result<void>> {
    const published = await this.branches.publish(made);
    // What one branch holds, and no folder can show, keeps nobody from the others.
    if (published.ok || published.error.code === 'recorded_not_written') return ok(undefined);
    if (published.error.code !== 'git_failed' || made.length < 2) return published;
    for (const each of made) {
      const alone = await this.branches.publish([each]);
      if (!alone.ok && alone.error.code !== 'recorded_not_written')
        bad.push({ branch: shortName(each.branch.ref), error: alone.error });
    }
    return ok(undefined);
  }

  /** How branches lie to one another. */
  private async relations(pairs: readonly Pair[]): Promise<Result<Relation[]>> {
    if (pairs.length === 0) return ok([]);
    const [ours, theirs] = [pairs.map((pair) => pair.ours), pairs.map((pair) => pair.theirs)];
    const incoming = await this.branches.objects.newCommits(theirs, ours);
    if (!incoming.ok) return incoming;
    const outgoing = await this.branches.objects.newCommits(ours, theirs);
    if (!outgoing.ok) return outgoing;
    return ok(
      pairs.map((pair) => {
        if (leadsTo(pair.theirs, pair.ours, incoming.value)) return 'behind';
        return leadsTo(pair.ours, pair.theirs, outgoing.value) ? 'ahead' : 'diverged';
      }),
    );
  }

  private branchOf(ref: string): ForgeBranch {
    const worker = workerOfBranch(ref);
    const { forge } = this.branches;
    return { ref, folder: worker === undefined ? forge.ledger : forge.hook(worker) };
  }

  private async ledger(pair: Pair, relation: Relation): Promise<Result<Moved>> {
    if (relation === 'behind') {
      const made = await this.forward(this.branchOf(pair.ref), pair.ours, pair.theirs);
      return made.ok ? ok({ made: made.value }) : made;
    }
    const before = await this.branches.before(pair.theirs);
    const ours = await readLedgerAt(this.branches, pair.ours);
    const theirs = await readLedgerAt(this.branches, pair.theirs);
    if (!before.ok) return before;
    if (!ours.ok) return ours;
    if (!theirs.ok) return theirs;
    const merged = union(ours.value.texts, theirs.value.texts);
    if (!merged.ok) return merged;
    const made = await this.branches.make({
      branch: this.branchOf(pair.ref),
      from: pair.ours,
      onto: before.value,
      merging: pair.ours,
      changes: merged.value,
      message: 'Merge ledgers',
      author: authorOf('atlas'),
    });
    return made.ok ? ok({ made: made.value }) : made;
  }

  /** A hook that another clone moved on. What lies in its folder here and was never committed is kept first. */
  private async hook(pair: Pair, worker: string, relation: Relation): Promise<Result<Moved>> {
    const branch = this.branchOf(pair.ref);
    const ours = await readSlot(this.branches, worker, pair.ours);
    if (!ours.ok) return ours;
    const late = await this.uncommitted(ours.value);
    if (relation === 'behind' && (!late.ok || late.value === undefined)) {
      const made = await this.forward(branch, pair.ours, pair.theirs);
      return made.ok ? ok({ made: made.value }) : made;
    }
    if (!late.ok) return late;
    const theirs = await readSlot(this.branches, worker, pair.theirs);
    if (!theirs.ok) return theirs;
    const mine: Result<CommitBefore> =
      late.value === undefined ? await this.branches.before(pair.ours) : ok(late.value);
    const yours = await this.branches.before(pair.theirs);
    if (!mine.ok) return mine;
    const isOurs = !yours.ok || (relation === 'diverged' && isOursNewer(ours.value, theirs.value));
    const counts = isOurs ? 'ours' : 'theirs';
    const { files } = isOurs ? mine.value : yours.value;
    const made = await this.branches.make({
      branch,
      from: pair.ours,
      merging: mine.value.commit,
      changes: new Map(),
      onto: { commit: pair.theirs, files, objects: mine.value.objects },
      message: `Keep both of ${worker}`,
      author: authorOf('atlas'),
    });
    if (!made.ok) return made;
    if (counts === 'ours') return ok({ made: { ...made.value, shown: new Map() }, counts });
    const shown = await this.difference(mine.value.commit === pair.ours ? pair.ours : late.value, pair.theirs);
    return shown.ok ? ok({ made: { ...made.value, shown: shown.value, ...this.unseen(branch) }, counts }) : shown;
  }

  /** A commit with what lies in a hook's folder and no branch has; `undefined` where that is nothing. */
  private async uncommitted(hook: SlotOnBranch): Promise<Result<MadeCommit | undefined>> {
    if (this.branches.worktrees.gitDirOf(hook.branch.folder) === undefined) return ok(undefined);
    const left = await leftBehind(this.branches, this.ports.files, hook);
    if (!left.ok) return left;
    const changes = await keepOutputs(this.branches, hook, left.value);
    if (!changes.ok) return changes;
    const added = new Map([...changes.value].filter(([, file]) => file !== undefined));
    if (added.size === 0) return ok(undefined);
    return this.branches.make(slotChange(hook, added, `Keep what ${hook.worker} had here`));
  }

  /** Our branch is to be where theirs is; its folder shows that, where there is one. */
  private async forward(branch: ForgeBranch, from: string | undefined, to: string): Promise<Result<MadeCommit>> {
    const base = { branch, from, changes: new Map(), message: 'sync', author: authorOf('atlas'), commit: to };
    const at = { ...base, files: new Map(), objects: [] };
    const unseen = this.unseen(branch);
    if (unseen.unseen) return ok({ ...at, ...unseen });
    const shown = await this.difference(from, to);
    // Its files are more than a hook can hold: the branch moves on, and the folder stays as it is.
    return ok(shown.ok ? { ...at, shown: shown.value } : { ...at, unseen: true });
  }

  /** The folders of workers of other clones are made when they are needed here. */
  private unseen({ ref, folder }: ForgeBranch): { readonly unseen: boolean } {
    return { unseen: ref !== LEDGER_BRANCH && this.branches.worktrees.gitDirOf(folder) === undefined };
  }

  /** What leads a folder from one commit to another. */
  private async difference(
    from: string | MadeCommit | undefined,
    to: string,
  ): Promise<Result<Map<string, FolderFile | undefined>>> {
    const after = await this.branches.readAll(to);
    if (!after.ok) return after;
    if (from === undefined) return ok(new Map(after.value));
    const before = typeof from === 'string' ? await this.branches.before(from) : ok(from);
    if (!before.ok) return before;
    const gone = [...before.value.files.keys()].filter((path) => !after.value.has(path));
    return ok(new Map([...gone.map((path) => [path, undefined] as const), ...after.value]));
  }
}

/** The lines of both. Where they are too many together, those that newer records replace stay in the history. */
function union(ours: LedgerTexts, theirs: LedgerTexts): Result<Map<string, FolderFile>> {
  const merge = (kind: LedgerKind): string => mergeLedgers(ours[kind], theirs[kind]);
  const whole = { tasks: merge('tasks'), convoys: merge('convoys'), evidence: merge('evidence') };
  const texts = excessOf(whole) === undefined ? whole : compacted(whole);
  const excess = excessOf(texts);
  if (excess !== undefined) return { ok: false, error: excess };
  const kinds = LEDGER_KINDS.filter((kind) => texts[kind] !== '' || ours[kind] + theirs[kind] !== '');
  return ok(new Map(kinds.map((kind) => [LEDGER_FILES[kind], textFile(texts[kind])])));
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
