import { join } from 'node:path';
import * as vscode from 'vscode';
import type { AtlasError } from '../../../core/shared/errors';
import { explain } from '../../../core/shared/errors';
import { capitalized } from '../../../core/shared/text';
import type { WorkerStatus } from '../../../workers/operations/workerStatus';
import { plain } from '../../shared/messages';
import { ageOf } from '../../shared/ages';
import { type Look, themeIcon } from '../../shared/stateLook';
import { appendPlain, tooltipLines } from '../../shared/tooltip';
import type { CheckedFile } from './evidenceCheck';
import type { HistoryEntry } from './slotDetails';
import { SHAPE_LOOKS, VERDICT_LOOKS, PROBLEM_LABELS, problemText, SHAPE_LABELS, VERDICT_LABELS } from './looks';
import { type NodeOf, type WorkerNode, workerNodeId } from './nodes';
import { type Ability, needsHuman, problemsOf, shapeOf } from './outline';

/** What a row is made of. */
export interface RowParts {
  readonly label: string;
  readonly description?: string | undefined;
  readonly look: Look;
  /** `undefined` where it can't be opened. */
  readonly open?: 'collapsed' | 'expanded' | undefined;
  readonly context?: string;
}

/** A row. What it says is plain text already. */
export function rowOf(node: WorkerNode, { label, description, look, open, context }: RowParts): vscode.TreeItem {
  const { None, Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
  const state = open === undefined ? None : open === 'expanded' ? Expanded : Collapsed;
  const row = new vscode.TreeItem(label, state);
  row.id = workerNodeId(node);
  row.iconPath = themeIcon(look);
  row.contextValue = context ?? node.kind;
  if (description !== undefined) row.description = description;
  row.accessibilityInformation = {
    label: [label, description ?? ''].filter((part) => part !== '').join(', '),
  };
  return row;
}

/** The row that says why workers can't be read. */
export function failureRow(node: NodeOf<'failure'>, error: AtlasError): vscode.TreeItem {
  const row = rowOf(node, {
    label: vscode.l10n.t("The workers can't be read"),
    description: plain(error.message, 300),
    look: { icon: 'error', color: 'list.errorForeground' },
  });
  row.tooltip = explain(error);
  row.command = { command: 'atlas.refreshWorkers', title: vscode.l10n.t('Refresh'), arguments: [node] };
  return row;
}

/** The row of a worker: what hangs on its hook, how it stands, and what is wrong. */
export function workerRow(
  node: NodeOf<'worker'>,
  status: WorkerStatus,
  abilities: readonly Ability[],
  now: number,
): vscode.TreeItem {
  const shape = shapeOf(status);
  const problems = problemsOf(status).filter((problem) => problem !== 'damaged' && problem !== 'no_branch');
  const { state } = status;
  const said = [
    ...(state === undefined ? [] : [state.taskId]),
    // First what is wrong: a side bar is narrow.
    ...problems.map((each) => PROBLEM_LABELS[each]),
    SHAPE_LABELS[shape],
    ...(state === undefined ? [] : [ageOf(state.updatedAt, now)]),
  ];
  const isUnfinished = shape === 'PENDING' || shape === 'IN_PROGRESS' || shape === 'FREE';
  const isWarned = needsHuman(status) && isUnfinished;
  const [name = ''] = status.worker.split('/').slice(-1);
  const row = rowOf(node, {
    label: name,
    description: plain(said.join(' · '), 300),
    look: isWarned ? { icon: 'warning', color: 'charts.orange' } : SHAPE_LOOKS[shape],
    open: 'collapsed',
    context: ['worker', shape, ...abilities].join(' '),
  });
  row.accessibilityInformation = {
    label: [vscode.l10n.t('Worker {0}', status.worker), plain(said.join(', '), 300)].join(', '),
  };
  return row;
}

/** The row of something that is wrong with a worker. */
export function problemRow(node: NodeOf<'problem'>, status: WorkerStatus): vscode.TreeItem {
  const row = rowOf(node, {
    label: plain(capitalized(PROBLEM_LABELS[node.problem])),
    look:
      node.problem === 'ledger_behind'
        ? { icon: 'info', color: 'charts.blue' }
        : { icon: 'warning', color: 'charts.orange' },
  });
  row.tooltip = problemText(node.problem, status);
  row.accessibilityInformation = { label: `${row.accessibilityInformation?.label ?? ''}, ${row.tooltip}` };
  return row;
}

/** The row of a hook's task, context or result; a click shows the file. */
export function partRow(node: NodeOf<'part'>, status: WorkerStatus): vscode.TreeItem {
  const row = rowOf(node, partOf(node, status));
  row.command = { command: 'atlas.showWorker', title: vscode.l10n.t('Show Worker'), arguments: [node] };
  return row;
}

function partOf({ part }: NodeOf<'part'>, { task, context, result }: WorkerStatus): RowParts {
  switch (part) {
    case 'task': {
      const due = task?.timeout === undefined ? [] : [vscode.l10n.t('until {0}', task.timeout)];
      const description = plain([task?.id ?? '', task?.type ?? '', ...due].join(' · '));
      return { label: vscode.l10n.t('Task'), description, look: { icon: 'tasklist' } };
    }
    case 'context': {
      const earlier = context?.previousAttempts?.length ?? 0;
      const tools = context?.tools.length ?? 0;
      const said = [
        tools === 1 ? vscode.l10n.t('1 tool') : vscode.l10n.t('{0} tools', tools),
        ...(earlier === 0 ? [] : [vscode.l10n.t('failed before: {0}', earlier)]),
      ];
      return { label: vscode.l10n.t('Context'), description: said.join(' · '), look: { icon: 'book' } };
    }
    case 'result': {
      const failed = result?.status === 'FAILED';
      const said = failed ? (result.error?.message ?? '') : SHAPE_LABELS['COMPLETE'];
      const look = SHAPE_LOOKS[failed ? 'FAILED' : 'COMPLETE'];
      return { label: vscode.l10n.t('Result'), description: plain(said, 300), look };
    }
  }
}

/** The row above a hook's files or its history. */
export function detailRow(node: NodeOf<'evidence' | 'history'>): vscode.TreeItem {
  return node.kind === 'evidence'
    ? rowOf(node, { label: vscode.l10n.t('Evidence'), look: { icon: 'verified' }, open: 'collapsed' })
    : rowOf(node, { label: vscode.l10n.t('History'), look: { icon: 'history' }, open: 'collapsed' });
}

/** The row of a file of a hook; a click opens it. */
export function fileRow(node: NodeOf<'file'>, { path, verdict }: CheckedFile, folder: string): vscode.TreeItem {
  const row = rowOf(node, {
    label: plain(path),
    description: VERDICT_LABELS[verdict],
    look: VERDICT_LOOKS[verdict],
    context: `file ${verdict}`,
  });
  if (verdict !== 'missing')
    row.command = {
      command: 'vscode.open',
      title: vscode.l10n.t('Open'),
      arguments: [vscode.Uri.file(join(folder, ...path.split('/')))],
    };
  return row;
}

/** The row of a step of a hook's history. */
export function commitRow(node: NodeOf<'commit'>, { commit, at, subject }: HistoryEntry, now: number): vscode.TreeItem {
  const row = rowOf(node, {
    label: plain(subject),
    description: ageOf(at, now),
    look: { icon: 'git-commit' },
  });
  row.tooltip = `${commit}\n${at}`;
  return row;
}

/** A row that says why there is nothing, or why it can't be read. */
export function noteRow(node: NodeOf<'note'>, error: AtlasError | undefined): vscode.TreeItem {
  if (error === undefined) return rowOf(node, { label: vscode.l10n.t('Nothing yet'), look: { icon: 'info' } });
  const row = rowOf(node, { label: plain(error.message, 300), look: { icon: 'error', color: 'list.errorForeground' } });
  row.tooltip = explain(error);
  return row;
}

/** The Markdown of a worker's tooltip, made when it is asked for. Texts from outside are escaped. */
export function workerTooltip(status: WorkerStatus): vscode.MarkdownString {
  const text = new vscode.MarkdownString(undefined, false);
  const line = tooltipLines(text);
  const { state, task, plan, result } = status;
  line(vscode.l10n.t('Worker'), status.worker);
  line(vscode.l10n.t('Status'), SHAPE_LABELS[shapeOf(status)]);
  line(vscode.l10n.t('Task'), state === undefined ? undefined : `${state.taskId} (${task?.type ?? ''})`);
  line(vscode.l10n.t('Claim'), state === undefined ? undefined : String(state.claim));
  line(vscode.l10n.t('Incarnation'), state === undefined ? undefined : String(state.incarnation));
  line(vscode.l10n.t('Attempts'), state === undefined ? undefined : String(state.attempts));
  line(vscode.l10n.t('Handed off'), state?.handoffReason);
  line(vscode.l10n.t('Continues at'), state?.resumePoint);
  line(vscode.l10n.t('Deadline'), task?.timeout);
  line(vscode.l10n.t('Error'), result?.error?.message);
  line(vscode.l10n.t('Recovery'), plan === undefined || plan.action === 'nothing' ? undefined : plan.reason);
  line(vscode.l10n.t('Folder'), status.folder);
  for (const problem of problemsOf(status)) {
    text.appendMarkdown('\n\n');
    appendPlain(text, problemText(problem, status), 500);
  }
  return text;
}
