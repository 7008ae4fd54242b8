import * as vscode from 'vscode';
import { type AtlasError, explain } from '../../../core/shared/errors';
import { refKey } from '../../../core/task/taskRef';
import { foreignEdits } from '../../../core/task/foreignEdits';
import { type RecordedEvent, RECOVERY_ACTIONS, type StepCheckpoint } from '../../../core/task/taskRecord';
import type { TaskStep } from '../../../core/task/task';
import { formatDuration, toMs } from '../../../core/shared/time';
import { waitingSince } from '../../../core/task/waiting';
import { openActions } from '../../../core/task/taskActions';
import { plain } from '../../shared/messages';
import type { TaskView } from '../../windowTasks';
import { ageOf } from '../../shared/ages';
import { type TreeNode, nodeId } from './nodes';
import { healthLabel, lookOf, recoveryLabel, stateLabel, themeIcon } from '../../shared/stateLook';

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
 * The row of a task: its title, how it fares and where it stands.
 * @param few there are few others: its steps show without a click even if it only waits
 */
export function taskRow(node: TreeNode & { kind: 'task' }, view: TaskView, now: number, few: boolean): vscode.TreeItem {
  const { hook, task } = view.stored;
  const over = view.diagnosis.kind === 'over';
  const closed = over || (hook.state === 'step_pending' && !few);
  const item = row(
    node,
    task.description === '' ? node.ref.id : task.description,
    closed ? vscode.TreeItemCollapsibleState.Collapsed : vscode.TreeItemCollapsibleState.Expanded,
  );
  item.id = parentId(node);
  const step = hook.current_step;
  const place = step === undefined || over ? '' : `${step.step_index + 1}/${task.steps.length}`;
  const health = healthLabel(view.diagnosis, now);
  const fares = health ?? stateLabel(hook.state);
  const age = ageOf(hook.updated_at, now);
  // A narrow side bar has little room beside the title: what the icon or the rows below tell is left to them.
  const calm = hook.state === 'step_running' || hook.state === 'step_pending';
  const said = calm && health === undefined ? '' : fares;
  const standing = over ? `${fares} · ${age}` : said === '' ? place : said;
  const edited = foreignEdits(hook) !== undefined;
  item.description = edited ? vscode.l10n.t('edited outside Atlas · {0}', standing) : standing;
  item.iconPath = edited ? EDITED_ICON : themeIcon(lookOf(hook.state, view.diagnosis));
  item.contextValue = ['task', hook.state, ...openActions(hook, task).map(({ action }) => action)].join(' ');
  item.command = { command: OPEN_HOOK, title: vscode.l10n.t('Open HOOK.md'), arguments: [node] };
  item.accessibilityInformation = {
    label: plain(
      [task.description, edited ? vscode.l10n.t('edited outside Atlas') : '', fares, place, step?.step_name ?? '', age]
        .filter((part) => part !== '')
        .join(', '),
    ),
  };
  return item;
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

/** The Markdown of a task's tooltip, made when it is asked for. Texts from outside are code or escaped text. */
export function taskTooltip(view: TaskView, now: number): vscode.MarkdownString {
  const { hook, task } = view.stored;
  const text = new vscode.MarkdownString(undefined, false);
  text.appendText(plain(task.description, 500));
  text.appendMarkdown('\n\n');
  const line = (label: string, value: string): void => {
    text.appendMarkdown(`${label}: `);
    text.appendText(plain(value, 300));
    text.appendMarkdown('  \n');
  };
  line(vscode.l10n.t('Task'), task.id);
  line(vscode.l10n.t('State'), healthLabel(view.diagnosis, now) ?? stateLabel(hook.state));
  line(vscode.l10n.t('Template'), task.template_id);
  if (hook.current_step !== undefined) {
    const { step_name: name, attempt, max_attempts: max, working_on: workingOn } = hook.current_step;
    line(vscode.l10n.t('Step'), vscode.l10n.t('{0}, attempt {1} of {2}', name, attempt, max));
    if (workingOn !== undefined) line(vscode.l10n.t('Working on'), workingOn);
  }
  if (hook.state === 'awaiting_human') {
    const wait = waitingSince(hook);
    line(
      vscode.l10n.t('Waiting for'),
      [wait.kind.replace('_', ' '), wait.message ?? ''].filter((part) => part !== '').join(': '),
    );
  }
  if (hook.recovery !== undefined) {
    const { recommended_action: action, reason } = hook.recovery;
    const known = RECOVERY_ACTIONS.find((each) => each === action);
    line(vscode.l10n.t('Plan'), `${known === undefined ? action : recoveryLabel(known)}: ${reason}`);
  }
  const edits = foreignEdits(hook);
  if (edits !== undefined)
    line(
      vscode.l10n.t('Edited outside Atlas'),
      vscode.l10n.t('{0}. Check the task, then use "Acknowledge Edit".', edits.at),
    );
  for (const finding of view.findings) line(vscode.l10n.t('Repaired'), finding);
  return text;
}

const STEP_ICONS: Readonly<Record<string, { icon: string; color?: string }>> = {
  completed: { icon: 'check', color: 'charts.green' },
  skipped: { icon: 'debug-step-over', color: 'charts.green' },
  running: { icon: 'play', color: 'charts.blue' },
  failed: { icon: 'error', color: 'charts.red' },
  pending: { icon: 'circle-small-filled' },
};

function stepDuration(step: TaskStep): string {
  if (step.started_at === undefined || step.completed_at === undefined) return '';
  return formatDuration(Math.max(0, toMs(step.completed_at) - toMs(step.started_at)));
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
  const item = row(node, step.name, state);
  if (children > 0) item.id = parentId(node);
  const attempt = step.attempts > 1 ? vscode.l10n.t('attempt {0}', step.attempts) : '';
  const fares = waits
    ? stateLabel('awaiting_human')
    : current && hook.state === 'step_pending'
      ? stateLabel('step_pending')
      : '';
  item.description = plain([fares, attempt, stepDuration(step)].filter((part) => part !== '').join(' · '));
  item.iconPath = themeIcon(
    waits || stuck ? lookOf(hook.state, view.diagnosis) : (STEP_ICONS[step.status] ?? { icon: 'circle-small' }),
  );
  item.contextValue = current
    ? ['currentStep', ...openActions(hook, view.stored.task).map(({ action }) => action)].join(' ')
    : 'step';
  item.tooltip = plain(`${step.name}: ${step.status} (${step.type})`);
  item.accessibilityInformation = { label: plain(`${step.name}, ${step.status}, ${item.description}`) };
  return item;
}

const TRIGGER_ICONS: Readonly<Record<StepCheckpoint['trigger'], string>> = {
  manual: 'bookmark',
  git_commit: 'git-commit',
  git_push: 'cloud-upload',
  pr_created: 'git-pull-request',
  validation: 'beaker',
  step_complete: 'check-all',
  interval: 'history',
};

/** The row of a checkpoint. */
export function checkpointRow(
  node: TreeNode & { kind: 'checkpoint' },
  checkpoint: StepCheckpoint,
  now: number,
): vscode.TreeItem {
  const item = row(node, checkpoint.description, vscode.TreeItemCollapsibleState.None);
  item.description = ageOf(checkpoint.created_at, now);
  item.iconPath = new vscode.ThemeIcon(TRIGGER_ICONS[checkpoint.trigger]);
  item.contextValue = 'checkpoint';
  item.command = { command: 'atlas.showCheckpoint', title: vscode.l10n.t('Show Checkpoint'), arguments: [node] };
  return item;
}

/** The Markdown of a checkpoint's tooltip. */
export function checkpointTooltip(checkpoint: StepCheckpoint): vscode.MarkdownString {
  const text = new vscode.MarkdownString(undefined, false);
  text.appendText(plain(checkpoint.description, 500));
  text.appendMarkdown('\n\n');
  const parts = [
    checkpoint.checkpoint_id,
    checkpoint.trigger,
    checkpoint.created_at,
    checkpoint.git_branch,
    checkpoint.git_commit?.slice(0, 12) ?? '',
    checkpoint.git_dirty === undefined
      ? ''
      : checkpoint.git_dirty
        ? vscode.l10n.t('uncommitted changes')
        : vscode.l10n.t('clean'),
  ];
  text.appendText(plain(parts.filter((part) => part !== '').join(' · '), 400));
  return text;
}

/** The row of a history event. */
export function eventRow(node: TreeNode & { kind: 'event' }, event: RecordedEvent, now: number): vscode.TreeItem {
  const item = row(node, event.trigger, vscode.TreeItemCollapsibleState.None);
  const moved = event.from_state === event.to_state ? '' : `→ ${event.to_state}`;
  item.description = plain(
    [event.step_name ?? '', moved, ageOf(event.timestamp, now)].filter((part) => part !== '').join(' · '),
  );
  item.iconPath = new vscode.ThemeIcon(event.trigger === 'crash_detected' ? 'warning' : 'circle-small');
  item.tooltip = plain(`${event.timestamp} ${event.from_state} → ${event.to_state}`);
  item.contextValue = 'event';
  return item;
}

const GROUP_ICONS = { workspace: 'repo', finished: 'archive', history: 'list-unordered' } as const;

/** The row of a group: a workspace, the finished tasks, a history, or more of a long list. */
export function groupRow(
  node: TreeNode & { kind: 'workspace' | 'finished' | 'history' | 'more' },
  { count = 0, own = false }: { count?: number; own?: boolean },
): vscode.TreeItem {
  const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;
  if (node.kind === 'more') {
    const item = row(node, vscode.l10n.t('Show {0} More…', count), None);
    item.command = { command: 'atlas.showMoreTasks', title: vscode.l10n.t('Show More'), arguments: [node] };
    item.contextValue = 'more';
    return item;
  }
  const group = node.kind === 'finished' ? vscode.l10n.t('Finished') : vscode.l10n.t('History');
  const item = row(node, node.kind === 'workspace' ? node.workspace : group, own ? Expanded : Collapsed);
  if (node.kind !== 'workspace') item.description = String(count);
  item.iconPath = new vscode.ThemeIcon(GROUP_ICONS[node.kind]);
  item.contextValue = node.kind;
  return item;
}
