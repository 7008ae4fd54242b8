import { LruCache } from '../../core/shared/lru';
import * as vscode from 'vscode';
import { messageOf } from '../../core/shared/errors';
import type { Freshness, ReceiptReport } from '../../core/receipt/receipt';
import type { ReceiptService } from '../../service/receipts/receiptService';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import type { StoredTask } from '../../core/task/storedTask';
import type { WindowTasks } from '../windowTasks';

/** After a file changed, receipts are compared with the files again this much later (ms): changes come in bursts. */
const SETTLE_MS = 1000;
/** Of how many of the newest receipts the differing files are named in a list; any other's when it is looked at. */
const NAMED = 20;

/** Of so many tasks the verdicts are kept and made again after each change: those that were asked for last. */
const KEPT = 100;

const NOTHING: ReadonlyMap<string, ReceiptStatus> = new Map();

/** What is known of a receipt. */
export interface ReceiptStatus {
  readonly report: ReceiptReport;
  readonly currency: Freshness | undefined;
}

interface Known {
  readonly ref: TaskRef;
  /** What it was made from; another hook, whoever wrote it, is looked at again. */
  readonly hook: StoredTask['hook'];
  standings: ReadonlyMap<string, ReceiptStatus>;
  problem: string | undefined;
  running: Promise<boolean> | undefined;
  /** Somebody shows that receipts are being looked at, and has to hear when they no longer are. */
  awaited: boolean;
}

/** The verdicts on this window's receipts, from memory: whoever asks first has them made, and is told when they are. */
export class Verdicts implements vscode.Disposable {
  private readonly tasks = new LruCache<Known>(KEPT);
  private readonly changes = new vscode.EventEmitter<TaskRef>();
  private readonly subscription: vscode.Disposable;
  private timer: NodeJS.Timeout | undefined;
  private disposed = false;

  /** Tells that verdicts on a task's receipts are there, or others than before. */
  readonly onDidChange = this.changes.event;

  constructor(private readonly session: WindowTasks) {
    this.subscription = vscode.Disposable.from(
      session.onDidChangeFiles(() => this.lookSoon()),
      // What lies beside hook.json (statements, keys) can change without it.
      session.onDidChange(() => this.lookSoon()),
    );
  }

  private lookSoon(): void {
    this.timer ??= setTimeout(() => void this.lookAgain(), SETTLE_MS);
  }

  /** What is known now of a task's receipts; the rest is being looked at. */
  of(stored: StoredTask): ReadonlyMap<string, ReceiptStatus> {
    return stored.hook.receipts.length === 0 ? NOTHING : this.known(stored).standings;
  }

  /** Why nothing can be said, and whether receipts are being looked at. */
  status(stored: StoredTask): { readonly problem: string | undefined; readonly checking: boolean } {
    if (stored.hook.receipts.length === 0) return { problem: undefined, checking: false };
    const known = this.known(stored);
    const { problem, running } = known;
    known.awaited ||= running !== undefined;
    return { problem, checking: running !== undefined };
  }

  /** Looks at a task's receipts again, and waits for it. */
  async refresh(stored: StoredTask): Promise<ReadonlyMap<string, ReceiptStatus>> {
    (await this.session.atlas.receipts()).forgetTrees();
    await this.check(stored);
    return this.of(stored);
  }

  private known(stored: StoredTask): Known {
    const key = refKey(stored.ref);
    const known = this.tasks.get(key);
    if (known?.hook === stored.hook) return known;
    // Until they are looked at again, those from before would be a claim about another state.
    const nothing = { standings: NOTHING, problem: undefined, running: undefined, awaited: false };
    const fresh = { ref: stored.ref, hook: stored.hook, ...nothing };
    this.tasks.set(key, fresh);
    void this.check(stored);
    return fresh;
  }

  /** One look at a time; what was seen before a change may not be the answer after it, so the next one follows. */
  private async check(stored: StoredTask): Promise<void> {
    const known = this.known(stored);
    const run = (known.running ?? Promise.resolve(false)).then(async () => this.look(known, stored));
    known.running = run;
    const changed = await run;
    const over = known.running === run;
    if (over) known.running = undefined;
    if (this.disposed || !(changed || (over && known.awaited))) return;
    known.awaited = false;
    this.changes.fire(stored.ref);
  }

  /** Whether anything is other than before. */
  private async look(known: Known, stored: StoredTask): Promise<boolean> {
    const { standings, problem } = known;
    try {
      const service = await this.session.atlas.receipts();
      const reports = await service.reports(stored);
      known.problem = reports.ok ? undefined : reports.error.message;
      known.standings = reports.ok ? await this.withCurrency(service, stored, reports.value) : new Map();
    } catch (error) {
      known.problem = messageOf(error);
      this.session.atlas.ports.log.error('Verifying receipts failed.', { error: known.problem });
    }
    return known.problem !== problem || !areSame(known.standings, standings);
  }

  private async withCurrency(
    service: ReceiptService,
    stored: StoredTask,
    reports: ReadonlyMap<string, ReceiptReport>,
  ): Promise<ReadonlyMap<string, ReceiptStatus>> {
    const newest = new Set([...reports.keys()].slice(-NAMED));
    // Git may start programs that a repository names (filters): not where nothing may run.
    const currencies = vscode.workspace.isTrusted
      ? await service.currencies(stored, reports.values(), (id) => newest.has(id))
      : new Map<string, Freshness>();
    return new Map([...reports].map(([id, report]) => [id, { report, currency: currencies.get(id) }]));
  }

  private async lookAgain(): Promise<void> {
    this.timer = undefined;
    if (this.tasks.values().length === 0) return;
    (await this.session.atlas.receipts()).forgetTrees();
    for (const { ref, standings, problem } of this.tasks.values()) {
      const read = this.session.atlas.catalog.read(ref);
      if (read.ok && (standings.size > 0 || problem !== undefined)) void this.check(read.value);
    }
  }

  dispose(): void {
    this.disposed = true;
    clearTimeout(this.timer);
    this.subscription.dispose();
    this.changes.dispose();
  }
}

/** A report that says the same is the same object: verification remembers it. */
function areSame(a: ReadonlyMap<string, ReceiptStatus>, b: ReadonlyMap<string, ReceiptStatus>): boolean {
  if (a.size !== b.size) return false;
  return [...a].every(([id, { report, currency }]) => {
    const other = b.get(id);
    return other?.report === report && JSON.stringify(other.currency) === JSON.stringify(currency);
  });
}
