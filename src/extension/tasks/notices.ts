import * as vscode from 'vscode';
import type { CrashCause } from '../../core/recovery/liveness';
import { recoveryDetails } from '../../core/recovery/recoveryDetails';
import { CAUSE_LABELS, stepLabel } from '../../core/task/labels';
import type { RecoveryContext } from '../../core/task/taskRecord';
import { openActions, situationOf } from '../../core/task/taskActions';
import type { StoredTask } from '../../core/task/storedTask';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import { type WaitKind, waitingSince } from '../../core/task/waiting';
import { type SettingName, setting } from '../shared/config';
import { plain } from '../shared/messages';
import { healthLabel, stateLabel } from '../shared/stateLook';
import type { WindowTasks } from '../windowTasks';
import { actionText } from './actionTexts';
import { lastCheckpointText } from './panel/need';

const SHOWN_KEY = 'atlas.shownNotifications';
const MAX_SHOWN = 200;
/** More buttons no notification shows well, and longer ones it cuts off: the panel has all of them. */
const MAX_ACTIONS = 2;
const MAX_LABELS = 48;

interface Notice {
  readonly setting: SettingName;
  /** By which it is told once. */
  readonly key: string;
  /** Not the task: a message that nobody answers would keep all of its history in memory. */
  readonly ref: TaskRef;
  readonly message: string;
  readonly actions: readonly NoticeAction[];
}

interface NoticeAction {
  readonly label: string;
  readonly command: string;
  readonly argument: object;
}

/** Tells of an interrupted task. */
export function tellOfCrash(session: WindowTasks, memory: vscode.Memento, task: StoredTask): void {
  const { recovery } = task.hook;
  if (recovery === undefined) return;
  const message = vscode.l10n.t(
    '"{0}" was interrupted at step {1}{2}. {3}',
    plain(task.task.description, 80),
    plain(stepLabel(task.hook.current_step?.step_name ?? vscode.l10n.t('setup'))),
    causeOf(recovery),
    recovery.recommended_action === 'manual' ? plain(recovery.reason, 300) : lastCheckpointText(task.hook),
  );
  const key = `crash:${refKey(task.ref)}:${recovery.detected_at}`;
  tell(session, memory, { setting: 'notifications.crash', key, ref: task.ref, message, actions: actionsOf(task) });
}

/** What interrupted a task, in brackets; empty where that isn't known. */
function causeOf(recovery: RecoveryContext): string {
  const { cause } = recoveryDetails(recovery);
  if (cause === undefined || !Object.hasOwn(CAUSE_LABELS, cause)) return '';
  return ` (${vscode.l10n.t(CAUSE_LABELS[cause as CrashCause])})`;
}

/** Tells of a task that waits for a person. */
export function tellOfWaiting(session: WindowTasks, memory: vscode.Memento, task: StoredTask): void {
  const { ref, hook } = task;
  const wait = waitingSince(hook);
  const said = wait.message === undefined ? '' : ` ${plain(wait.message, 200)}`;
  const title = plain(task.task.description, 80);
  const step = plain(stepLabel(hook.current_step?.step_name ?? ''));
  const name = wait.kind === 'validation_failed' ? 'notifications.validationFailed' : 'notifications.humanNeeded';
  const messages: Readonly<Record<WaitKind, string>> = {
    validation_failed: vscode.l10n.t('A check failed at step {1} of "{0}".{2}', title, step, said),
    question: vscode.l10n.t('"{0}" has a question for you.{1}', title, said),
    review: vscode.l10n.t('"{0}" is ready for your review at step {1}.{2}', title, step, said),
    step_failed: vscode.l10n.t('The agent gave up on step {1} of "{0}".{2}', title, step, said),
    attempts_spent: vscode.l10n.t(
      'All attempts at step {1} of "{0}" are used up. Decide how it continues.',
      title,
      step,
    ),
    interrupted: vscode.l10n.t('"{0}" was interrupted at step {1}. Decide how it continues.{2}', title, step, said),
  };
  tell(session, memory, {
    setting: name,
    key: `wait:${refKey(ref)}:${wait.since}`,
    ref,
    message: messages[wait.kind],
    actions: actionsOf(task),
  });
}

/** The next step and what stands beside it, then the panel. */
function actionsOf({ ref, hook, task }: StoredTask): NoticeAction[] {
  const offered = openActions(hook, task).filter(({ rank }) => rank === 'primary' || rank === 'secondary');
  const actions = offered.slice(0, MAX_ACTIONS).map((open) => ({
    label: actionText(open, hook).label,
    command: `atlas.${open.action}`,
    argument: { kind: 'task', ref, recovery: open.recovery },
  }));
  const panel = { label: vscode.l10n.t('Open HOOK.md'), command: 'atlas.openHookMd', argument: { kind: 'task', ref } };
  const fits = [...actions, panel].reduce((sum, { label }) => sum + label.length, 0) <= MAX_LABELS;
  return fits ? [...actions, panel] : [...actions.slice(0, 1), panel];
}

/** Shows a message unless it was shown before, in whatever window or session. */
function tell(
  session: WindowTasks,
  memory: vscode.Memento,
  { setting: name, key, ref, message, actions }: Notice,
): void {
  const shown = memory.get<string[]>(SHOWN_KEY, []);
  if (shown.includes(key) || setting(name) === false) return;
  void memory.update(SHOWN_KEY, [...shown, key].slice(-MAX_SHOWN));
  const moment = momentOf(session, ref);
  void vscode.window.showWarningMessage(message, ...actions.map(({ label }) => label)).then((chosen) => {
    const action = actions.find(({ label }) => label === chosen);
    if (action === undefined) return;
    if (action.command !== 'atlas.openHookMd' && momentOf(session, ref) !== moment) void tellThatItPassed(session, ref);
    else void vscode.commands.executeCommand(action.command, action.argument);
  });
}

/** What a notification was about: another situation, or the same at another time, is another moment. */
function momentOf(session: WindowTasks, ref: TaskRef): string {
  const read = session.atlas.catalog.read(ref);
  if (!read.ok) return '';
  const { hook } = read.value;
  const since = hook.state === 'awaiting_human' ? waitingSince(hook).since : (hook.recovery?.detected_at ?? '');
  return `${situationOf(hook)} ${since}`;
}

async function tellThatItPassed(session: WindowTasks, ref: TaskRef): Promise<void> {
  const view = session.view(ref);
  if (view === undefined) return;
  const { hook, task } = view.stored;
  const now = healthLabel(view.diagnosis, session.atlas.ports.clock.now()) ?? stateLabel(hook.state);
  const open = vscode.l10n.t('Open HOOK.md');
  const message = vscode.l10n.t('"{0}" has moved on: {1}.', plain(task.description, 80), now);
  if ((await vscode.window.showInformationMessage(message, open)) === open)
    await vscode.commands.executeCommand('atlas.openHookMd', { kind: 'task', ref });
}
