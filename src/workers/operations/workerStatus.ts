import { join } from 'node:path';
import { type AtlasError, type Result, unwrap } from '../../core/shared/errors';
import type { SlotContext, SlotResult, SlotState, SlotTask } from '../../core/worker/slotContent';
import { type SlotPlan, planSlotRecovery, staleness } from '../../core/worker/slotSteps';
import type { Ledger } from '../../core/worker/ledger';
import { LEDGER_BRANCH, checkWorker, workerOfBranch } from '../../core/worker/names';
import { type BranchProblem, ledgerProblem, shortName } from './branchProblems';
import { SLOT_FILES } from '../slot/slotTree';
import { attempt } from '../attempt';
import type { ForgeBranches } from '../git/forgeBranches';
import { type ForgeView, type SlotOnBranch, slotBranch, readForge } from './forgeView';
import { type FolderScan, type HeldSlot, glanceAt, scanFolder } from '../slot/slotChange';
import type { RemoteSync } from './remoteSync';
import { isHere, ownerVitality, workerThatCounts } from './workerSteps';

/** What is not as it should be around a hook. */
export type Orphaning = 'no_worktree' | 'no_branch' | 'ledger_behind' | 'folder_differs' | 'claimed_elsewhere';

/** How a worker's hook fares now. */
export interface WorkerStatus {
  readonly worker: string;
  readonly folder: string;
  /** `undefined` where there is no branch. */
  readonly commit: string | undefined;
  readonly state: SlotState | undefined;
  readonly task: SlotTask | undefined;
  readonly context: SlotContext | undefined;
  readonly result: SlotResult | undefined;
  /** What is to be done about it; `undefined` where nothing hangs on it, or nobody can say. */
  readonly plan: SlotPlan | undefined;
  /** Why nothing of it can be used. */
  readonly damage: AtlasError | undefined;
  readonly stale: 'deadline' | 'owner_dead' | undefined;
  /**
   * `no_worktree`: its folder was removed. `no_branch`: a folder without a branch. `ledger_behind`: the ledger doesn't know of its
   * last step. `folder_differs`: the protocol's files in the folder were edited; what the branch says counts. `claimed_elsewhere`:
   * another worker has the same task, and counts.
   */
  readonly orphaned: readonly Orphaning[];
  /** Another clone of the repository has it; its folder here shows nothing, or is not there. */
  readonly elsewhere: boolean;
}

/** All workers and the ledger, at one moment. */
export interface ForgeStatus {
  readonly workers: readonly WorkerStatus[];
  readonly ledger: Ledger;
  /** Branches beside those of workers that can't be used: the ledger here, or that of the remote. */
  readonly unusable: readonly BranchProblem[];
}

/** The same, and what it was seen in. */
interface ForgeLook {
  readonly workers: readonly WorkerStatus[];
  readonly view: ForgeView;
  readonly unusable: readonly BranchProblem[];
}

/** Says how hooks fare; changes nothing, needs no lock. */
export class WorkerStatuses {
  constructor(
    private readonly branches: ForgeBranches,
    private readonly sharing: RemoteSync,
  ) {}

  /** All workers by name: those with a branch, and folders that lost theirs. */
  async all(): Promise<Result<ForgeStatus>> {
    return attempt(async () => {
      const { workers, view, unusable } = await this.look();
      return { workers, ledger: view.ledger, unusable };
    });
  }

  /** The same, with what it was seen in. */
  async look(): Promise<ForgeLook> {
    // Git reads the branches while we look into the folders; what lies there need not come from git.
    const tips = await this.branches.tips();
    const scans = new Map<string, Result<FolderScan>>();
    const seen = (worker: string): FolderScan['own'] | undefined => {
      const scan = scans.get(worker);
      return scan?.ok === true ? scan.value.own : undefined;
    };
    const reading = attempt(async () => readForge(this.branches, tips, seen));
    this.scan(tips.keys(), scans);
    const view = unwrap(await reading);
    const remote = await this.sharing.remoteName();
    const shared = !remote.ok || remote.value !== undefined;
    const workers: WorkerStatus[] = [];
    for (const hook of view.hooks.values())
      workers.push(await this.statusOf(view, hook, scans.get(hook.worker), shared));
    for (const worker of this.foldersWithoutBranch(view)) workers.push(this.withoutBranch(worker));
    workers.sort((a, b) => (a.worker < b.worker ? -1 : 1));
    const there = remote.ok ? await ledgerProblem(this.branches, view, remote.value) : undefined;
    const { ledgerDamage } = view;
    const here = ledgerDamage === undefined ? [] : [{ branch: shortName(LEDGER_BRANCH), error: ledgerDamage }];
    return { workers, view, unusable: [...here, ...(there === undefined ? [] : [there])] };
  }

  /** Notes what lies in the folders that are there, by worker. */
  private scan(refs: Iterable<string>, scans: Map<string, Result<FolderScan>>): void {
    for (const ref of refs) {
      const worker = workerOfBranch(ref);
      const folder = worker === undefined ? undefined : this.branches.forge.hook(worker);
      if (worker !== undefined && folder !== undefined && this.branches.worktrees.shows(folder))
        scans.set(worker, scanFolder(this.branches.ports.files, folder));
    }
  }

  private async statusOf(
    view: ForgeView,
    hook: SlotOnBranch,
    scan: Result<FolderScan> | undefined,
    shared: boolean,
  ): Promise<WorkerStatus> {
    const { worker, branch, commit } = hook;
    const there = scan !== undefined;
    const work = hook.work.ok ? hook.work.value : undefined;
    // Of a hook that several clones can have, the folder is made when it is needed.
    const elsewhere = work === undefined ? shared && !there : !isHere(this.branches, work.state);
    const gone: Orphaning[] = there || elsewhere ? [] : ['no_worktree'];
    const base = { worker, folder: branch.folder, commit, elsewhere };
    if (!hook.work.ok) return { ...NOTHING, ...base, damage: hook.work.error, orphaned: gone };
    if (work === undefined) return { ...NOTHING, ...base, orphaned: gone };
    const { state, task, context, result } = work;
    const { ports } = this.branches;
    const owner = elsewhere ? undefined : ownerVitality(ports, state);
    const held = { ...hook, held: work };
    const seen = scan?.ok === false ? scan : await attempt(async () => glanceAt(this.branches, held, scan?.value));
    const partial = seen.ok && seen.value.partial;
    return {
      ...base,
      state,
      task,
      context,
      result,
      plan: planSlotRecovery(state, { owner, elsewhere, partial }),
      damage: seen.ok ? undefined : seen.error,
      stale: staleness(state, task, owner, ports.clock.now()),
      orphaned: [...gone, ...orphanings(view, held, seen.ok && seen.value.differs)],
    };
  }

  private withoutBranch(worker: string): WorkerStatus {
    const { folder } = slotBranch(this.branches, worker);
    return { ...NOTHING, worker, folder, commit: undefined, elsewhere: false, orphaned: ['no_branch'] };
  }

  /** A folder is a hook's if it is a worktree, or holds what a hook holds; what else lies there is left alone. */
  private foldersWithoutBranch({ hooks }: ForgeView): string[] {
    const base = this.branches.forge.hooks;
    const { files } = this.branches.ports;
    const isHook = (name: string): boolean => {
      const folder = join(base, name);
      return files.stat(join(folder, '.git')) !== undefined || files.stat(join(folder, SLOT_FILES.task)) !== undefined;
    };
    const unknown = (folder: string, pool: string): string[] =>
      this.foldersIn(folder, (name) => !hooks.has(pool + name)).map((name) => pool + name);
    return unknown(base, '')
      .flatMap((name) => (isHook(name) ? [name] : unknown(join(base, name), `${name}/`)))
      .filter((name) => checkWorker(name).ok && isHook(name));
  }

  private foldersIn(folder: string, isMeant: (name: string) => boolean): string[] {
    const { forge, ports } = this.branches;
    if (!forge.isPlain(folder)) return [];
    const { files } = ports;
    return files.list(folder).filter((name) => isMeant(name) && files.stat(join(folder, name))?.kind === 'folder');
  }
}

function orphanings(view: ForgeView, hook: HeldSlot, differs: boolean): Orphaning[] {
  const { id } = hook.held.task;
  const isBehind = [...view.behind.tasks, ...view.behind.evidence].some(
    (each) => ('taskId' in each ? each.taskId : each.id) === id,
  );
  return [
    ...(isBehind ? (['ledger_behind'] as const) : []),
    ...(differs ? (['folder_differs'] as const) : []),
    ...(workerThatCounts(view, hook) === hook.worker ? [] : (['claimed_elsewhere'] as const)),
  ];
}

const NOTHING = {
  state: undefined,
  task: undefined,
  context: undefined,
  result: undefined,
  plan: undefined,
  damage: undefined,
  stale: undefined,
} as const;
