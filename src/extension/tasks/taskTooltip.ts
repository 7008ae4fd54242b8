import * as vscode from 'vscode';
import { foreignEdits } from '../../core/task/foreignEdits';
import { WAIT_LABELS, reasonLabel, stepLabel } from '../../core/task/labels';
import { RECOVERY_ACTIONS } from '../../core/task/taskRecord';
import { waitingSince } from '../../core/task/waiting';
import { healthLabel, recoveryLabel, stateLabel } from '../shared/stateLook';
import { appendPlain, tooltipLines } from '../shared/tooltip';
import type { TaskView } from '../windowTasks';

/** The Markdown of a task's tooltip, made when it is asked for. Texts from outside are code or escaped text. */
export function taskTooltip(view: TaskView, now: number): vscode.MarkdownString {
  const { hook, task } = view.stored;
  const text = new vscode.MarkdownString(undefined, false);
  appendPlain(text, task.description, 500);
  text.appendMarkdown('\n\n');
  const line = tooltipLines(text);
  line(vscode.l10n.t('Task'), task.id);
  line(vscode.l10n.t('State'), healthLabel(view.diagnosis, now) ?? stateLabel(hook.state));
  line(vscode.l10n.t('Template'), task.template_id);
  if (hook.current_step !== undefined) {
    const { step_name: name, attempt, max_attempts: max, working_on: workingOn } = hook.current_step;
    line(vscode.l10n.t('Step'), vscode.l10n.t('{0}, attempt {1} of {2}', stepLabel(name), attempt, max));
    if (workingOn !== undefined) line(vscode.l10n.t('Working on'), workingOn);
  }
  if (hook.state === 'awaiting_human') {
    const wait = waitingSince(hook);
    line(
      vscode.l10n.t('Waiting for'),
      [vscode.l10n.t(WAIT_LABELS[wait.kind]), wait.message ?? ''].filter((part) => part !== '').join(': '),
    );
  }
  if (hook.recovery !== undefined) {
    const { recommended_action: action, reason } = hook.recovery;
    const known = RECOVERY_ACTIONS.find((each) => each === action);
    line(vscode.l10n.t('Plan'), `${known === undefined ? action : recoveryLabel(known)}: ${reasonLabel(reason)}`);
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
