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
  const all: readonly (readonly [icon: string, label: string, command: string, shown: boolean])[] = [
    ['debug-continue', vscode.l10n.t('Resume Task'), 'resume', (stuck && trusted) || offered.has('resume')],
    ['watch', vscode.l10n.t('Mark as Still Working'), 'stillWorking', trusted && fares === 'quiet'],
    ['book', vscode.l10n.t('Open HOOK.md'), 'openHookMd', true],
    ['bookmark', vscode.l10n.t('Record Checkpoint…'), 'checkpoint', offered.has('checkpoint') && !stuck],
    ['play', vscode.l10n.t('Start Step'), 'startStep', offered.has('startStep')],
    ['check', vscode.l10n.t('Complete Step'), 'completeStep', offered.has('completeStep') && !stuck],
    ['thumbsup', vscode.l10n.t('Approve Step'), 'approve', offered.has('approve')],
    ['thumbsdown', vscode.l10n.t('Reject Step…'), 'reject', offered.has('reject')],
    ['debug-restart', vscode.l10n.t('Recover Task…'), 'recover', offered.has('recover') && stuck],
    ['circle-slash', vscode.l10n.t('Abandon Task…'), 'abandonTask', offered.has('abandonTask')],
  ];
  const items = all.flatMap(([icon, label, command, shown]) =>
    shown ? [{ label: `$(${icon}) ${label}`, command: `atlas.${command}` }] : [],
  );
  const picked = await vscode.window.showQuickPick(items, { title: plain(task.task.description, 80) });
  await vscode.commands.executeCommand(chosen(picked).command, { kind: 'task', ref: task.ref });
};
