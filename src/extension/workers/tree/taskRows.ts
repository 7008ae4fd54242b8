import * as vscode from 'vscode';
import { type Ledger, type LedgerTask, openBlockers } from '../../../core/worker/ledger';
import { convoyStatuses } from '../../../workers/ledger/convoys';
import { plain } from '../../shared/messages';
import { ageOf } from '../../shared/ages';
import { BUCKET_LOOKS, bucketCount, bucketLabel, kindLabel } from './looks';
import type { NodeOf } from './nodes';
import { BUCKETS, LEDGER_KINDS, type LedgerKind, bucketOf, bucketsOf, isSlingable } from './outline';
import { rowOf } from './rows';

const WARNING = { icon: 'warning', color: 'charts.orange' } as const;

/** The row above the ledger: how many tasks stand how. */
export function tasksRow(node: NodeOf<'tasks'>, ledger: Ledger): vscode.TreeItem {
  const buckets = bucketsOf(ledger);
  const counts = BUCKETS.filter((bucket) => buckets[bucket].length > 0);
  return rowOf(node, {
    label: vscode.l10n.t('Tasks'),
    description: counts.map((bucket) => bucketCount(bucket, buckets[bucket].length)).join(' · '),
    look: { icon: 'checklist' },
    open: 'collapsed',
  });
}

/** The row above tasks that stand alike. */
export function bucketRow(node: NodeOf<'bucket'>, ledger: Ledger): vscode.TreeItem {
  return rowOf(node, {
    label: bucketLabel(node.bucket),
    description: String(bucketsOf(ledger)[node.bucket].length),
    look: BUCKET_LOOKS[node.bucket],
    open: node.bucket === 'complete' ? 'collapsed' : 'expanded',
  });
}

/** The row of a task: whose it is, or what it waits for. */
export function taskRow(node: NodeOf<'task'>, ledger: Ledger, now: number): vscode.TreeItem {
  const record = ledger.tasks.last.get(node.task);
  if (record === undefined)
    return rowOf(node, { label: plain(node.task), description: vscode.l10n.t('not in the ledger'), look: WARNING });
  const bucket = bucketOf(ledger, record);
  return rowOf(node, {
    label: plain(record.id),
    description: plain(taskDetails(ledger, record, now), 300),
    look: BUCKET_LOOKS[bucket],
    context: ['workerTask', bucket, ...(isSlingable(ledger, record) ? ['slingable'] : [])].join(' '),
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

/** The row of tasks that belong together. */
export function convoyRow(node: NodeOf<'convoy'>, ledger: Ledger): vscode.TreeItem {
  const convoy = convoyStatuses(ledger).find(({ id }) => id === node.convoy);
  if (convoy === undefined) return rowOf(node, { label: plain(node.convoy), look: WARNING });
  const complete = convoy.tasks.filter(({ status }) => status === 'COMPLETE').length;
  return rowOf(node, {
    label: plain(convoy.title ?? convoy.id),
    description: vscode.l10n.t('{0} of {1} complete', complete, convoy.tasks.length),
    look: convoy.done ? { icon: 'pass', color: 'charts.green' } : { icon: 'list-tree' },
    open: convoy.done ? 'collapsed' : 'expanded',
  });
}

/** The row above what two machines recorded each in its own way, or above lines that can't be used. */
export function ledgerGroupRow(node: NodeOf<'conflicts' | 'findings'>, ledger: Ledger): vscode.TreeItem {
  const count = LEDGER_KINDS.reduce((sum, kind) => sum + ledger[kind][node.kind].length, 0);
  return rowOf(node, {
    label: node.kind === 'conflicts' ? vscode.l10n.t('Conflicts') : vscode.l10n.t('Damaged Lines'),
    description: String(count),
    look: WARNING,
    open: 'expanded',
  });
}

/** The row of an id with two records that exclude each other. */
export function conflictRow(node: NodeOf<'conflict'>): vscode.TreeItem {
  const row = rowOf(node, {
    label: plain(node.id),
    description: vscode.l10n.t('{0}, recorded twice', kindLabel(node.of)),
    look: WARNING,
    open: 'expanded',
  });
  row.tooltip = vscode.l10n.t(
    'Two machines recorded this independently. Both records are kept, and the same one counts on every machine.',
  );
  return row;
}

/** The row of one side of a conflict. */
export function sideRow(node: NodeOf<'side'>, ledger: Ledger, now: number): vscode.TreeItem {
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
}

function sideLabel(side: Ledger[LedgerKind]['all'][number]): string {
  if ('task' in side) return [side.status, side.worker ?? vscode.l10n.t('nobody')].join(' · ');
  if ('taskId' in side) return [String(side.status), String(side.worker)].join(' · ');
  const { tasks } = side as { tasks: readonly string[] };
  return tasks.join(', ');
}

/** The row of a line of the ledger that can't be used. */
export function findingRow(node: NodeOf<'finding'>, ledger: Ledger): vscode.TreeItem {
  const finding = ledger[node.of].findings.find(({ line }) => line === node.line);
  const said = finding?.kind === 'torn' ? vscode.l10n.t('torn') : vscode.l10n.t('damaged');
  const row = rowOf(node, {
    label: `${node.of}.jsonl:${node.line}`,
    description: [said, plain(finding?.text ?? '', 100)].join(' · '),
    look: WARNING,
  });
  row.tooltip = vscode.l10n.t('The line is kept; nothing else depends on it.');
  return row;
}

/** The row that shows more of a long list. */
export function moreRow(node: NodeOf<'more'>): vscode.TreeItem {
  const row = rowOf(node, { label: vscode.l10n.t('Show {0} More…', node.left), look: { icon: 'ellipsis' } });
  row.command = { command: 'atlas.showMoreWorkers', title: vscode.l10n.t('Show More'), arguments: [node] };
  return row;
}
