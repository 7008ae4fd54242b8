import * as vscode from 'vscode';
import { openActions } from '../../core/task/taskActions';
import { needsPerson } from '../../core/task/urgency';
import { chosen, taskFor } from '../shared/arguments';
import type { CommandContext, CommandHandler } from '../shared/context';
import { plain } from '../shared/messages';
import { healthLabel, stateLabel } from '../shared/stateLook';
import { type TaskView, rankedView } from '../windowTasks';
import { actionText } from './actionTexts';

interface Item extends vscode.QuickPickItem {
  /** What is done when it is picked. */
  readonly run?: () => Thenable<unknown>;
}

/** What a click on the status bar offers: the one next step of its task first, then other tasks that need a person. */
export const showTaskActions: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument);
  const view = context.session.view(task.ref);
  const items: Item[] = [
    ...(vscode.workspace.isTrusted && view !== undefined ? actionItems(view) : []),
    command('book', vscode.l10n.t('Open HOOK.md'), 'openHookMd', task.ref),
    ...others(context, task.ref.id),
  ];
  const picked = await vscode.window.showQuickPick(items, { title: titleOf(context, view) });
  await chosen(picked).run?.();
};

function titleOf({ session }: CommandContext, view: TaskView | undefined): string {
  return view === undefined ? '' : `${plain(view.stored.task.description, 80)} · ${fares(session, view)}`;
}

function fares({ atlas }: CommandContext['session'], { stored, diagnosis }: TaskView): string {
  return healthLabel(diagnosis, atlas.ports.clock.now()) ?? stateLabel(stored.hook.state);
}

function command(icon: string, label: string, name: string, ref: TaskView['stored']['ref'], more: object = {}): Item {
  return {
    label: `$(${icon}) ${label}`,
    run: () => vscode.commands.executeCommand(`atlas.${name}`, { kind: 'task', ref, ...more }),
  };
}

function actionItems({ stored: { hook, task, ref }, diagnosis }: TaskView): Item[] {
  return openActions(hook, task, diagnosis.kind)
    .filter(({ rank }) => rank !== 'more')
    .map((open) => {
      const { label, icon } = actionText(open, hook);
      return command(icon, label, open.action, ref, { recovery: open.recovery });
    });
}

/** The other tasks of the window that need a person; picking one shows what can be done about it. */
function others({ session }: CommandContext, id: string): Item[] {
  const needing = session.ranked().filter((view) => needsPerson(rankedView(view)) && view.stored.ref.id !== id);
  if (needing.length === 0) return [];
  const heading: Item = { label: vscode.l10n.t('Also Needs You'), kind: vscode.QuickPickItemKind.Separator };
  return [
    heading,
    ...needing.map((view) => ({
      ...command('bell-dot', plain(view.stored.task.description, 80), 'showTaskActions', view.stored.ref),
      description: fares(session, view),
    })),
  ];
}
