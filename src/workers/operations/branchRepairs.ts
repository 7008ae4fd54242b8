import { type Result, ok } from '../../core/shared/errors';
import { count, quoted } from '../../core/shared/text';
import { LEDGER_FILES, type LedgerTexts } from '../../core/worker/ledger';
import { mergeLedgers } from '../../core/worker/ledgerLines';
import { LIMITS, sizeText } from '../../core/worker/limits';
import { LEDGER_BRANCH, slotBranchName } from '../../core/worker/names';
import { type RefusedFiles, ledgerProblem, refusedIn, shortName } from './branchProblems';
import { type Change, type ForgeBranch, type ForgeBranches, type Publish, textFile } from '../git/forgeBranches';
import { type ForgeView, slotBranch, readLedgerAt } from './forgeView';
import { authorOf } from '../git/gitObjects';
import { LEDGER_KINDS, NO_TEXTS, compacted, excessOf, ledgerBytes } from '../ledger/ledgerTexts';
import { type RepairItem, item } from './repairPlan';
import type { RemoteSync } from './remoteSync';
import type { WorkerStatus } from './workerStatus';

/** How many commits back a usable ledger is looked for. */
const MAX_BACK = 200;
/** How many of a branch's files are named in a plan. */
const MAX_NAMED = 5;

/** Finds and repairs what others put on branches: files that are left out, and a ledger that can't be used or is nearly full. */
export class BranchRepairs {
  constructor(
    private readonly branches: ForgeBranches,
    private readonly sharing: RemoteSync,
  ) {}

  /** What is to be done about branches. */
  async find(view: ForgeView, workers: readonly WorkerStatus[]): Promise<Result<RepairItem[]>> {
    const elsewhere = new Set(
      workers.flatMap((each) => (each.elsewhere ? [shortName(slotBranchName(each.worker))] : [])),
    );
    const hooks = [...view.hooks.values()].map(({ branch, commit }) => [branch.ref, commit] as const);
    const { ledgerCommit } = view;
    const refused = await refusedIn(this.branches, [
      ...hooks,
      ...(ledgerCommit === undefined ? [] : [[LEDGER_BRANCH, ledgerCommit] as const]),
    ]);
    if (!refused.ok) return refused;
    const ledger = await this.ofLedger(view);
    if (!ledger.ok) return ledger;
    return ok([...ledger.value, ...refused.value.map((each) => ofRefused(each, elsewhere.has(each.branch)))]);
  }

  private async ofLedger(view: ForgeView): Promise<Result<RepairItem[]>> {
    const name = shortName(LEDGER_BRANCH);
    const remote = await this.sharing.remoteName();
    const there =
      remote.ok && remote.value !== undefined ? await ledgerProblem(this.branches, view, remote.value) : ok(undefined);
    if (!there.ok) return there;
    const damages = [
      view.ledgerDamage?.message,
      there.value === undefined
        ? undefined
        : `On ${remote.ok ? (remote.value ?? '') : ''}: ${there.value.error.message}`,
    ];
    const found = damages.filter((damage) => damage !== undefined).join(' ');
    if (found !== '') {
      const does = 'Its last usable state is restored. The unusable one stays in the history.';
      return ok([item('restore_ledger', name, found, does)]);
    }
    const bytes = ledgerBytes(view.texts);
    if (bytes <= LIMITS.ledgerFullBytes) return ok([]);
    const full = `It has ${sizeText(bytes)}. At most ${sizeText(LIMITS.ledgerBytes)} are read.`;
    return ok([
      ledgerBytes(compacted(view.texts)) < bytes
        ? item('shrink_ledger', name, full, 'Replaced records are removed. They stay in the history.')
        : item('by_hand', name, full, 'Use another repository for new tasks.'),
    ]);
  }

  /** Makes a new commit on a branch without the files that are left out. */
  async dropFiles(subject: string, view: ForgeView, publish: Publish): Promise<Result<void>> {
    const hook = [...view.hooks.values()].find(({ branch }) => shortName(branch.ref) === subject);
    const from = hook?.commit ?? (subject === shortName(LEDGER_BRANCH) ? view.ledgerCommit : undefined);
    if (from === undefined) return ok(undefined);
    const branch = hook === undefined ? this.ledger : slotBranch(this.branches, hook.worker);
    const changes: Change = {
      branch,
      from,
      changes: new Map(),
      shown: new Map(),
      message: 'Drop files that are left out',
      author: authorOf(hook?.worker ?? 'atlas'),
    };
    const made = await this.branches.make(changes);
    return made.ok ? publish([made.value]) : made;
  }

  private get ledger(): ForgeBranch {
    return { ref: LEDGER_BRANCH, folder: this.branches.forge.ledger };
  }

  /** Puts the last usable states of the ledgers here and at the remote on top of both. */
  async restoreLedger(view: ForgeView, publish: Publish): Promise<Result<void>> {
    const remote = await this.sharing.remoteName();
    if (!remote.ok) return remote;
    const theirs = remote.value === undefined ? ok(undefined) : await this.theirs(view, remote.value);
    if (!theirs.ok) return theirs;
    const states: LedgerTexts[] = [];
    for (const commit of [view.ledgerCommit, theirs.value]) {
      const sound = await this.lastSound(commit);
      if (!sound.ok) return sound;
      states.push(sound.value);
    }
    const [ours = NO_TEXTS, yours = NO_TEXTS] = states;
    const merge = (kind: keyof LedgerTexts): string =>
      yours[kind] === '' ? ours[kind] : mergeLedgers(ours[kind], yours[kind]);
    const merged = { tasks: merge('tasks'), convoys: merge('convoys'), evidence: merge('evidence') };
    const texts = excessOf(merged) === undefined ? merged : compacted(merged);
    const excess = excessOf(texts);
    if (excess !== undefined) return { ok: false, error: excess };
    const onto = theirs.value ?? view.ledgerCommit;
    const made = await this.branches.make({
      branch: this.ledger,
      from: view.ledgerCommit,
      message: 'Restore the ledger',
      author: authorOf('atlas'),
      ...(onto === undefined ? {} : { onto: { commit: onto, files: new Map(), objects: [] } }),
      merging: onto === view.ledgerCommit ? undefined : view.ledgerCommit,
      changes: filesOf(texts),
    });
    return made.ok ? publish([made.value]) : made;
  }

  /** The remote's ledger, where it can't be used. */
  private async theirs(view: ForgeView, remote: string): Promise<Result<string | undefined>> {
    const problem = await ledgerProblem(this.branches, view, remote);
    return problem.ok ? ok(problem.value?.commit) : problem;
  }

  private async lastSound(commit: string | undefined): Promise<Result<LedgerTexts>> {
    let at = commit;
    for (let back = 0; at !== undefined && back < MAX_BACK; back += 1) {
      const read = await readLedgerAt(this.branches, at);
      if (read.ok) return ok(read.value.texts);
      if (read.error.code !== 'damaged') return read;
      const parent = await this.branches.objects.parentOf(at);
      if (!parent.ok) return parent;
      at = parent.value;
    }
    return ok(NO_TEXTS);
  }

  /** Takes records out of the ledger that newer ones replace. */
  async shrinkLedger(view: ForgeView, publish: Publish): Promise<Result<void>> {
    const made = await this.branches.make({
      branch: this.ledger,
      from: view.ledgerCommit,
      changes: filesOf(compacted(view.texts)),
      message: 'Remove records that newer ones replace',
      author: authorOf('atlas'),
    });
    return made.ok ? publish([made.value]) : made;
  }
}

function filesOf(texts: LedgerTexts): Change['changes'] {
  return new Map(LEDGER_KINDS.map((kind) => [LEDGER_FILES[kind], textFile(texts[kind])]));
}

function ofRefused({ branch, files, count: of }: RefusedFiles, elsewhere: boolean): RepairItem {
  const named = files.slice(0, MAX_NAMED).map(({ path, why }) => `${quoted(path, 60)}, because ${why}`);
  const more = of - named.length;
  const all = [...named, ...(more === 0 ? [] : [`${more} more`])].join('; ');
  const found = `${count(of, 'file is', 'files are')} left out: ${all}.`;
  if (elsewhere)
    return item('by_hand', branch, found, 'Repair it in the clone that has it, or delete the branch on the remote.');
  return item('drop_files', branch, found, 'A new commit drops them. They stay in the history.');
}
