import * as vscode from 'vscode';
import { openActions } from '../../core/task/taskActions';
import { plain } from '../shared/messages';
import { chosen, taskFor } from '../shared/arguments';
import type { CommandHandler } from '../shared/context';

/** What a click on the status bar offers: what fits the state first. */
export const showTaskActions: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument);
  const view = context.session.view(task.ref);
  const fares = view?.diagnosis.kind;
  const stuck = fares === 'quiet' || fares === 'crashed' || fares === 'recovering' || fares === 'agent_left';
  const trusted = vscode.workspace.isTrusted;
  const offered = new Set(trusted ? openActions(task.hook, task.task).map(({ action }) => action as string) : []);
  const items: { label: string; command: string; show: boolean }[] = [
    {
      label: `$(debug-continue) ${vscode.l10n.t('Resume Task')}`,
      command: 'atlas.resume',
      show: (stuck && trusted) || offered.has('resume'),
    },
    {
      label: `$(watch) ${vscode.l10n.t('Mark as Still Working')}`,
      command: 'atlas.stillWorking',
      show: trusted && fares === 'quiet',
    },
    { label: `$(book) ${vscode.l10n.t('Open HOOK.md')}`, command: 'atlas.openHookMd', show: true },
    {
      label: `$(bookmark) ${vscode.l10n.t('Record Checkpoint…')}`,
      command: 'atlas.checkpoint',
      show: offered.has('checkpoint') && !stuck,
    },
    { label: `$(play) ${vscode.l10n.t('Start Step')}`, command: 'atlas.startStep', show: offered.has('startStep') },
    {
      label: `$(check) ${vscode.l10n.t('Complete Step')}`,
      command: 'atlas.completeStep',
      show: offered.has('completeStep') && !stuck,
    },
    { label: `$(thumbsup) ${vscode.l10n.t('Approve Step')}`, command: 'atlas.approve', show: offered.has('approve') },
    { label: `$(thumbsdown) ${vscode.l10n.t('Reject Step…')}`, command: 'atlas.reject', show: offered.has('reject') },
    {
      label: `$(debug-restart) ${vscode.l10n.t('Recover Task…')}`,
      command: 'atlas.recover',
      show: offered.has('recover') && stuck,
    },
    {
      label: `$(circle-slash) ${vscode.l10n.t('Abandon Task…')}`,
      command: 'atlas.abandonTask',
      show: offered.has('abandonTask'),
    },
  ];
  const picked = await vscode.window.showQuickPick(
    items.filter(({ show }) => show),
    { title: plain(task.task.description, 80) },
  );
  await vscode.commands.executeCommand(chosen(picked).command, { kind: 'task', ref: task.ref });
};
