import { type Result, fail, ok } from '../../core/shared/errors';
import { isOver } from '../../core/worker/slotContent';
import { handedOff, recordOf, definitionOf } from '../../core/worker/slotSteps';
import { LEDGER_FILES, type LedgerKind } from '../../core/worker/ledger';
import { LIMITS } from '../../core/worker/limits';
import { LEDGER_BRANCH, slotBranchName } from '../../core/worker/names';
import { unlinkWithRetry } from '../../system/files/atomicFile';
import { fileError } from '../../system/files/fileErrors';
import { outputsOf } from '../slot/evidence';
import { BranchRepairs } from './branchRepairs';
import { type Change, type ForgeBranches, type Publish, textFile } from '../git/forgeBranches';
import type { WorkerPorts } from '../forgeFolder';
import { type ForgeView, type SlotOnBranch, ledgerChange, readSlot } from './forgeView';
import { authorOf } from '../git/gitObjects';
import {
  commitBoth,
  emptied,
  heldSlot,
  slotChange,
  keepOutputs,
  leftBehind,
  ownFiles,
  showAgain,
} from '../slot/slotChange';
import { type FolderFile, readFolder } from '../slot/slotTree';
import { type RepairItem, findRepairs, linesInFolder } from './repairPlan';
import type { RemoteSync } from './remoteSync';
import type { WorkEnding } from '../slot/workEnding';
import type { WorkerStatuses } from './workerStatus';

/** One hint can show what else is wrong; more rounds than this are a fault of ours. */
const MAX_ROUNDS = 6;
const MAX_BACK = 200;
const REJECTED_LINES = 'rejected.jsonl';

/** What repair did, and what it left to a human. */
export interface RepairReport {
  readonly done: readonly RepairItem[];
  readonly left: readonly RepairItem[];
  /** What could not be fixed, and why. */
  readonly failed: readonly { readonly item: RepairItem; readonly why: string }[];
}

/** Finds what is not as it should be around hooks and ledger, and fixes it. Nothing that was finished or never pushed is deleted. */
export class Repairs {
  constructor(
    private readonly parts: {
      readonly branches: ForgeBranches;
      readonly sharing: RemoteSync;
      readonly statuses: WorkerStatuses;
      readonly ending: WorkEnding;
      readonly ports: WorkerPorts;
    },
  ) {
    this.onBranches = new BranchRepairs(parts.branches, parts.sharing);
  }

  private readonly onBranches: BranchRepairs;

  /** What would be done; nothing is changed. */
  async plan(): Promise<Result<readonly RepairItem[]>> {
    const seen = await this.parts.statuses.look();
    if (!seen.ok) return seen;
    const { view, workers } = seen.value;
    const ofBranches = await this.onBranches.find(view, workers);
    if (!ofBranches.ok) return ofBranches;
    const rest = findRepairs(this.parts.branches, { view, workers, now: this.parts.ports.clock.now() });
    return ok([...ofBranches.value, ...rest]);
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

  private async repair(item: RepairItem): Promise<Result<void>> {
    const { files } = this.parts.ports;
    try {
      switch (item.action) {
        case 'remove_lock':
          if (files.stat(item.subject) !== undefined) unlinkWithRetry(files, item.subject);
          return ok(undefined);
        case 'forget_worktree':
          files.removeFolder(item.subject);
          return ok(undefined);
        case 'by_hand':
          return ok(undefined);
        case 'set_lines_aside':
        case 'take_lines':
          return await this.repairLines(item.subject, item.action);
        case 'restore_ledger':
          return await this.parts.sharing.repair((view, publish) => this.onBranches.restoreLedger(view, publish));
        case 'shrink_ledger':
          return await this.parts.sharing.repair((view, publish) => this.onBranches.shrinkLedger(view, publish));
        case 'drop_files':
          return await this.parts.sharing.change((view, publish) =>
            this.onBranches.dropFiles(item.subject, view, publish),
          );
        case 'complete_ledger':
          return await this.onLedger('Add records of workers', () => new Map());
        default:
          return await this.parts.sharing.change((view, publish) => this.onHook(item, view, publish));
      }
    } catch (error) {
      return { ok: false, error: fileError('write_failed', `${item.subject} could not be repaired`, error) };
    }
  }

  private async onHook(item: RepairItem, view: ForgeView, publish: Publish): Promise<Result<void>> {
    const worker = item.subject;
    switch (item.action) {
      case 'keep_folder':
        return this.keepFolder(worker, view, publish);
      case 'roll_back':
        return this.rollBack(worker, view, publish);
      case 'show_folder':
        return this.showFolder(worker, view);
      case 'hand_on':
        return this.handOn(worker, view, publish);
      case 'give_up':
        return this.giveUp(worker, view, publish);
      case 'withdraw':
        return this.withdraw(worker, view, publish);
      case 'reopen_task':
        return this.reopen(worker, view, publish);
      default:
        return ok(undefined);
    }
  }

  /** Makes a branch again from what its folder holds; where a commit of it is known, on top of that. */
  private async keepFolder(worker: string, view: ForgeView, publish: Publish): Promise<Result<void>> {
    const { branches, ports } = this.parts;
    const folder = branches.forge.hook(worker);
    if (!branches.forge.isPlain(folder)) return fail('unsafe_path', `${folder} is reached through a symbolic link.`);
    const read = readFolder(ports.files, folder);
    if (!read.ok) return read;
    const known = [...view.ledger.evidence.last.values()].filter((each) => each.worker === worker).at(-1)?.commit;
    const before = known === undefined ? undefined : await branches.before(known);
    const made = await branches.make({
      ...{
        branch: { ref: slotBranchName(worker), folder },
        from: undefined,
        changes: new Map(read.value.files),
        shown: new Map(),
      },
      ...(before?.ok === true ? { onto: { ...before.value, files: new Map() } } : {}),
      message: `Keep the folder of ${worker}`,
      author: authorOf(worker),
    });
    return made.ok ? publish([made.value]) : made;
  }

  /** Has a hook say again what it last said that can be read; the commits after that stay in its history. */
  private async rollBack(worker: string, view: ForgeView, publish: Publish): Promise<Result<void>> {
    const { branches, ports } = this.parts;
    const hook = view.hooks.get(worker);
    if (hook === undefined) return fail('not_found', `There is no worker ${worker}.`);
    const sound = await this.lastSound(hook);
    if (!sound.ok) return sound;
    const left = await leftBehind(branches, ports.files, hook);
    // What is over a limit has no files that could be kept.
    if (!left.ok && left.error.code !== 'damaged') return left;
    const lying = left.ok ? left.value.files : new Map<string, FolderFile>();
    const sure = sound.value === undefined ? ok(new Map<string, FolderFile>()) : await branches.readAll(sound.value);
    if (!sure.ok) return sure;
    const changes = new Map<string, FolderFile | undefined>([...lying.keys()].map((path) => [path, undefined]));
    for (const [path, file] of [...sure.value, ...outputsOf(lying)]) changes.set(path, file);
    changes.delete('.gitattributes');
    const message = sound.value === undefined ? `Unassign ${worker}` : `Roll back ${worker}`;
    const change = slotChange(hook, changes, message);
    const made = await branches.make({ ...change, onto: { commit: hook.commit, files: new Map(), objects: [] } });
    return made.ok ? publish([made.value]) : made;
  }

  private async lastSound({ worker, commit }: SlotOnBranch): Promise<Result<string | undefined>> {
    const { branches } = this.parts;
    let at: string | undefined = commit;
    for (let back = 0; at !== undefined && back < MAX_BACK; back += 1) {
      const hook = await readSlot(branches, worker, at);
      if (!hook.ok) return hook;
      if (hook.value.work.ok) return ok(hook.value.work.value === undefined ? undefined : at);
      const parent = await branches.objects.parentOf(at);
      if (!parent.ok) return parent;
      at = parent.value;
    }
    return ok(undefined);
  }

  private async showFolder(worker: string, view: ForgeView): Promise<Result<void>> {
    const { branches, ports } = this.parts;
    const hook = view.hooks.get(worker);
    if (hook === undefined) return fail('not_found', `There is no worker ${worker}.`);
    const shown = await showAgain(branches, ports.files, hook);
    return shown.ok ? ok(undefined) : shown;
  }

  private async handOn(worker: string, view: ForgeView, publish: Publish): Promise<Result<void>> {
    const { branches, ports } = this.parts;
    const hook = heldSlot(view, worker);
    if (!hook.ok) return hook;
    const { state, task } = hook.value.held;
    const left = await leftBehind(branches, ports.files, hook.value);
    if (!left.ok) return left;
    const outputs = await keepOutputs(branches, hook.value, left.value);
    if (!outputs.ok) return outputs;
    const next = handedOff(
      state,
      'error',
      state.resumePoint ?? 'Its process had exited. Check the files in the folder.',
      ports.clock.now(),
    );
    if (!next.ok) return next;
    const changes = new Map([...outputs.value, ...ownFiles(hook.value.held, next.value)]);
    const made = await branches.make(slotChange(hook.value, changes, 'Handoff checkpoint', outputs.value));
    if (!made.ok) return made;
    const tasks = [recordOf(next.value, definitionOf(task))];
    return commitBoth(branches, view, publish, made.value, { tasks, evidence: [] });
  }

  private async giveUp(worker: string, view: ForgeView, publish: Publish): Promise<Result<void>> {
    const { branches, ports, ending } = this.parts;
    const hook = heldSlot(view, worker);
    if (!hook.ok) return hook;
    const left = await leftBehind(branches, ports.files, hook.value);
    if (!left.ok) return left;
    const ended = await ending.giveUp(view, publish, hook.value, left.value);
    return ended.ok ? ok(undefined) : ended;
  }

  private async withdraw(worker: string, view: ForgeView, publish: Publish): Promise<Result<void>> {
    const { branches, ports } = this.parts;
    const hook = heldSlot(view, worker);
    if (!hook.ok) return hook;
    if (isOver(hook.value.held.state.status) || hook.value.held.state.status !== 'PENDING') return ok(undefined);
    const left = await leftBehind(branches, ports.files, hook.value);
    if (!left.ok) return left;
    const changes = await emptied(branches, hook.value, left.value);
    if (!changes.ok) return changes;
    const made = await branches.make(slotChange(hook.value, changes.value, `Withdraw ${hook.value.held.task.id}`));
    return made.ok ? publish([made.value]) : made;
  }

  private async reopen(task: string, view: ForgeView, publish: Publish): Promise<Result<void>> {
    const last = view.ledger.tasks.last.get(task);
    if (last === undefined) return ok(undefined);
    const { worker: _worker, clone: _clone, ...rest } = last;
    const at = new Date(this.parts.ports.clock.now()).toISOString();
    const record = { ...rest, status: 'OPEN' as const, sequence: last.sequence + 1, at };
    const change = ledgerChange(
      this.parts.branches,
      view,
      { tasks: [record], evidence: [] },
      ledgerMessage(`Reopen ${task}`),
    );
    if (!change.ok) return change;
    if (change.value === undefined) return ok(undefined);
    const made = await this.parts.branches.make(change.value);
    return made.ok ? publish([made.value]) : made;
  }

  private async repairLines(kind: string, action: 'set_lines_aside' | 'take_lines'): Promise<Result<void>> {
    const isKind = (name: string): name is LedgerKind => name in LEDGER_FILES;
    if (!isKind(kind)) return fail('usage', `The ledger has no ${kind}.`);
    return this.onLedger(
      action === 'take_lines' ? 'Take lines from the folder' : 'Set lines aside',
      (view, rejected) => {
        const found = new Set(view.ledger[kind].findings.map(({ text }) => text));
        const text = view.texts[kind];
        if (action === 'take_lines') {
          const lines = linesInFolder(this.parts.branches, view, kind);
          const start = text === '' || text.endsWith('\n') ? text : `${text}\n`;
          return new Map([[LEDGER_FILES[kind], start + lines.map((line) => `${line}\n`).join('')]]);
        }
        const kept = text.split('\n').filter((line) => !found.has(line.replace(/\r$/u, '')));
        const aside = [...found].map((line) => `${JSON.stringify({ file: LEDGER_FILES[kind], line })}\n`).join('');
        return new Map([
          [LEDGER_FILES[kind], kept.join('\n').replace(/([^\n])$/u, '$1\n')],
          [REJECTED_LINES, rejected + aside],
        ]);
      },
    );
  }

  /** Changes files of the ledger; where none is to be changed, adds what its hooks know and it doesn't. One change a time. */
  private async onLedger(
    message: string,
    texts: (view: ForgeView, rejected: string) => ReadonlyMap<string, string>,
  ): Promise<Result<void>> {
    const { branches, sharing } = this.parts;
    return sharing.change(async (view, publish) => {
      const rejected = await this.rejected(view);
      if (!rejected.ok) return rejected;
      const changed = [...texts(view, rejected.value)].map(([path, text]) => [path, textFile(text)] as const);
      const change: Result<Change | undefined> =
        changed.length === 0
          ? ledgerChange(branches, view, { tasks: [], evidence: [] }, ledgerMessage(message))
          : ok({
              branch: { ref: LEDGER_BRANCH, folder: branches.forge.ledger },
              from: view.ledgerCommit,
              changes: new Map(changed),
              ...ledgerMessage(message),
            });
      if (!change.ok) return change;
      if (change.value === undefined) return ok(undefined);
      const made = await branches.make(change.value);
      return made.ok ? publish([made.value]) : made;
    });
  }

  private async rejected({ ledgerCommit }: ForgeView): Promise<Result<string>> {
    if (ledgerCommit === undefined) return ok('');
    const read = await this.parts.branches.read([ledgerCommit], [REJECTED_LINES], LIMITS.ledgerBytes);
    if (!read.ok) return read;
    const file = read.value[0]?.[0];
    // One that can't be used stays in the history; the next begins with what is set aside now.
    return ok(file !== undefined && 'bytes' in file ? Buffer.from(file.bytes).toString('utf8') : '');
  }
}

function ledgerMessage(message: string): Pick<Change, 'message' | 'author'> {
  return { message, author: authorOf('atlas') };
}

function keyOf({ action, subject, found }: RepairItem): string {
  return JSON.stringify([action, subject, found]);
}
