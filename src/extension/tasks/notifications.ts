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
export class Notifications implements vscode.Disposable {
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    session: WindowTasks,
    private readonly memory: vscode.Memento,
  ) {
    this.subscriptions = [
      session.onDidFindCrash((task) => this.crashed(task)),
      session.onDidChange(() => {
        for (const task of session.ownTasks()) if (task.hook.state === 'awaiting_human') this.waiting(task);
      }),
    ];
  }

  private crashed(task: StoredTask): void {
    const recovery = task.hook.recovery;
    if (recovery === undefined) return;
    const message = vscode.l10n.t(
      'Task "{0}" was interrupted at step {1}. {2}',
      plain(task.task.description, 80),
      plain(task.hook.current_step?.step_name ?? vscode.l10n.t('setup')),
      plain(recovery.reason, 300),
    );
    this.tell('notifications.crash', `crash:${refKey(task.ref)}:${recovery.detected_at}`, task.ref, message, [
      [vscode.l10n.t('Resume Task'), 'atlas.resume'],
      [vscode.l10n.t('Open HOOK.md'), 'atlas.openHookMd'],
      [vscode.l10n.t('Recover Task…'), 'atlas.recover'],
    ]);
  }

  private waiting(task: StoredTask): void {
    const wait = waitingSince(task.hook);
    const failed = wait.kind === 'validation_failed';
    const said = wait.message === undefined ? '' : ` ${plain(wait.message, 200)}`;
    const title = plain(task.task.description, 80);
    const step = plain(task.hook.current_step?.step_name ?? '');
    const message = failed
      ? vscode.l10n.t('Validation of step {1} failed in "{0}".{2}', title, step, said)
      : vscode.l10n.t('"{0}" is waiting for you at step {1}.{2}', title, step, said);
    const approvable = wait.kind === 'review';
    this.tell(
      failed ? 'notifications.validationFailed' : 'notifications.humanNeeded',
      `wait:${refKey(task.ref)}:${wait.since}`,
      task.ref,
      message,
      [
        [vscode.l10n.t('Open HOOK.md'), 'atlas.openHookMd'],
        ...(approvable
          ? [[vscode.l10n.t('Approve Step'), 'atlas.approve'] as const]
          : [[vscode.l10n.t('Resume Task'), 'atlas.resume'] as const]),
        [vscode.l10n.t('Reject Step…'), 'atlas.reject'],
      ],
    );
  }

  /** Shows a message unless it was shown before, in whatever window or session. */
  private tell(
    name: SettingName,
    key: string,
    // Not the task: a message that nobody answers would keep all of its history in memory.
    ref: TaskRef,
    message: string,
    actions: readonly (readonly [string, string])[],
  ): void {
    const shown = this.memory.get<string[]>(SHOWN_KEY, []);
    if (shown.includes(key) || setting(name) === false) return;
    void this.memory.update(SHOWN_KEY, [...shown, key].slice(-MAX_SHOWN));
    void vscode.window.showWarningMessage(message, ...actions.map(([label]) => label)).then((chosen) => {
      const action = actions.find(([label]) => label === chosen);
      if (action !== undefined) void vscode.commands.executeCommand(action[1], { kind: 'task', ref });
    });
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}
