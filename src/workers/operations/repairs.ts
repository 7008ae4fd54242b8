import { AtlasError, type Result, ok, unwrap } from '../../core/shared/errors';
import { handedOff } from '../../core/worker/slotSteps';
import { LEDGER_FILES, type LedgerKind } from '../../core/worker/ledger';
import { LIMITS } from '../../core/worker/limits';
import type { RepairAction } from '../../core/worker/repair';
import { unlinkWithRetry } from '../../system/files/atomicFile';
import { fileError } from '../../system/files/fileErrors';
import { attempt, unlessDamaged } from '../attempt';
import { type Change, type ForgeBranches, type MadeCommit, type Publish, textFile } from '../git/forgeBranches';
import { authorOf } from '../git/gitObjects';
import { LEDGER_KINDS } from '../ledger/ledgerTexts';
import { outputsOf } from '../slot/evidence';
import {
  type HeldSlot,
  type SlotChanges,
  commitStep,
  emptied,
  heldSlot,
  leftBehind,
  showAgain,
  slotChange,
} from '../slot/slotChange';
import { type FolderFile, readFolder } from '../slot/slotTree';
import type { WorkEnding } from '../slot/workEnding';
import { findBranchRepairs, lastSound, restoredLedger, shrunkLedger, withoutRefused } from './branchRepairs';
import {
  type ForgeView,
  type SlotOnBranch,
  ledgerBranch,
  noWorker,
  readSlot,
  slotBranch,
  withRecords,
} from './forgeView';
import type { RemoteSync } from './remoteSync';
import { type RepairItem, findRepairs, linesInFolder } from './repairPlan';
import type { WorkerStatuses } from './workerStatus';

/** One hint can show what else is wrong; more rounds than this are a fault of ours. */
const MAX_ROUNDS = 6;
const REJECTED_LINES = 'rejected.jsonl';

/** What repair did, and what it left to a human. */
export interface RepairReport {
  readonly done: readonly RepairItem[];
  readonly left: readonly RepairItem[];
  readonly failed: readonly { readonly item: RepairItem; readonly why: string }[];
}

/** Finds what is not as it should be around hooks and ledger, and fixes it. Nothing that was finished or never pushed is deleted. */
export class Repairs {
  constructor(
    private readonly branches: ForgeBranches,
    private readonly sharing: RemoteSync,
    private readonly statuses: WorkerStatuses,
    private readonly ending: WorkEnding,
  ) {}

  /** What would be done; nothing is changed. */
  async plan(): Promise<Result<readonly RepairItem[]>> {
    return attempt(async () => {
      const { view, workers } = await this.statuses.look();
      const remote = await this.sharing.remoteName();
      const shared = remote.ok ? remote.value : undefined;
      const ofBranches = await findBranchRepairs(this.branches, view, workers, shared);
      const now = this.branches.ports.clock.now();
      return [...ofBranches, ...findRepairs(this.branches, { view, workers, now })];
    });
  }

  /** Does what the plan says, until nothing is left but what a human decides. */
  async apply(): Promise<Result<RepairReport>> {
    const done: RepairItem[] = [];
    const failed = new Map<string, { item: RepairItem; why: string }>();
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const plan = await this.plan();
      if (!plan.ok) return plan;
      const todo = plan.value.filter((item) => item.action !== 'by_hand' && !failed.has(keyOf(item)));
      if (todo.length === 0) break;
      for (const item of todo) {
        const fixed = await this.repair(item);
        if (fixed.ok) done.push(item);
        else failed.set(keyOf(item), { item, why: fixed.error.message });
      }
    }
    const rest = await this.plan();
    if (!rest.ok) return rest;
    const left = rest.value.filter((item) => !failed.has(keyOf(item)));
    return ok({ done, left, failed: [...failed.values()] });
  }

  private async repair({ action, subject }: RepairItem): Promise<Result<void>> {
    const { branches, sharing } = this;
    const { files } = branches.ports;
    try {
      switch (action) {
        case 'by_hand':
          return ok(undefined);
        case 'remove_lock':
          if (files.stat(subject) !== undefined) unlinkWithRetry(files, subject);
          return ok(undefined);
        case 'forget_worktree':
          files.removeFolder(subject);
          return ok(undefined);
        case 'restore_ledger':
          return await sharing.repair(async (view, publish) => {
            const remote = unwrap(await sharing.remoteName());
            await publish([await restoredLedger(branches, view, remote)]);
          });
        case 'shrink_ledger':
          return await sharing.repair(async (view, publish) => publish([await shrunkLedger(branches, view)]));
        default:
          return await sharing.change(async (view, publish) => {
            const made = await this.onBranch(action, subject, view, publish);
            if (made !== undefined) await publish([made]);
          });
      }
    } catch (error) {
      return { ok: false, error: fileError('write_failed', `${subject} could not be repaired`, error) };
    }
  }

  /** Repairs what a branch holds: gives the commit that is still to be published, where one is. */
  private async onBranch(
    action: BranchAction,
    subject: string,
    view: ForgeView,
    publish: Publish,
  ): Promise<MadeCommit | undefined> {
    switch (action) {
      case 'drop_files':
        return withoutRefused(this.branches, view, subject);
      case 'complete_ledger':
        return withRecords(this.branches, view, {}, ledgerMessage('Add records of workers'));
      case 'set_lines_aside':
        return this.withoutLines(ledgerKind(subject), view);
      case 'take_lines':
        return this.withLines(ledgerKind(subject), view);
      case 'reopen_task':
        return this.reopened(subject, view);
      case 'keep_folder':
        return this.keptFolder(subject, view);
      case 'roll_back':
        return this.rolledBack(subject, view);
      case 'withdraw':
        return this.withdrawn(heldSlot(view, subject));
      case 'show_folder':
        await showAgain(this.branches, slotIn(view, subject));
        return undefined;
      case 'hand_on':
        await this.handOn(heldSlot(view, subject), view, publish);
        return undefined;
      case 'give_up': {
        const hook = heldSlot(view, subject);
        await this.ending.giveUp(view, publish, hook, await leftBehind(this.branches, hook));
        return undefined;
      }
    }
  }

  /** Makes a branch again from what its folder holds; where a commit of it is known, on top of that. */
  private async keptFolder(worker: string, view: ForgeView): Promise<MadeCommit> {
    const { forge, ports } = this.branches;
    const branch = slotBranch(this.branches, worker);
    if (!forge.isPlain(branch.folder))
      throw new AtlasError('unsafe_path', `${branch.folder} is reached through a symbolic link.`);
    const { files } = readFolder(ports.files, branch.folder);
    const known = [...view.ledger.evidence.last.values()].filter((each) => each.worker === worker).at(-1)?.commit;
    const before = known === undefined ? undefined : await attempt(async () => this.branches.before(known));
    return this.branches.make({
      branch,
      from: undefined,
      changes: files,
      shown: new Map(),
      ...(before?.ok === true ? { onto: { ...before.value, files: new Map() } } : {}),
      message: `Keep the folder of ${worker}`,
      author: authorOf(worker),
    });
  }

  /** Has a hook say again what it last said that can be read; the commits after that stay in its history. */
  private async rolledBack(worker: string, view: ForgeView): Promise<MadeCommit> {
    const { branches } = this;
    const hook = slotIn(view, worker);
    const last = await lastSound(branches, hook.commit, async (commit) => {
      const { work } = await readSlot(branches, worker, commit);
      return work.ok ? { commit, isHeld: work.value !== undefined } : undefined;
    });
    const sound = last?.isHeld === true ? last.commit : undefined;
    const left = await unlessDamaged(async () => leftBehind(branches, hook));
    // What is over a limit has no files that could be kept.
    const lying = left.ok ? left.value.files : new Map<string, FolderFile>();
    const sure = sound === undefined ? [] : await branches.readAll(sound);
    const changes: SlotChanges = new Map([...lying.keys()].map((path) => [path, undefined]));
    for (const [path, file] of [...sure, ...outputsOf(lying)]) changes.set(path, file);
    changes.delete('.gitattributes');
    const message = sound === undefined ? `Unassign ${worker}` : `Roll back ${worker}`;
    const onto = { commit: hook.commit, files: new Map(), objects: [] };
    return branches.make({ ...slotChange(hook, changes, message), onto });
  }

  private async handOn(hook: HeldSlot, view: ForgeView, publish: Publish): Promise<void> {
    const { state } = hook.held;
    const left = await leftBehind(this.branches, hook);
    const point = state.resumePoint ?? 'Its process had exited. Check the files in the folder.';
    const next = unwrap(handedOff(state, 'error', point, this.branches.ports.clock.now()));
    await commitStep(this.branches, { view, publish, hook, left }, next, 'Handoff checkpoint');
  }

  private async withdrawn(hook: HeldSlot): Promise<MadeCommit | undefined> {
    if (hook.held.state.status !== 'PENDING') return undefined;
    const changes = await emptied(this.branches, hook, await leftBehind(this.branches, hook));
    return this.branches.make(slotChange(hook, changes, `Withdraw ${hook.held.task.id}`));
  }

  private async reopened(task: string, view: ForgeView): Promise<MadeCommit | undefined> {
    const last = view.ledger.tasks.last.get(task);
    if (last === undefined) return undefined;
    const { worker: _worker, clone: _clone, ...rest } = last;
    const at = new Date(this.branches.ports.clock.now()).toISOString();
    const record = { ...rest, status: 'OPEN' as const, sequence: last.sequence + 1, at };
    return withRecords(this.branches, view, { tasks: [record] }, ledgerMessage(`Reopen ${task}`));
  }

  private async withLines(kind: LedgerKind, view: ForgeView): Promise<MadeCommit> {
    const text = view.texts[kind];
    const lines = linesInFolder(this.branches, view, kind);
    const start = text === '' || text.endsWith('\n') ? text : `${text}\n`;
    const all = start + lines.map((line) => `${line}\n`).join('');
    return this.withTexts(view, 'Take lines from the folder', [[LEDGER_FILES[kind], all]]);
  }

  private async withoutLines(kind: LedgerKind, view: ForgeView): Promise<MadeCommit> {
    const found = new Set(view.ledger[kind].findings.map(({ text }) => text));
    const kept = view.texts[kind].split('\n').filter((line) => !found.has(line.replace(/\r$/u, '')));
    const aside = [...found].map((line) => `${JSON.stringify({ file: LEDGER_FILES[kind], line })}\n`).join('');
    return this.withTexts(view, 'Set lines aside', [
      [LEDGER_FILES[kind], kept.join('\n').replace(/([^\n])$/u, '$1\n')],
      [REJECTED_LINES, (await this.rejected(view)) + aside],
    ]);
  }

  private async withTexts(
    { ledgerCommit }: ForgeView,
    message: string,
    texts: readonly (readonly [path: string, text: string])[],
  ): Promise<MadeCommit> {
    return this.branches.make({
      branch: ledgerBranch(this.branches),
      from: ledgerCommit,
      changes: new Map(texts.map(([path, text]) => [path, textFile(text)])),
      ...ledgerMessage(message),
    });
  }

  private async rejected({ ledgerCommit }: ForgeView): Promise<string> {
    if (ledgerCommit === undefined) return '';
    const [files = []] = await this.branches.read([ledgerCommit], [REJECTED_LINES], LIMITS.ledgerBytes);
    const [file] = files;
    // One that can't be used stays in the history; the next begins with what is set aside now.
    return file !== undefined && 'bytes' in file ? Buffer.from(file.bytes).toString('utf8') : '';
  }
}

type BranchAction = Exclude<
  RepairAction,
  'by_hand' | 'remove_lock' | 'forget_worktree' | 'restore_ledger' | 'shrink_ledger'
>;

function slotIn({ hooks }: ForgeView, worker: string): SlotOnBranch {
  const hook = hooks.get(worker);
  if (hook === undefined) throw noWorker(worker);
  return hook;
}

function ledgerKind(name: string): LedgerKind {
  const kind = LEDGER_KINDS.find((each) => each === name);
  if (kind === undefined) throw new AtlasError('usage', `The ledger has no ${name}.`);
  return kind;
}

function ledgerMessage(message: string): Pick<Change, 'message' | 'author'> {
  return { message, author: authorOf('atlas') };
}

function keyOf({ action, subject, found }: RepairItem): string {
  return JSON.stringify([action, subject, found]);
}
