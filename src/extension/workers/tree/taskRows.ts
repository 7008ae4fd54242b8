import * as vscode from 'vscode';
import { type Ledger, type LedgerTask, openBlockers } from '../../../core/worker/ledger';
import { workerTaskTitle } from '../../../core/worker/taskTitle';
import { convoyStatuses } from '../../../workers/ledger/convoys';
import type { ForgeStatus } from '../../../workers/operations/workerStatus';
import { plain } from '../../shared/messages';
import { ageOf } from '../../shared/ages';
import { BUCKET_LABELS, BUCKET_LOOKS, KIND_LABELS, bucketCount } from './looks';
import type { NodeOf, WorkerNode } from './nodes';
import {
  BUCKETS,
  LEDGER_KINDS,
  type LedgerKind,
  bucketOf,
  bucketsOf,
  isSlingable,
  needsHuman,
  poolOf,
} from './outline';
import { rowOf } from './rows';

const WARNING = { icon: 'warning', color: 'charts.orange' } as const;

type LedgerRow =
  'pool' | 'tasks' | 'bucket' | 'task' | 'convoy' | 'conflicts' | 'findings' | 'conflict' | 'side' | 'finding' | 'more';

type Make<K extends WorkerNode['kind']> = (node: NodeOf<K>, status: ForgeStatus, now: number) => vscode.TreeItem;

/** The rows of what belongs to no single worker: pools, and what the ledger has. */
const ROWS: { readonly [K in LedgerRow]: Make<K> } = {
  pool: (node, { workers: all }) => {
    const workers = all.filter(({ worker }) => poolOf(worker) === node.pool);
    const waiting = workers.filter(needsHuman).length;
    const busy = workers.filter(({ state }) => state?.status === 'IN_PROGRESS').length;
    const parts = [
      workers.length === 1 ? vscode.l10n.t('1 worker') : vscode.l10n.t('{0} workers', workers.length),
      ...(busy === 0 ? [] : [vscode.l10n.t('{0} in progress', busy)]),
      ...(waiting === 0 ? [] : [waiting === 1 ? vscode.l10n.t('1 needs you') : vscode.l10n.t('{0} need you', waiting)]),
    ];
    return rowOf(node, {
      label: node.pool,
      description: parts.join(' · '),
      look: { icon: 'organization' },
      open: 'expanded',
    });
  },
  tasks: (node, { ledger }) => {
    const buckets = bucketsOf(ledger);
    const counts = BUCKETS.filter((bucket) => buckets[bucket].length > 0);
    return rowOf(node, {
      label: vscode.l10n.t('Tasks'),
      description: counts.map((bucket) => bucketCount(bucket, buckets[bucket].length)).join(' · '),
      look: { icon: 'checklist' },
      open: 'collapsed',
    });
  },
  bucket: (node, { ledger }) => {
    return rowOf(node, {
      label: BUCKET_LABELS[node.bucket],
      description: String(bucketsOf(ledger)[node.bucket].length),
      look: BUCKET_LOOKS[node.bucket],
      open: node.bucket === 'complete' ? 'collapsed' : 'expanded',
    });
  },
  task: (node, { ledger }, now) => {
    const record = ledger.tasks.last.get(node.task);
    if (record === undefined)
      return rowOf(node, { label: plain(node.task), description: vscode.l10n.t('not in the ledger'), look: WARNING });
    const bucket = bucketOf(ledger, record);
    return rowOf(node, {
      label: plain(workerTaskTitle(record.task)),
      description: plain(taskDetails(ledger, record, now), 300),
      look: BUCKET_LOOKS[bucket],
      context: ['workerTask', bucket, ...(isSlingable(ledger, record) ? ['slingable'] : [])].join(' '),
    });
  },
  convoy: (node, { ledger }) => {
    const convoy = convoyStatuses(ledger).find(({ id }) => id === node.convoy);
    if (convoy === undefined) return rowOf(node, { label: plain(node.convoy), look: WARNING });
    const complete = convoy.tasks.filter(({ status }) => status === 'COMPLETE').length;
    return rowOf(node, {
      label: plain(convoy.title ?? convoy.id),
      description: vscode.l10n.t('{0} of {1} complete', complete, convoy.tasks.length),
      look: convoy.done ? { icon: 'pass', color: 'charts.green' } : { icon: 'list-tree' },
      open: convoy.done ? 'collapsed' : 'expanded',
    });
  },
  // What two machines recorded each in its own way, and lines that can't be used.
  conflicts: groupRow,
  findings: groupRow,
  conflict: (node) => {
    const row = rowOf(node, {
      label: plain(node.id),
      description: vscode.l10n.t('{0}, recorded twice', KIND_LABELS[node.of]),
      look: WARNING,
      open: 'expanded',
    });
    row.tooltip = vscode.l10n.t(
      'Two machines recorded this independently. Both records are kept, and the same one counts on every machine.',
    );
    return row;
  },
  side: (node, { ledger }, now) => {
    const conflict = ledger[node.of].conflicts.find(({ id }) => id === node.id);
    const side = conflict?.sides[node.index];
    if (side === undefined) return rowOf(node, { label: '', look: WARNING });
    const counts = node.index === 0 ? vscode.l10n.t('counts') : vscode.l10n.t("kept, doesn't count");
    const row = rowOf(node, {
      label: plain(sideLabel(side)),
      description: [counts, ageOf(side.at, now)].join(' · '),
      look: node.index === 0 ? { icon: 'check' } : { icon: 'circle-slash' },
    });
    const text = new vscode.MarkdownString(undefined, false);
    text.appendCodeblock(JSON.stringify(side, null, 2), 'json');
    row.tooltip = text;
    return row;
  },
  finding: (node, { ledger }) => {
    const finding = ledger[node.of].findings.find(({ line }) => line === node.line);
    const said = finding?.kind === 'torn' ? vscode.l10n.t('torn') : vscode.l10n.t('damaged');
    const row = rowOf(node, {
      label: `${node.of}.jsonl:${node.line}`,
      description: [said, plain(finding?.text ?? '', 100)].join(' · '),
      look: WARNING,
    });
    row.tooltip = vscode.l10n.t('The line is kept; nothing else depends on it.');
    return row;
  },
  more: (node) => {
    const row = rowOf(node, { label: vscode.l10n.t('Show {0} More…', node.left), look: { icon: 'ellipsis' } });
    row.command = { command: 'atlas.showMoreWorkers', title: vscode.l10n.t('Show More'), arguments: [node] };
    return row;
  },
};

/** The row of what belongs to no single worker; `undefined` for any other. */
export function ledgerRow(node: WorkerNode, status: ForgeStatus, now: number): vscode.TreeItem | undefined {
  const make = (ROWS as Partial<Record<string, Make<WorkerNode['kind']>>>)[node.kind];
  return make?.(node, status, now);
}

function groupRow(node: NodeOf<'conflicts' | 'findings'>, { ledger }: ForgeStatus): vscode.TreeItem {
  const count = LEDGER_KINDS.reduce((sum, kind) => sum + ledger[kind][node.kind].length, 0);
  return rowOf(node, {
    label: node.kind === 'conflicts' ? vscode.l10n.t('Conflicts') : vscode.l10n.t('Damaged Lines'),
    description: String(count),
    look: WARNING,
    open: 'expanded',
  });
}

/** How a task stands, as a description. */
export function taskDetails(ledger: Ledger, record: LedgerTask, now: number): string {
  const blockers = record.status === 'OPEN' ? openBlockers(ledger, record.task) : [];
  return [
    ...(blockers.length === 0 ? [] : [vscode.l10n.t('blocked by {0}', blockers.join(', '))]),
    ...(record.worker === undefined ? [] : [record.worker]),
    record.task.type,
    ageOf(record.at, now),
  ].join(' · ');
}

function sideLabel(side: Ledger[LedgerKind]['all'][number]): string {
  if ('task' in side) return [side.status, side.worker ?? vscode.l10n.t('nobody')].join(' · ');
  if ('taskId' in side) return [String(side.status), String(side.worker)].join(' · ');
  const { tasks } = side as { tasks: readonly string[] };
  return tasks.join(', ');
}
