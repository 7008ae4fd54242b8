import * as vscode from 'vscode';
import { waitingSince } from '../../core/task/waiting';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import type { StoredTask } from '../../core/task/storedTask';
import { type SettingName, setting } from '../shared/config';
import { plain } from '../shared/messages';
import type { WindowTasks } from '../windowTasks';

const SHOWN_KEY = 'atlas.shownNotifications';
const MAX_SHOWN = 200;

/** Tells of a crash, a human needed and a failed validation: each once, with what can be done. */
export function watchTasks(session: WindowTasks, memory: vscode.Memento): vscode.Disposable {
  return vscode.Disposable.from(
    session.onDidFindCrash((task) => crashed(memory, task)),
    session.onDidChange(() => {
      for (const task of session.ownTasks()) if (task.hook.state === 'awaiting_human') waiting(memory, task);
    }),
  );
}

interface Notice {
  readonly setting: SettingName;
  /** By which it is told once. */
  readonly key: string;
  /** Not the task: a message that nobody answers would keep all of its history in memory. */
  readonly ref: TaskRef;
  readonly message: string;
  readonly actions: readonly (readonly [label: string, command: string])[];
}

function crashed(memory: vscode.Memento, { ref, hook, task }: StoredTask): void {
  const { recovery } = hook;
  if (recovery === undefined) return;
  const message = vscode.l10n.t(
    'Task "{0}" was interrupted at step {1}. {2}',
    plain(task.description, 80),
    plain(hook.current_step?.step_name ?? vscode.l10n.t('setup')),
    plain(recovery.reason, 300),
  );
  const actions = [
    [vscode.l10n.t('Resume Task'), 'atlas.resume'],
    [vscode.l10n.t('Open HOOK.md'), 'atlas.openHookMd'],
    [vscode.l10n.t('Recover Task…'), 'atlas.recover'],
  ] as const;
  const key = `crash:${refKey(ref)}:${recovery.detected_at}`;
  tell(memory, { setting: 'notifications.crash', key, ref, message, actions });
}

function waiting(memory: vscode.Memento, { ref, hook, task }: StoredTask): void {
  const wait = waitingSince(hook);
  const failed = wait.kind === 'validation_failed';
  const said = wait.message === undefined ? '' : ` ${plain(wait.message, 200)}`;
  const title = plain(task.description, 80);
  const step = plain(hook.current_step?.step_name ?? '');
  const message = failed
    ? vscode.l10n.t('Validation of step {1} failed in "{0}".{2}', title, step, said)
    : vscode.l10n.t('"{0}" is waiting for you at step {1}.{2}', title, step, said);
  const actions = [
    [vscode.l10n.t('Open HOOK.md'), 'atlas.openHookMd'],
    wait.kind === 'review'
      ? ([vscode.l10n.t('Approve Step'), 'atlas.approve'] as const)
      : ([vscode.l10n.t('Resume Task'), 'atlas.resume'] as const),
    [vscode.l10n.t('Reject Step…'), 'atlas.reject'],
  ] as const;
  const name = failed ? 'notifications.validationFailed' : 'notifications.humanNeeded';
  tell(memory, { setting: name, key: `wait:${refKey(ref)}:${wait.since}`, ref, message, actions });
}

/** Shows a message unless it was shown before, in whatever window or session. */
function tell(memory: vscode.Memento, { setting: name, key, ref, message, actions }: Notice): void {
  const shown = memory.get<string[]>(SHOWN_KEY, []);
  if (shown.includes(key) || setting(name) === false) return;
  void memory.update(SHOWN_KEY, [...shown, key].slice(-MAX_SHOWN));
  void vscode.window.showWarningMessage(message, ...actions.map(([label]) => label)).then((chosen) => {
    const action = actions.find(([label]) => label === chosen);
    if (action !== undefined) void vscode.commands.executeCommand(action[1], { kind: 'task', ref });
  });
}
