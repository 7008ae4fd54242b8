import { join } from 'node:path';
import * as vscode from 'vscode';
import { sizeText } from '../../../core/shared/text';
import { databaseSize } from '../../../snapshots/storage/database';
import { type AtlasError, explain } from '../../../core/shared/errors';
import {
  type ListedCheckpoint,
  type SnapshotTrigger,
  listedCheckpoints,
  snapshotOf,
} from '../../../core/snapshot/snapshotEntry';
import { type TaskRef, refKey } from '../../../core/task/taskRef';
import { SnapshotEntries } from '../../../store/snapshots/snapshotEntries';
import { foreignEdits } from '../../../core/task/foreignEdits';
import { type RecordedEvent, type StepCheckpoint, type TaskRecord } from '../../../core/task/taskRecord';
import type { TaskStep } from '../../../core/task/task';
import { formatDuration, toMs } from '../../../core/shared/time';
import { WAIT_LABELS, stepLabel } from '../../../core/task/labels';
import { type AcceptedFailure, acceptedFailures } from '../../../core/task/acceptedFailure';
import { needsPerson } from '../../../core/task/urgency';
import { waitKind } from '../../../core/task/waiting';
import { openActions } from '../../../core/task/taskActions';
import { plain } from '../../shared/messages';
import { type TaskView, rankedView } from '../../windowTasks';
import { ageOf } from '../../shared/ages';
import type { Activity } from '../activity';
import { type TreeNode, nodeId } from './nodes';
import { type Look, healthLabel, lookOf, stateLabel, themeIcon } from '../../shared/stateLook';
import { appendPlain } from '../../shared/tooltip';

const OPEN_HOOK = 'atlas.openHookMd';

/** A row with its stable id; its label is data. */
export function row(node: TreeNode, label: string, collapsible: vscode.TreeItemCollapsibleState): vscode.TreeItem {
  const item = new vscode.TreeItem(plain(label), collapsible);
  item.id = nodeId(node);
  return item;
}

/** To the editor a row that gets its first children stays closed: it has to be another row to show what came. */
function parentId(node: TreeNode): string {
  return `${nodeId(node)}:parent`;
}

/**
 * The row of a task: what it needs or where it stands, and its title. What a person has to know stands before the title,
 * which a narrow side bar cuts off.
 * @param opened its steps show without a click
 */
export function taskRow(
  node: TreeNode & { kind: 'task' },
  view: TaskView,
  now: number,
  opened: boolean,
): vscode.TreeItem {
  const { hook, task } = view.stored;
  const over = view.diagnosis.kind === 'over';
  const title = task.description === '' ? node.ref.id : task.description;
  const step = hook.current_step;
  const place = step === undefined || over ? '' : `${step.step_index + 1}/${task.steps.length}`;
  const fares = healthLabel(view.diagnosis, now) ?? stateLabel(hook.state);
  const age = ageOf(hook.updated_at, now);
  const needed = needsPerson(rankedView(view));
  const edited = foreignEdits(hook) !== undefined;
  const item = row(
    node,
    needed ? vscode.l10n.t('{0}: {1}', fares, plain(title)) : title,
    opened && !over ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed,
  );
  item.id = parentId(node);
  const told = over ? [fares, acceptedText(hook), age] : needed ? [reasonOf(hook), place] : [fares, place];
  item.description = plain([edited ? vscode.l10n.t('edited outside Atlas') : '', ...told].filter(isSaid).join(' · '));
  item.iconPath = edited ? EDITED_ICON : themeIcon(lookOf(hook.state, view.diagnosis));
  const actions = openActions(hook, task, view.diagnosis.kind);
  const primary = actions.filter(({ rank }) => rank === 'primary').map(({ action }) => `primary-${action}`);
  item.contextValue = ['task', hook.state, ...new Set(actions.map(({ action }) => action)), ...primary].join(' ');
  item.command = { command: OPEN_HOOK, title: vscode.l10n.t('Open HOOK.md'), arguments: [node] };
  item.accessibilityInformation = {
    label: plain(
      [
        title,
        edited ? vscode.l10n.t('edited outside Atlas') : '',
        fares,
        needed ? reasonOf(hook) : '',
        place,
        over ? '' : stepLabel(step?.step_name ?? ''),
        age,
      ]
        .filter(isSaid)
        .join(', '),
    ),
  };
  return item;
}

function isSaid(part: string): boolean {
  return part !== '';
}

/** Why a task waits for a person, in a word or two. */
function reasonOf(hook: TaskRecord): string {
  return hook.state === 'awaiting_human' ? vscode.l10n.t(WAIT_LABELS[waitKind(hook)]) : '';
}

/** That some of a task's steps were accepted although a check had failed: that is never hidden behind "Completed". */
function acceptedText(hook: TaskRecord): string {
  return acceptedFailures(hook).size === 0 ? '' : vscode.l10n.t('with a failed check');
}

const EDITED_ICON = new vscode.ThemeIcon('warning', new vscode.ThemeColor('list.warningForeground'));

/** The row of a task that can't be read: it is there, and says what to do. */
export function damagedRow(node: TreeNode & { kind: 'task' }, error: AtlasError | undefined): vscode.TreeItem {
  const item = row(node, node.ref.id, vscode.TreeItemCollapsibleState.None);
  const newer = error?.code === 'too_new';
  item.description = newer ? vscode.l10n.t('read-only: update Atlas') : vscode.l10n.t('damaged');
  item.iconPath = newer
    ? new vscode.ThemeIcon('lock')
    : new vscode.ThemeIcon('error', new vscode.ThemeColor('list.errorForeground'));
  item.contextValue = 'damaged';
  item.tooltip = error === undefined ? refKey(node.ref) : explain(error);
  item.command = { command: 'atlas.runDoctor', title: vscode.l10n.t('Run Doctor'), arguments: [node] };
  return item;
}

const STEP_ICONS: Readonly<Record<string, { icon: string; color?: string }>> = {
  completed: { icon: 'check', color: 'charts.green' },
  skipped: { icon: 'debug-step-over', color: 'charts.green' },
  running: { icon: 'play', color: 'charts.blue' },
  failed: { icon: 'error', color: 'charts.red' },
  pending: { icon: 'circle-small-filled' },
};

/** What a step's status is called. */
const STATUS_LABELS: Readonly<Record<string, string>> = {
  completed: 'done',
  skipped: 'done before an interruption',
  running: 'running',
  failed: 'failed',
  pending: 'not started',
};

function stepDuration(step: TaskStep): string {
  if (step.started_at === undefined || step.completed_at === undefined) return '';
  return formatDuration(Math.max(0, toMs(step.completed_at) - toMs(step.started_at)));
}

/** What is to be said of a step beside its icon. */
function stepState(hook: TaskRecord, current: boolean, accepted: AcceptedFailure | undefined): string {
  if (accepted !== undefined) return vscode.l10n.t('accepted with a failed check');
  if (!current) return '';
  return hook.state === 'awaiting_human' || hook.state === 'step_pending' ? stateLabel(hook.state) : '';
}

/** The row of a step. */
export function stepRow(
  node: TreeNode & { kind: 'step' },
  view: TaskView,
  step: TaskStep,
  children: number,
): vscode.TreeItem {
  const { hook } = view.stored;
  const current = hook.current_step?.step_index === node.index && view.diagnosis.kind !== 'over';
  const waits = current && hook.state === 'awaiting_human';
  const stuck = current && (hook.state === 'recovering' || view.diagnosis.kind === 'crashed');
  const state =
    children === 0
      ? vscode.TreeItemCollapsibleState.None
      : current
        ? vscode.TreeItemCollapsibleState.Expanded
        : vscode.TreeItemCollapsibleState.Collapsed;
  const name = stepLabel(step.name);
  const item = row(node, name, state);
  if (children > 0) item.id = parentId(node);
  const attempt = step.attempts > 1 ? vscode.l10n.t('attempt {0}', step.attempts) : '';
  const accepted = step.status === 'completed' ? acceptedFailures(hook).get(node.index) : undefined;
  const fares = stepState(hook, current, accepted);
  item.description = plain([fares, attempt, stepDuration(step)].filter((part) => part !== '').join(' · '));
  item.iconPath = themeIcon(
    waits || stuck
      ? lookOf(hook.state, view.diagnosis)
      : accepted === undefined
        ? (STEP_ICONS[step.status] ?? { icon: 'circle-small' })
        : { icon: 'warning', color: 'charts.orange' },
  );
  item.contextValue = current
    ? ['currentStep', ...openActions(hook, view.stored.task, view.diagnosis.kind).map(({ action }) => action)].join(' ')
    : 'step';
  const why = accepted === undefined ? '' : vscode.l10n.t('. Accepted with a failed check: {0}', accepted.reason);
  item.tooltip = plain(
    `${name}: ${vscode.l10n.t(STATUS_LABELS[step.status] ?? step.status)} (${step.type})${why}`,
    1000,
  );
  const standing = fares === '' ? vscode.l10n.t(STATUS_LABELS[step.status] ?? step.status) : '';
  const told = [name, standing, item.description].filter(isSaid);
  item.accessibilityInformation = { label: plain(told.join(', ')) };
  return item;
}

const TRIGGER_ICONS: Readonly<Record<SnapshotTrigger, string>> = {
  manual: 'bookmark',
  git_commit: 'git-commit',
  git_push: 'cloud-upload',
  pr_created: 'git-pull-request',
  validation: 'beaker',
  step_complete: 'check-all',
  interval: 'history',
  auto: 'discard',
};

/** The checkpoints and restore points of a task, with what is kept of their files. */
export function listFiles(ports: ConstructorParameters<typeof SnapshotEntries>[0], ref: TaskRef, hook: TaskRecord) {
  return listedCheckpoints(hook.checkpoints, new SnapshotEntries(ports).list(ref));
}

/** What the files of checkpoints take on disk, of the repository that these are of; empty where none are kept. */
export function diskText(folder: string, listed: readonly ListedCheckpoint[]): string {
  const database = listed.map(snapshotOf).find((each) => each !== undefined)?.database;
  if (database === undefined) return '';
  return vscode.l10n.t('{0} on disk', sizeText(databaseSize(join(folder, database, 'objects')).bytes));
}

/** `3 files`, or how many changed since the checkpoint before: `+1 ~2 −0`. */
export function filesText({ entry }: Pick<ListedCheckpoint, 'entry'>): string {
  if (entry?.status === 'pending') return vscode.l10n.t('capturing files…');
  if (entry?.status !== 'taken' || entry.snapshot === undefined) return '';
  const { changes, snapshot } = entry;
  if (changes === undefined)
    return snapshot.files === 1 ? vscode.l10n.t('1 file') : vscode.l10n.t('{0} files', snapshot.files);
  const parts = [
    ...(changes.added > 0 ? [`+${changes.added}`] : []),
    ...(changes.modified > 0 ? [`~${changes.modified}`] : []),
    ...(changes.removed > 0 ? [`−${changes.removed}`] : []),
  ];
  return parts.length === 0 ? vscode.l10n.t('no changes') : parts.join(' ');
}

/** The row of a checkpoint or restore point. */
export function checkpointRow(
  node: TreeNode & { kind: 'checkpoint' },
  listed: ListedCheckpoint,
  { checkpoints }: Pick<TaskRecord, 'checkpoints'>,
  now: number,
): vscode.TreeItem {
  const { checkpoint } = listed;
  const isSameKind = ({ trigger, step_index: index }: StepCheckpoint): boolean =>
    trigger === 'interval' && index === checkpoint?.step_index;
  const periodic = listed.trigger === 'interval' ? checkpoints.filter(isSameKind).length : 0;
  const label = periodic > 1 ? vscode.l10n.t('Last of {0} periodic checkpoints', periodic) : listed.description;
  const item = row(node, label, vscode.TreeItemCollapsibleState.None);
  const late = listed.entry?.possibly_late === true ? vscode.l10n.t('possibly late') : '';
  item.description = [late, filesText(listed), ageOf(listed.createdAt, now)].filter((part) => part !== '').join(' · ');
  item.iconPath = new vscode.ThemeIcon(TRIGGER_ICONS[listed.trigger]);
  const hasFiles = snapshotOf(listed) !== undefined;
  item.contextValue = [
    'checkpoint',
    ...(hasFiles ? ['files'] : []),
    ...(hasFiles || (checkpoint?.files_snapshot ?? []).length > 0 ? ['comparable'] : []),
  ].join(' ');
  item.command = { command: 'atlas.showCheckpoint', title: vscode.l10n.t('Show Checkpoint'), arguments: [node] };
  return item;
}

/** The Markdown of a checkpoint's tooltip. */
export function checkpointTooltip(listed: ListedCheckpoint): vscode.MarkdownString {
  const text = new vscode.MarkdownString(undefined, false);
  appendPlain(text, listed.description, 500);
  text.appendMarkdown('\n\n');
  const { checkpoint, entry } = listed;
  const parts = [
    listed.id,
    listed.trigger === 'auto' ? vscode.l10n.t('restore point') : listed.trigger,
    listed.createdAt,
    checkpoint?.git_branch ?? '',
    checkpoint?.git_commit?.slice(0, 12) ?? '',
    checkpoint?.git_dirty === undefined
      ? ''
      : checkpoint.git_dirty
        ? vscode.l10n.t('uncommitted changes')
        : vscode.l10n.t('clean'),
  ];
  appendPlain(text, parts.filter((part) => part !== '').join(' · '), 400);
  if (entry?.problem !== undefined) {
    text.appendMarkdown('\n\n');
    appendPlain(text, entry.problem.message, 400);
  }
  return text;
}

const EVENT_ICONS = {
  info: { icon: 'circle-small' },
  warning: { icon: 'warning', color: 'charts.orange' },
  error: { icon: 'error', color: 'charts.red' },
} as const satisfies Readonly<Record<Activity['level'], Look>>;

/** The row of a history event: what happened, in a sentence. */
export function eventRow(
  node: TreeNode & { kind: 'event' },
  activity: Activity,
  event: RecordedEvent,
  now: number,
): vscode.TreeItem {
  const item = row(node, activity.text, vscode.TreeItemCollapsibleState.None);
  item.description = ageOf(event.timestamp, now);
  item.iconPath = themeIcon(EVENT_ICONS[activity.level]);
  const moved = event.from_state === event.to_state ? '' : stateLabel(event.to_state);
  item.tooltip = plain([event.timestamp, activity.text, moved].filter(isSaid).join(' · '), 600);
  item.contextValue = 'event';
  return item;
}

const GROUP_ICONS = {
  needsYou: 'bell-dot',
  workspace: 'repo',
  finished: 'archive',
  points: 'discard',
  history: 'list-unordered',
} as const;

function groupLabel(node: TreeNode & { kind: keyof typeof GROUP_ICONS }): string {
  switch (node.kind) {
    case 'needsYou':
      return vscode.l10n.t('Needs You');
    case 'workspace':
      return node.workspace;
    case 'finished':
      return vscode.l10n.t('Finished');
    case 'points':
      return vscode.l10n.t('Restore Points');
    case 'history':
      return vscode.l10n.t('History');
  }
}

/** The row of a group: what needs a person, a workspace, the finished tasks, a history, or more of a long list. */
export function groupRow(
  node: TreeNode & { kind: keyof typeof GROUP_ICONS | 'more' },
  { count = 0, own = false, more = '' }: { count?: number; own?: boolean; more?: string },
): vscode.TreeItem {
  const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;
  if (node.kind === 'more') {
    const item = row(node, vscode.l10n.t('Show {0} More…', count), None);
    item.command = { command: 'atlas.showMoreTasks', title: vscode.l10n.t('Show More'), arguments: [node] };
    item.contextValue = 'more';
    return item;
  }
  const item = row(node, groupLabel(node), own ? Expanded : Collapsed);
  if (node.kind !== 'workspace') item.description = [String(count), more].filter(isSaid).join(' · ');
  item.iconPath = new vscode.ThemeIcon(GROUP_ICONS[node.kind]);
  item.contextValue = node.kind;
  return item;
}
