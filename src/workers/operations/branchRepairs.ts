import { count, quoted, sizeText } from '../../core/shared/text';
import type { LedgerTexts } from '../../core/worker/ledger';
import { mergeLedgers } from '../../core/worker/ledgerLines';
import { LIMITS } from '../../core/worker/limits';
import { LEDGER_BRANCH, slotBranchName } from '../../core/worker/names';
import { type RefusedFiles, ledgerProblem, refusedIn, shortName } from './branchProblems';
import { unlessDamaged } from '../attempt';
import type { ForgeBranches, MadeCommit } from '../git/forgeBranches';
import { type ForgeView, ledgerBranch, readLedgerAt } from './forgeView';
import { authorOf } from '../git/gitObjects';
import { NO_TEXTS, compacted, ledgerBytes, ledgerFiles, unionOf } from '../ledger/ledgerTexts';
import { type RepairItem, item } from './repairPlan';
import type { WorkerStatus } from './workerStatus';

/** How many commits back a usable state is looked for. */
const MAX_BACK = 200;
/** How many of a branch's files are named in a plan. */
const MAX_NAMED = 5;

/**
 * What is to be done about what others put on branches: files that are left out, and a ledger that can't be used or is nearly full.
 * @param remote the one that hooks and ledger are shared by, where that is known
 */
export async function findBranchRepairs(
  branches: ForgeBranches,
  view: ForgeView,
  workers: readonly WorkerStatus[],
  remote: string | undefined,
): Promise<RepairItem[]> {
  const elsewhere = new Set(
    workers.flatMap((each) => (each.elsewhere ? [shortName(slotBranchName(each.worker))] : [])),
  );
  const hooks = [...view.hooks.values()].map(({ branch, commit }) => [branch.ref, commit] as const);
  const { ledgerCommit } = view;
  const refused = await refusedIn(branches, [
    ...hooks,
    ...(ledgerCommit === undefined ? [] : [[LEDGER_BRANCH, ledgerCommit] as const]),
  ]);
  const ledger = await ofLedger(branches, view, remote);
  return [...ledger, ...refused.map((each) => ofRefused(each, elsewhere.has(each.branch)))];
}

async function ofLedger(branches: ForgeBranches, view: ForgeView, remote: string | undefined): Promise<RepairItem[]> {
  const name = shortName(LEDGER_BRANCH);
  const there = await ledgerProblem(branches, view, remote);
  const damages = [
    view.ledgerDamage?.message,
    there === undefined ? undefined : `On ${remote ?? ''}: ${there.error.message}`,
  ];
  const found = damages.filter((damage) => damage !== undefined).join(' ');
  if (found !== '') {
    const does = 'Its last usable state is restored. The unusable one stays in the history.';
    return [item('restore_ledger', name, found, does)];
  }
  const bytes = ledgerBytes(view.texts);
  if (bytes <= LIMITS.ledgerFullBytes) return [];
  const full = `It has ${sizeText(bytes)}. At most ${sizeText(LIMITS.ledgerBytes)} are read.`;
  return [
    ledgerBytes(compacted(view.texts)) < bytes
      ? item('shrink_ledger', name, full, 'Replaced records are removed. They stay in the history.')
      : item('by_hand', name, full, 'Use another repository for new tasks.'),
  ];
}

/** Makes a new commit on a branch without the files that are left out. */
export async function withoutRefused(
  branches: ForgeBranches,
  view: ForgeView,
  subject: string,
): Promise<MadeCommit | undefined> {
  const hook = [...view.hooks.values()].find(({ branch }) => shortName(branch.ref) === subject);
  const from = hook?.commit ?? (subject === shortName(LEDGER_BRANCH) ? view.ledgerCommit : undefined);
  if (from === undefined) return undefined;
  return branches.make({
    branch: hook?.branch ?? ledgerBranch(branches),
    from,
    changes: new Map(),
    message: 'Drop files that are left out',
    author: authorOf(hook?.worker ?? 'atlas'),
  });
}

/** The last usable states of the ledgers here and at the remote, on top of both. */
export async function restoredLedger(
  branches: ForgeBranches,
  view: ForgeView,
  remote: string | undefined,
): Promise<MadeCommit> {
  const theirs = (await ledgerProblem(branches, view, remote))?.commit;
  const ours = await lastSoundLedger(branches, view.ledgerCommit);
  const yours = await lastSoundLedger(branches, theirs);
  const texts = unionOf(ours, yours, (mine, other) => (other === '' ? mine : mergeLedgers(mine, other)));
  const onto = theirs ?? view.ledgerCommit;
  return branches.make({
    branch: ledgerBranch(branches),
    from: view.ledgerCommit,
    message: 'Restore the ledger',
    author: authorOf('atlas'),
    ...(onto === undefined ? {} : { onto: { commit: onto, files: new Map(), objects: [] } }),
    merging: onto === view.ledgerCommit ? undefined : view.ledgerCommit,
    changes: ledgerFiles(texts),
  });
}

async function lastSoundLedger(branches: ForgeBranches, commit: string | undefined): Promise<LedgerTexts> {
  const sound = await lastSound(branches, commit, async (at) => {
    const read = await unlessDamaged(async () => readLedgerAt(branches, at));
    return read.ok ? read.value.texts : undefined;
  });
  return sound ?? NO_TEXTS;
}

/** What is found in a commit of a branch, or in the last before it in which it is. */
export async function lastSound<T>(
  { objects }: ForgeBranches,
  commit: string | undefined,
  find: (commit: string) => Promise<T | undefined>,
): Promise<T | undefined> {
  let at = commit;
  for (let back = 0; at !== undefined && back < MAX_BACK; back += 1) {
    const found = await find(at);
    if (found !== undefined) return found;
    at = await objects.parentOf(at);
  }
  return undefined;
}

/** The ledger without records that newer ones replace. */
export async function shrunkLedger(branches: ForgeBranches, view: ForgeView): Promise<MadeCommit> {
  return branches.make({
    branch: ledgerBranch(branches),
    from: view.ledgerCommit,
    changes: ledgerFiles(compacted(view.texts)),
    message: 'Remove records that newer ones replace',
    author: authorOf('atlas'),
  });
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
