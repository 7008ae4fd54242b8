import * as vscode from 'vscode';
import { convoyStatuses } from '../../../workers/ledger/convoys';
import type { ForgeStatus, WorkerStatus } from '../../../workers/operations/workerStatus';
import { plain } from '../../shared/messages';
import { RowTree } from '../../shared/tree/rowTree';
import { SlotDetails } from './slotDetails';
import { type NodeOf, SLOT_PARTS, type WorkerNode, workerNodeId } from './nodes';
import { BUCKETS, LEDGER_KINDS, abilitiesOf, bucketsOf, isEmpty, poolOf, poolsOf, problemsOf } from './outline';
import {
  commitRow,
  detailRow,
  failureRow,
  fileRow,
  noteRow,
  partRow,
  problemRow,
  rowOf,
  workerRow,
  workerTooltip,
} from './rows';
import { ledgerRow } from './taskRows';
import { type LookedAt, type WorkersModel, repositoryName } from '../workersModel';

/** How many unreadable lines of the ledger are shown. */
const MAX_FINDINGS = 50;

/** The Workers view: pools and their workers with what hangs on each hook, then the ledger's tasks. */
export class WorkersTree extends RowTree<WorkerNode> {
  private readonly details: SlotDetails;
  private readonly subscription: vscode.Disposable;

  constructor(private readonly model: WorkersModel) {
    super(workerNodeId);
    this.details = new SlotDetails(model);
    this.subscription = model.onDidLook(() => {
      this.details.clear();
      // What nobody sees is not read again to be compared.
      if (model.isSeen) void this.redraw();
      else this.drawAll();
    });
  }

  private roots(): WorkerNode[] {
    const all = this.model.all().filter(({ status }) => !status.ok || !isEmpty(status.value));
    const [only] = all;
    if (only !== undefined && all.length === 1) return this.ofRepository(only);
    return all.map(({ repository: { main } }) => ({ kind: 'repository', repository: main }));
  }

  protected override async childrenOf(node: WorkerNode | undefined): Promise<WorkerNode[]> {
    if (node === undefined) return this.roots();
    const looked = this.model.at(node.repository);
    if (looked === undefined) return [];
    if (node.kind === 'repository') return this.ofRepository(looked);
    if (node.kind === 'evidence') return this.filesOf(node);
    if (node.kind === 'history') return this.historyOf(node);
    return looked.status.ok ? this.inStatus(node, looked.status.value) : [];
  }

  private ofRepository({ repository: { main: repository }, status }: LookedAt): WorkerNode[] {
    if (!status.ok) return [{ kind: 'failure', repository }];
    const { pools, single } = poolsOf(status.value);
    return [
      ...pools.map((pool): WorkerNode => ({ kind: 'pool', repository, pool })),
      ...this.paged(
        repository,
        'workers',
        single.map(({ worker }) => ({ kind: 'worker', repository, worker })),
      ),
      ...(status.value.ledger.tasks.all.length > 0 || isLedgerOdd(status.value)
        ? [{ kind: 'tasks', repository } as const]
        : []),
    ];
  }

  private inStatus(node: WorkerNode, status: ForgeStatus): WorkerNode[] {
    const { repository } = node;
    switch (node.kind) {
      case 'pool': {
        const inPool = status.workers.filter(({ worker }) => poolOf(worker) === node.pool);
        const rows = inPool.map(({ worker }): WorkerNode => ({ kind: 'worker', repository, worker }));
        return this.paged(repository, `pool ${node.pool}`, rows);
      }
      case 'worker': {
        const worker = status.workers.find((each) => each.worker === node.worker);
        return worker === undefined ? [] : ofWorker(node, worker);
      }
      case 'tasks':
        return ofLedger(repository, status);
      case 'bucket':
        return this.tasks(repository, `bucket ${node.bucket}`, bucketsOf(status.ledger)[node.bucket]);
      case 'convoy': {
        const convoy = convoyStatuses(status.ledger).find(({ id }) => id === node.convoy);
        return this.tasks(repository, `convoy ${node.convoy}`, convoy?.tasks ?? []);
      }
      case 'conflicts':
        return LEDGER_KINDS.flatMap((of) =>
          status.ledger[of].conflicts.map(({ id }): WorkerNode => ({ kind: 'conflict', repository, of, id })),
        );
      case 'conflict': {
        const conflict = status.ledger[node.of].conflicts.find(({ id }) => id === node.id);
        return (conflict?.sides ?? []).map((_, index) => ({ ...node, kind: 'side', index }));
      }
      case 'findings':
        return LEDGER_KINDS.flatMap((of) =>
          status.ledger[of].findings.map(({ line }): WorkerNode => ({ kind: 'finding', repository, of, line })),
        ).slice(0, MAX_FINDINGS);
      default:
        return [];
    }
  }

  private tasks(repository: string, under: string, tasks: readonly { readonly id: string }[]): WorkerNode[] {
    const rows = tasks.map(({ id: task }): WorkerNode => ({ kind: 'task', repository, task, under }));
    return this.paged(repository, under, rows);
  }

  private paged(repository: string, list: string, rows: WorkerNode[]): WorkerNode[] {
    const under = `${repository}\n${list}`;
    const shown = this.shownOf(under);
    const left = rows.length - shown;
    return left <= 0 ? rows : [...rows.slice(0, shown), { kind: 'more', repository, under, shown, left }];
  }

  private async filesOf({ repository, worker }: NodeOf<'evidence' | 'history'>): Promise<WorkerNode[]> {
    const files = await this.details.files(repository, worker);
    if (!files.ok || files.value.length === 0) return [{ kind: 'note', repository, worker, of: 'evidence' }];
    const rows = files.value.map(({ path }): WorkerNode => ({ kind: 'file', repository, worker, path }));
    return this.paged(repository, `files ${worker}`, rows);
  }

  private async historyOf({ repository, worker }: NodeOf<'evidence' | 'history'>): Promise<WorkerNode[]> {
    const steps = await this.details.steps(repository, worker);
    if (!steps.ok || steps.value.length === 0) return [{ kind: 'note', repository, worker, of: 'history' }];
    return steps.value.map(({ commit }) => ({ kind: 'commit', repository, worker, commit }));
  }

  protected override async rowOf(node: WorkerNode): Promise<vscode.TreeItem> {
    const looked = this.model.at(node.repository);
    if (looked === undefined) return new vscode.TreeItem('');
    if (node.kind === 'repository')
      return rowOf(node, { label: plain(repositoryName(node.repository)), look: { icon: 'repo' }, open: 'expanded' });
    if (!looked.status.ok)
      return node.kind === 'failure' ? failureRow(node, looked.status.error) : new vscode.TreeItem('');
    const worker = 'worker' in node ? this.model.worker(node.repository, node.worker) : undefined;
    if (worker !== undefined) return this.workerItem(node, worker);
    return ledgerRow(node, looked.status.value, this.now) ?? new vscode.TreeItem('');
  }

  private get now(): number {
    return this.model.session.atlas.ports.clock.now();
  }

  private async workerItem(node: WorkerNode, status: WorkerStatus): Promise<vscode.TreeItem> {
    switch (node.kind) {
      case 'worker':
        return workerRow(node, status, abilitiesOf(status, this.model.isAlive(status)), this.now);
      case 'problem':
        return problemRow(node, status);
      case 'part':
        return partRow(node, status);
      case 'evidence':
      case 'history':
        return detailRow(node);
      case 'file': {
        const files = await this.details.files(node.repository, node.worker);
        const file = files.ok ? files.value.find(({ path }) => path === node.path) : undefined;
        return file === undefined ? new vscode.TreeItem('') : fileRow(node, file, status.folder);
      }
      case 'commit': {
        const steps = await this.details.steps(node.repository, node.worker);
        const step = steps.ok ? steps.value.find(({ commit }) => commit === node.commit) : undefined;
        return step === undefined ? new vscode.TreeItem('') : commitRow(node, step, this.now);
      }
      case 'note': {
        const { repository, worker, of } = node;
        const read =
          of === 'evidence' ? this.details.files(repository, worker) : this.details.steps(repository, worker);
        const result = await read;
        return noteRow(node, result.ok ? undefined : result.error);
      }
      default:
        return new vscode.TreeItem('');
    }
  }

  protected override tooltipOf(node: WorkerNode): vscode.MarkdownString | undefined {
    const status = node.kind === 'worker' ? this.model.worker(node.repository, node.worker) : undefined;
    return status === undefined ? undefined : workerTooltip(status);
  }

  override dispose(): void {
    this.subscription.dispose();
    super.dispose();
  }
}

function ofWorker({ repository, worker }: NodeOf<'worker'>, status: WorkerStatus): WorkerNode[] {
  const base = { repository, worker };
  return [
    ...problemsOf(status).map((problem): WorkerNode => ({ kind: 'problem', ...base, problem })),
    ...SLOT_PARTS.filter((part) => status[part] !== undefined).map((part): WorkerNode => ({
      kind: 'part',
      ...base,
      part,
    })),
    ...(status.state === undefined ? [] : [{ kind: 'evidence', ...base } as const]),
    ...(status.commit === undefined ? [] : [{ kind: 'history', ...base } as const]),
  ];
}

function isLedgerOdd({ ledger }: ForgeStatus): boolean {
  return LEDGER_KINDS.some((kind) => ledger[kind].conflicts.length + ledger[kind].findings.length > 0);
}

function ofLedger(repository: string, { ledger }: ForgeStatus): WorkerNode[] {
  const buckets = bucketsOf(ledger);
  const odd = (['conflicts', 'findings'] as const).filter((of) =>
    LEDGER_KINDS.some((kind) => ledger[kind][of].length > 0),
  );
  return [
    ...odd.map((kind): WorkerNode => ({ kind, repository })),
    ...BUCKETS.flatMap((bucket): WorkerNode[] =>
      buckets[bucket].length === 0 ? [] : [{ kind: 'bucket', repository, bucket }],
    ),
    ...convoyStatuses(ledger).map(({ id: convoy }): WorkerNode => ({ kind: 'convoy', repository, convoy })),
  ];
}
