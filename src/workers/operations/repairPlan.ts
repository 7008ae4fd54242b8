import { count } from '../../core/shared/text';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { AtlasError } from '../../core/shared/errors';
import { LEDGER_FILES, type LedgerKind } from '../../core/worker/ledger';
import { type LedgerFinding, type LedgerRecord, recordIn } from '../../core/worker/ledgerLines';
import { LEDGER_BRANCH, slotBranchName, clashingWorker, workerOfBranch } from '../../core/worker/names';
import { LIMITS } from '../../core/worker/limits';
import type { RepairAction } from '../../core/worker/repair';
import { readSmall } from '../../git/read/locate';
import { readForeignFile } from '../../system/files/foreignFile';
import type { ForgeBranches } from '../git/forgeBranches';
import type { ForgeView } from './forgeView';
import type { WorkerStatus } from './workerStatus';
import { LEDGER_KINDS } from '../ledger/ledgerTexts';

/** How old a lock of git's is that nobody holds any more, in ms: git holds one for the moment of a write. */
const LOCK_AGE_MS = 10_000;

/** One thing that is not as it should be. */
export interface RepairItem {
  readonly action: RepairAction;
  /** The worker, task, file or branch that it is about. */
  readonly subject: string;
  /** What was found, in words. */
  readonly found: string;
  /** What is done about it, in words. */
  readonly does: string;
}

/** What is looked at to find what needs a repair. */
export interface RepairSigns {
  readonly view: ForgeView;
  readonly workers: readonly WorkerStatus[];
  /** ms since the epoch. */
  readonly now: number;
}

/** An item of a plan. */
export function item(action: RepairAction, subject: string, found: string, does: string): RepairItem {
  return { action, subject, found, does };
}

/** All that is not as it should be, in the order in which it is fixed. */
export function findRepairs(branches: ForgeBranches, signs: RepairSigns): RepairItem[] {
  return [
    ...oldLocks(branches, signs.now).map((path) =>
      item('remove_lock', path, 'A killed git process left its lock.', 'The lock is removed.'),
    ),
    ...deadWorktrees(branches, signs.view).map((path) =>
      item(
        'forget_worktree',
        path,
        'Git lists a worktree of a worker whose folder and branch no longer exist.',
        'The entry is removed.',
      ),
    ),
    ...halfMadeWorktrees(branches, signs.now).map((path) =>
      item(
        'forget_worktree',
        path,
        'A git process was killed while adding a worktree of a worker.',
        'The entry is removed.',
      ),
    ),
    ...signs.workers.flatMap((worker) => ofWorker(branches, worker)),
    ...ofLedger(branches, signs),
    ...lostTasks(signs),
  ];
}

function ofWorker(branches: ForgeBranches, status: WorkerStatus): RepairItem[] {
  const { worker, orphaned, folder } = status;
  if (orphaned.includes('no_branch'))
    return [item('keep_folder', worker, 'Its folder has no branch.', 'The files are committed to a new branch.')];
  const ref = slotBranchName(worker);
  const other = branches.worktrees.otherBranch(folder, ref);
  if (other !== undefined) {
    const name = ref.slice('refs/heads/'.length);
    return [byHand(worker, `Its folder has ${other} checked out.`, `Switch back: git -C "${folder}" checkout ${name}`)];
  }
  return status.damage === undefined ? [...ofWork(status), ...ofFolder(status)] : [ofDamage(status, status.damage)];
}

function byHand(subject: string, found: string, does: string): RepairItem {
  return item('by_hand', subject, found, does);
}

function ofDamage({ worker, state, elsewhere }: WorkerStatus, { message, hint }: AtlasError): RepairItem {
  if (elsewhere)
    return byHand(worker, message, 'Repair it in the clone that has it, or delete the branch on the remote.');
  if (state !== undefined) return byHand(worker, message, hint ?? 'Check its folder.');
  const does = 'Its last readable state is restored. The damaged one stays in the history.';
  return item('roll_back', worker, message, does);
}

function ofWork({ worker, orphaned, state, elsewhere, plan, stale }: WorkerStatus): RepairItem[] {
  if (state === undefined) return [];
  const { taskId, status, handoffReason } = state;
  if (orphaned.includes('claimed_elsewhere')) {
    if (status !== 'PENDING')
      return [
        byHand(
          worker,
          `Another worker has ${taskId} too and takes precedence.`,
          `Stop it: atlas worker fail ${worker}`,
        ),
      ];
    const found = `${taskId} is also assigned to another worker, which takes precedence.`;
    return [item('withdraw', worker, found, 'It is unassigned here, where it was never started.')];
  }
  if (elsewhere || status !== 'IN_PROGRESS') return [];
  if (plan?.action === 'give_up') return [item('give_up', worker, plan.reason, `${taskId} is marked as failed.`)];
  if (stale !== 'owner_dead' || handoffReason !== undefined) return [];
  const does = 'Its files are committed and the task is handed over, so that the next process continues from there.';
  return [item('hand_on', worker, 'Its process has exited.', does)];
}

function ofFolder({ worker, orphaned, elsewhere }: WorkerStatus): RepairItem[] {
  if (orphaned.includes('no_worktree'))
    return [item('show_folder', worker, 'Its folder was removed.', 'It is restored from the branch.')];
  if (elsewhere || !orphaned.includes('folder_differs')) return [];
  const does = 'They are restored from the branch. The edited files are kept in .forge/set-aside.';
  return [item('show_folder', worker, 'The protocol files in its folder were edited.', does)];
}

function ofLedger(branches: ForgeBranches, { view }: RepairSigns): RepairItem[] {
  const items: RepairItem[] = [];
  const missing = view.behind.tasks.length + view.behind.evidence.length;
  if (missing > 0)
    items.push(
      item('complete_ledger', 'ledger', `It lacks ${count(missing, 'record')} of the workers.`, 'They are added.'),
    );
  const findings = LEDGER_KINDS.flatMap((kind) => view.ledger[kind].findings.map((finding) => ({ kind, finding })));
  for (const { kind, finding } of findings)
    items.push(
      item('set_lines_aside', kind, describeLine(kind, finding), "It is kept in the ledger's rejected.jsonl."),
    );
  for (const kind of LEDGER_KINDS) {
    const lines = linesInFolder(branches, view, kind);
    if (lines.length > 0)
      items.push(
        item(
          'take_lines',
          kind,
          `The ledger's folder has ${count(lines.length, 'record')} in ${kind}.jsonl that its branch lacks.`,
          'They are committed.',
        ),
      );
  }
  return items;
}

function describeLine(kind: LedgerKind, { kind: how, line }: LedgerFinding): string {
  return `Line ${line} of ${kind}.jsonl is ${how === 'torn' ? 'incomplete, because its write was interrupted' : 'not a record'}.`;
}

/** Whole records that lie in the ledger's folder and are not on its branch: somebody wrote them there by hand. */
export function linesInFolder(branches: ForgeBranches, view: ForgeView, kind: LedgerKind): string[] {
  if (view.ledgerCommit === undefined || branches.worktrees.gitDirOf(branches.forge.ledger) === undefined) return [];
  const known = new Set<string>([...view.ledger[kind].all].map(keyOfRecord));
  const read = readForeignFile(join(branches.forge.ledger, LEDGER_FILES[kind]), LIMITS.ledgerBytes);
  const text = read.ok ? Buffer.from(read.value).toString('utf8') : '';
  return text.split(/\r?\n/u).filter((line) => {
    const record = recordIn(line);
    return record !== undefined && !known.has(keyOfRecord(record));
  });
}

function keyOfRecord({ id, claim, incarnation, sequence }: LedgerRecord): string {
  return JSON.stringify([id, claim, incarnation, sequence]);
}

/** Tasks that the ledger says are on a hook of this clone, and are not. */
function lostTasks({ view, workers }: RepairSigns): RepairItem[] {
  const unreadable = new Set(workers.filter(({ damage }) => damage !== undefined).map(({ worker }) => worker));
  return [...view.ledger.tasks.last.values()].flatMap((record) => {
    const { id, status, worker } = record;
    if (worker === undefined || (status !== 'PENDING' && status !== 'IN_PROGRESS') || unreadable.has(worker)) return [];
    const hook = view.hooks.get(worker);
    const held = hook?.work.ok === true ? hook.work.value?.state.taskId : undefined;
    // The hook of a worker whose name clashes with one of ours is in another clone.
    if (clashingWorker(worker, view.hooks.keys()) !== undefined) return [];
    if (held === id || workers.some((each) => each.worker === worker && each.orphaned.includes('no_branch'))) return [];
    return [
      item(
        'reopen_task',
        id,
        `The ledger has it assigned to ${worker}, but the worker does not have it.`,
        'It is open again.',
      ),
    ];
  });
}

/** Locks of git's on our branches and indexes that nobody holds. */
function oldLocks(branches: ForgeBranches, now: number): string[] {
  const { commonDir } = branches.forge.repository;
  const remotes = join(commonDir, 'refs', 'remotes');
  const ours = existsSync(remotes) ? readdirSync(remotes).map((name) => join(remotes, name, 'forge')) : [];
  const roots = [join(commonDir, 'refs', 'heads', 'forge'), join(commonDir, 'worktrees'), ...ours];
  return roots.flatMap((root) => {
    if (!existsSync(root)) return [];
    return readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.lock'))
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => root.endsWith('forge') || isOurs(branches, resolve(path, '..')))
      .filter((path) => isOld(path, now));
  });
}

function isOld(path: string, now: number): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now) < now - LOCK_AGE_MS;
}

/** Worktrees of ours that git began to add and never finished: it locks them so long, and may add no other while they are there. */
function halfMadeWorktrees(branches: ForgeBranches, now: number): string[] {
  return gitDirs(branches)
    .filter((gitDir) => readSmall(join(gitDir, 'locked'))?.trim() === 'initializing')
    .filter((gitDir) => isOurs(branches, gitDir) && isOld(join(gitDir, 'locked'), now));
}

/** Git's own folders of all worktrees beside the main one. */
function gitDirs({ forge }: ForgeBranches): string[] {
  const list = join(forge.repository.commonDir, 'worktrees');
  return existsSync(list) ? readdirSync(list).map((name) => join(list, name)) : [];
}

/** Whether git's own folder of a worktree is that of one below `.forge/`. */
function isOurs({ forge }: ForgeBranches, gitDir: string): boolean {
  return worktreeOf(gitDir)?.startsWith(join(forge.path, '/')) ?? false;
}

function worktreeOf(gitDir: string): string | undefined {
  const pointer = readSmall(join(gitDir, 'gitdir'))?.trim();
  return pointer === undefined ? undefined : resolve(gitDir, pointer, '..');
}

/** What git keeps of our worktrees whose folder and branch are both gone. */
function deadWorktrees(branches: ForgeBranches, { hooks }: ForgeView): string[] {
  return gitDirs(branches).filter((gitDir) => {
    const folder = worktreeOf(gitDir);
    const ref = /^ref: (\S+)$/mu.exec(readSmall(join(gitDir, 'HEAD')) ?? '')?.[1] ?? '';
    const isGone = folder !== undefined && !existsSync(folder) && !existsSync(join(gitDir, 'locked'));
    return isGone && isOurs(branches, gitDir) && ref !== LEDGER_BRANCH && !hooks.has(workerOfBranch(ref) ?? '');
  });
}
