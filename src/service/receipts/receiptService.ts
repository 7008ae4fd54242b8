import { join } from 'node:path';
import { type Result, fail, ok } from '../../core/shared/errors';
import type { TaskRecord, ValidationReceipt } from '../../core/task/taskRecord';
import { receiptsShown } from '../../core/hookMarkdown/history';
import type { ReceiptVerdict } from '../../core/hookMarkdown/view';
import type { Repository } from '../../core/shared/ports';
import { type Freshness, type ReceiptReport, recordedReceipts } from '../../core/receipt/receipt';
import { accountsOf, derivationFor } from '../../core/receipt/keyPath';
import { provesPass } from '../../core/receipt/receiptReport';
import { readPublicKeys } from '../../signing/keyManager';
import { PUBLIC_KEYS_FILE, type PublicKeyEntry, openPublicKeys } from '../../signing/publicKeys';
import { CurveMissing, SignatureVerifier } from '../../signing/signatureVerifier';
import { type LoadSecp256k1, type Secp256k1, chooseSecp256k1 } from '../../signing/secp256k1';
import { ReceiptVerifier, type TaskReceipts } from '../../signing/verdict';
import { StoreKeyFolder } from '../../store/keys/keyFolder';
import { ReceiptFiles } from '../../store/receipts/receiptFiles';
import { ReceiptLedger } from '../../store/receipts/receiptLedger';
import type { StoredTask } from '../../core/task/storedTask';
import type { TaskRef } from '../../core/task/taskRef';
import { repositoryOf } from '../checkpoints/worktreeState';
import type { ConfigSource } from '../tasks/configSource';
import type { ServicePorts } from '../ports';
import { SignatureMemory } from './signatureMemory';
import { keptIn } from '../../core/shared/keptIn';
import { type Line, Slices } from '../../system/slices';

/** How long receipts are looked at before others get a turn, in ms. */
const SLICE_MS = 12;
/** The most files that an outdated receipt names. */
const MAX_FILES = 50;

/** What a pass over receipts may be told. */
export interface ReportOptions {
  readonly signal?: AbortSignal;
  /** After each receipt. */
  readonly onProgress?: (done: number, total: number) => void;
}

type TaskWithReceipts = Pick<StoredTask, 'ref'> & { readonly hook: Pick<TaskRecord, 'receipts' | 'history'> };

/** Verifies receipts: reads, never signs, never makes a signing key. Every verdict that is shown comes from here. */
export class ReceiptService {
  readonly files: ReceiptFiles;
  readonly keys: StoreKeyFolder;
  private readonly ledger: ReceiptLedger;
  private judge: { readonly stamp: string; readonly judge: ReceiptVerifier } | undefined;
  private preparing: { readonly stamp: string; readonly judge: Promise<Result<ReceiptVerifier>> } | undefined;
  private loading: Promise<Secp256k1> | undefined;
  private loaded: Secp256k1 | undefined;
  private readonly memory: SignatureMemory;
  /** Receipts of many tasks are verified at once: what a person opens meanwhile does not wait behind them all. */
  private readonly line: Line = [];
  private readonly trees = new Map<string, Promise<Result<string>>>();
  private readonly differences = new Map<string, Promise<readonly string[]>>();

  constructor(
    private readonly ports: ServicePorts,
    private readonly configs: ConfigSource,
  ) {
    this.files = new ReceiptFiles(ports);
    this.keys = new StoreKeyFolder(ports.paths.keys, ports);
    this.ledger = new ReceiptLedger(ports);
    this.memory = new SignatureMemory(ports, this.keys);
  }

  /** Where the public keys are published. */
  get publicKeysPath(): string {
    return join(this.keys.path, PUBLIC_KEYS_FILE);
  }

  /** The curve, loaded once a process, and only where something is signed or has to be checked for the first time. */
  readonly curve: LoadSecp256k1 = async () => {
    this.loaded = await (this.loading ??= chooseSecp256k1());
    return this.loaded;
  };

  /** What the key files are now: a changed one is read again. */
  private stamp(accounts: readonly string[]): string {
    const stats = [PUBLIC_KEYS_FILE, 'master.key', 'master.hd.key', 'master.ed25519.key'].map((name) => {
      const stat = this.ports.files.stat(join(this.ports.paths.keys, name));
      return stat === undefined ? '' : `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
    });
    // Only where nothing is published does it matter whose receipts are looked at.
    return [...stats, ...(stats[0] === '' ? accounts : [])].join('|');
  }

  /**
   * Loads the public keys. Fails with a `key_…` code or `unreadable` where they are there and can't be used.
   * @param receipts what is to be verified: where no key is published, those that these name are derived
   */
  async prepare(receipts: readonly ValidationReceipt[] = []): Promise<Result<ReceiptVerifier>> {
    const accounts = accountsOf(receipts);
    const stamp = this.stamp(accounts);
    if (this.judge?.stamp === stamp) return ok(this.judge.judge);
    // Many tasks are looked at at once when a window opens: they are loaded once for all.
    if (this.preparing?.stamp !== stamp) {
      const judge = this.loadJudge(stamp, accounts).finally(() => {
        if (this.preparing?.judge === judge) this.preparing = undefined;
      });
      this.preparing = { stamp, judge };
    }
    return this.preparing.judge;
  }

  private async loadJudge(stamp: string, accounts: readonly string[]): Promise<Result<ReceiptVerifier>> {
    const entries = await this.publicKeys(accounts);
    if (!entries.ok) return entries;
    const keys = await openPublicKeys(entries.value);
    if (!keys.ok) return keys;
    const judge = new ReceiptVerifier(new SignatureVerifier(keys.value, () => this.loaded));
    this.judge = { stamp, judge };
    return ok(judge);
  }

  /** The public keys of this store, as they are published. */
  async publicKeys(accounts: readonly string[] = []): Promise<Result<PublicKeyEntry[]>> {
    const { config } = await this.configs.forWorktree(undefined);
    return readPublicKeys(this.keys, derivationFor(config.keyDerivation), accounts);
  }

  /** Makes ready what HOOK.md needs of a task. */
  async prepareTask({ ref, hook }: TaskWithReceipts & { readonly hook: Pick<TaskRecord, 'state'> }): Promise<void> {
    // A validation may add a receipt before HOOK.md is written, which is synchronous.
    if (hook.state === 'step_validating') await this.curve();
    const reports = await this.reportsOf({ ref, hook }, [...receiptsShown(hook)], {});
    if (!reports.ok) this.ports.log.warn('Receipts could not be verified.', { error: reports.error.message });
  }

  /** Keeps, for other processes, which signatures of a task were found good in this one. */
  keepGood(ref: TaskRef): void {
    this.memory.keep(ref);
  }

  /** The verdicts for HOOK.md, asked for one by one; none where the keys were not loaded. */
  verdicts(task: TaskWithReceipts): { get(receiptId: string): ReceiptVerdict | undefined } {
    const judge = this.judge?.judge;
    if (judge === undefined) return { get: () => undefined };
    const facts = this.facts(task);
    const chain = judge.chain(facts);
    const byId = new Map(task.hook.receipts.map((receipt) => [receipt.receipt_id, receipt]));
    return {
      get: (receiptId) => {
        const receipt = byId.get(receiptId);
        if (receipt === undefined) return undefined;
        try {
          const { verdict, keyPath } = judge.judge(facts, receipt, chain);
          return { verdict, ...(keyPath === undefined ? {} : { keyPath }) };
        } catch (error) {
          // Another process added it since HOOK.md was prepared: the next change has it verified.
          if (error instanceof CurveMissing) return undefined;
          throw error;
        }
      },
    };
  }

  /** The reports on all receipts of a task, in slices. Fails when the keys can't be used, or when cancelled. */
  async reports(task: TaskWithReceipts, options: ReportOptions = {}): Promise<Result<Map<string, ReceiptReport>>> {
    return this.reportsOf(task, task.hook.receipts, options);
  }

  private async reportsOf(
    task: TaskWithReceipts,
    receipts: readonly ValidationReceipt[],
    options: ReportOptions,
  ): Promise<Result<Map<string, ReceiptReport>>> {
    const judge = await this.prepare(receipts);
    if (!judge.ok) return judge;
    const slices = new Slices(SLICE_MS, this.line);
    const turn = async (): Promise<void> => slices.turn();
    await turn();
    const facts = this.facts(task, await this.ledger.recordedInTurns(task.ref, turn));
    const chain = judge.value.chain(facts);
    const reports = new Map<string, ReceiptReport>();
    for (const [index, receipt] of receipts.entries()) {
      if (options.signal?.aborted === true) return fail('cancelled', 'The verification was cancelled.');
      reports.set(receipt.receipt_id, await judge.value.judgeWith(this.curve, facts, receipt, chain));
      options.onProgress?.(index + 1, receipts.length);
      await turn();
    }
    return ok(reports);
  }

  /** What the verdicts on a task's receipts are made from. */
  private facts({ ref, hook }: TaskWithReceipts, recorded = this.ledger.recorded(ref)): TaskReceipts {
    return {
      workspaceId: ref.workspace,
      taskId: ref.id,
      hook,
      recorded: recorded === undefined || recorded === 'broken' ? recordedReceipts(hook.history) : recorded,
      journalBroken: recorded === 'broken',
      envelope: this.files.envelopes(ref),
      good: this.memory.of(ref),
    };
  }

  /** What the journal records of a task's receipts, and whether it can be followed. */
  recorded(task: TaskWithReceipts): { chain: ReturnType<typeof recordedReceipts>; journalBroken: boolean } {
    const { recorded, journalBroken = false } = this.facts(task);
    const chain = recorded.map(({ receiptId, envelopeSha256, sequence }) => ({ receiptId, envelopeSha256, sequence }));
    return { chain, journalBroken };
  }

  /**
   * Ids of the receipts that prove a pass: verified with their statements, ended with 0 and, with `current`, made on
   * the files as they are now.
   */
  async proven(stored: StoredTask, options: { readonly current: boolean }): Promise<Result<Set<string>>> {
    const reports = await this.reports(stored);
    if (!reports.ok) return reports;
    const passed = stored.hook.receipts.flatMap((receipt) => {
      const report = reports.value.get(receipt.receipt_id);
      return report !== undefined && provesPass(report, receipt) ? [report] : [];
    });
    if (!options.current) return ok(new Set(passed.map(({ receiptId }) => receiptId)));
    this.forgetTrees();
    const currencies = await this.currencies(stored, passed, () => false);
    const current = passed.filter(({ receiptId }) => currencies.get(receiptId)?.kind === 'current');
    return ok(new Set(current.map(({ receiptId }) => receiptId)));
  }

  /**
   * Whether verified receipts cover the files as they are now. The worktree is looked at once until it is forgotten.
   * @param isNamed for which receipts the files that differ are named, which costs a look by git for each state
   */
  async currencies(
    stored: StoredTask,
    reports: Iterable<ReceiptReport>,
    isNamed: (receiptId: string) => boolean = () => true,
  ): Promise<Map<string, Freshness>> {
    const currencies = new Map<string, Freshness>();
    let present: Promise<Present> | undefined;
    for (const { receiptId, statement } of reports) {
      const covered = statement?.predicate.tree.after;
      if (covered === undefined) currencies.set(receiptId, NOT_KNOWN);
      else if (covered === null) currencies.set(receiptId, { kind: 'unknown', why: NO_TREE });
      else {
        const now = await (present ??= this.present(stored));
        const files = isNamed(receiptId) ? this.differing(stored, now, covered) : undefined;
        currencies.set(receiptId, await compare(now, covered, files));
      }
    }
    return currencies;
  }

  private async present({ ref, task }: StoredTask): Promise<Present> {
    const repository = await repositoryOf(this.ports, task);
    if (repository === undefined) return { why: "The task's worktree does not exist." };
    const scratch = this.ports.paths.trees(ref.workspace);
    const look = async (): Promise<Result<string>> => this.ports.git.workingTree(repository, scratch);
    const tree = await this.presentTree(repository.worktree, look);
    return tree.ok ? { repository, tree: tree.value } : { why: tree.error.message };
  }

  /** Many receipts cover the same files: git is asked once for them all. */
  private async differing({ ref }: StoredTask, present: Present, covered: string): Promise<readonly string[]> {
    if ('why' in present || present.tree === covered) return [];
    const { repository, tree } = present;
    const key = JSON.stringify([repository.worktree, covered, tree]);
    return keptIn(this.differences, key, async () => {
      const { git, paths } = this.ports;
      const files = await git.changedFiles(repository, paths.trees(ref.workspace), covered, tree);
      return files.ok ? files.value : [];
    });
  }

  private async presentTree(worktree: string, look: () => Promise<Result<string>>): Promise<Result<string>> {
    return keptIn(this.trees, worktree, look);
  }

  /** Has the worktrees looked at again: files may have changed. */
  forgetTrees(): void {
    this.trees.clear();
    this.differences.clear();
  }
}

/** The files of a task's worktree as they are, or why that isn't known. */
type Present = { readonly repository: Repository; readonly tree: string } | { readonly why: string };

const NOT_KNOWN: Freshness = { kind: 'unknown', why: 'Only a valid statement says which files it covers.' };
const NO_TREE = 'Git could not record the files at the time of the run.';

async function compare(
  present: Present,
  covered: string,
  differing: Promise<readonly string[]> | undefined,
): Promise<Freshness> {
  if ('why' in present) return { kind: 'unknown', why: present.why };
  if (present.tree === covered) return { kind: 'current' };
  const files = (await differing) ?? [];
  return { kind: 'outdated', files: files.slice(0, MAX_FILES), more: Math.max(0, files.length - MAX_FILES) };
}
