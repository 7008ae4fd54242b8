import * as vscode from 'vscode';
import type { Currency, ReceiptReport } from '../../core/receipt';
import { worktreeOf } from '../../core/task';
import type { ReceiptService } from '../../service/receiptService';
import { type TaskRef, refKey } from '../../storage/paths';
import type { StoredTask } from '../../storage/stored';
import type { Session } from '../session';

/** After a file changed, receipts are compared with the files again this much later (ms): changes come in bursts. */
const SETTLE_MS = 1000;
/** Of how many of the newest receipts the differing files are named in a list; any other's when it is looked at. */
const NAMED = 20;

/** What is known of a receipt. */
export interface Standing {
  readonly report: ReceiptReport;
  readonly currency: Currency | undefined;
}

interface Known {
  readonly ref: TaskRef;
  /** What it was made from; another hook is looked at again. */
  readonly seq: number;
  standings: ReadonlyMap<string, Standing>;
  problem: string | undefined;
  running: Promise<void> | undefined;
}

/** The verdicts on this window's receipts, from memory: whoever asks first has them made, and is told when they are. */
export class Verdicts implements vscode.Disposable {
  private readonly tasks = new Map<string, Known>();
  private readonly changes = new vscode.EventEmitter<TaskRef>();
  private readonly subscription: vscode.Disposable;
  private timer: NodeJS.Timeout | undefined;
  private readonly touched = new Set<string>();
  private disposed = false;

  /** Tells that verdicts on a task's receipts are there, or others than before. */
  readonly onDidChange = this.changes.event;

  constructor(private readonly session: Session) {
    this.subscription = session.onDidChangeFiles((worktree) => {
      this.touched.add(worktree);
      this.timer ??= setTimeout(() => {
        this.filesSettled();
      }, SETTLE_MS);
    });
  }

  /** What is known now of a task's receipts; the rest is being looked at. */
  of(stored: StoredTask): ReadonlyMap<string, Standing> {
    return this.known(stored).standings;
  }

  /** Why nothing can be said, and whether receipts are being looked at. */
  status(stored: StoredTask): { readonly problem: string | undefined; readonly checking: boolean } {
    const { problem, running } = this.known(stored);
    return { problem, checking: running !== undefined };
  }

  /** Looks at a task's receipts again, and waits for it. */
  async refresh(stored: StoredTask): Promise<ReadonlyMap<string, Standing>> {
    await this.check(stored);
    return this.of(stored);
  }

  private known(stored: StoredTask): Known {
    const key = refKey(stored.ref);
    const known = this.tasks.get(key);
    if (known?.seq === stored.seq) return known;
    // Until they are looked at again, those from before would be a claim about another state.
    const fresh = { ref: stored.ref, seq: stored.seq, standings: new Map(), problem: undefined, running: undefined };
    this.tasks.set(key, fresh);
    if (stored.hook.receipts.length > 0) void this.check(stored);
    return fresh;
  }

  private async check(stored: StoredTask): Promise<void> {
    const known = this.known(stored);
    known.running ??= this.look(known, stored);
    return known.running;
  }

  private async look(known: Known, stored: StoredTask): Promise<void> {
    try {
      const service = await this.session.atlas.receipts();
      service.forgetTrees();
      const reports = await service.reports(stored);
      known.problem = reports.ok ? undefined : reports.error.message;
      known.standings = reports.ok ? await this.withCurrency(service, stored, reports.value) : new Map();
    } finally {
      known.running = undefined;
      if (!this.disposed) this.changes.fire(stored.ref);
    }
  }

  private async withCurrency(
    service: ReceiptService,
    stored: StoredTask,
    reports: ReadonlyMap<string, ReceiptReport>,
  ): Promise<ReadonlyMap<string, Standing>> {
    const newest = new Set([...reports.keys()].slice(-NAMED));
    // Git may start programs that a repository names (filters): not where nothing may run.
    const currencies = vscode.workspace.isTrusted
      ? await service.currencies(stored, reports.values(), (id) => newest.has(id))
      : new Map<string, Currency>();
    return new Map([...reports].map(([id, report]) => [id, { report, currency: currencies.get(id) }]));
  }

  private filesSettled(): void {
    this.timer = undefined;
    const touched = new Set(this.touched);
    this.touched.clear();
    for (const { ref, standings } of [...this.tasks.values()]) {
      const read = this.session.atlas.catalog.read(ref);
      if (!read.ok || standings.size === 0 || !touched.has(worktreeOf(read.value.task) ?? '')) continue;
      void this.check(read.value);
    }
  }

  dispose(): void {
    this.disposed = true;
    clearTimeout(this.timer);
    this.subscription.dispose();
    this.changes.dispose();
  }
}
