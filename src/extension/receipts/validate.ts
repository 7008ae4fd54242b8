import * as vscode from 'vscode';
import { stepLabel } from '../../core/task/labels';
import { worktreeOf } from '../../core/task/task';
import { currentCommands } from '../../core/task/taskAlignment';
import { refKey } from '../../core/task/taskRef';
import type { StoredTask } from '../../core/task/storedTask';
import { failedChecks } from '../../core/task/acceptedFailure';
import type { TaskInput } from '../../core/transition/events';
import { canRunAgain, canValidate } from '../../core/task/taskActions';
import { plain } from '../shared/messages';
import { ValidationTerminal } from './validationTerminal';
import { chosen, taskToChange } from '../shared/arguments';
import { isAllowed } from '../tasks/consent';
import { type CommandHandler, took } from '../shared/context';
import { withNotice } from '../shared/dialogs';

/** Atlas: Run Validation. Live in a terminal; the progress message or Ctrl+C in the terminal cancels it. */
export const runValidation: CommandHandler = async (context, argument) => {
  const { session } = context;
  const task = await taskToChange(
    session,
    argument,
    ({ hook, task: record }) => canValidate(hook, record) || canRunAgain(hook, record),
  );
  const again = canRunAgain(task.hook, task.task) ? failedChecks(task.hook).map(({ command }) => command) : [];
  const declared = currentCommands(task);
  const extra = declared.length > 0 ? [] : again.length > 0 ? again : await chooseCommands(task);
  const step = task.hook.current_step;
  const question = {
    ask: vscode.l10n.t(
      'Run the checks of step {0} of "{1}", and allow agents to run them, too?',
      plain(stepLabel(step?.step_name ?? '')),
      plain(task.task.description, 60),
    ),
    yes: vscode.l10n.t('Run'),
  };
  const atlas = await session.atlas.drive();
  // What an agent had checked is as foreign as what a template declares.
  if (!(await isAllowed(atlas, task, question, [...declared, ...(declared.length > 0 ? [] : again)]))) return;
  if (canRunAgain(task.hook, task.task)) took(context, await atlas.send(task.ref, continued(task)));
  context.terminals.get(refKey(task.ref))?.dispose();
  const terminal = new ValidationTerminal(plain(task.task.description, 40));
  const title = vscode.l10n.t('Validating "{0}"', plain(task.task.description, 60));
  const result = await withNotice(title, async (signal, progress) =>
    atlas.validate(task.ref, {
      commands: extra,
      signal: terminal.cancelledBy(signal),
      caller: 'human',
      ...(step === undefined ? {} : { expect: { step: step.step_name, attempt: step.attempt } }),
      watch: terminal.watch((command, index, total) => {
        progress.report({ message: `${index + 1}/${total} ${plain(command, 80)}` });
        session.changed(task.ref);
      }),
    }),
  );
  context.terminals.set(refKey(task.ref), terminal);
  if (!result.ok) {
    terminal.end(plain(result.error.message, 500), false);
    throw result.error;
  }
  terminal.end(result.value.reason ?? vscode.l10n.t('Validation passed.'), result.value.passed);
  took(context, { ok: true, value: result.value.task });
  if (result.value.passed) vscode.window.setStatusBarMessage(vscode.l10n.t('Validation passed.'), 5000);
};

/** The decision to run a failed check again continues the attempt; one that has moved on meanwhile refuses. */
function continued({ hook }: StoredTask): TaskInput {
  const step = hook.current_step;
  const expect = step === undefined ? {} : { expect: { step: step.step_name, attempt: step.attempt } };
  return { type: 'human_resume', by: 'human', ...expect };
}

/** Asks what checks the work where the step doesn't say: what the repository declares, or what is typed in. */
async function chooseCommands({ task }: StoredTask): Promise<string[]> {
  const title = vscode.l10n.t('Run Validation for "{0}"', plain(task.description, 60));
  const { declaredChecks } = await import('../../validation/declaredChecks');
  const { NodeFileSystem } = await import('../../system/files/nodeFileSystem');
  const worktree = worktreeOf(task);
  const found = worktree === undefined ? [] : declaredChecks(new NodeFileSystem(), worktree);
  const other = { label: `$(edit) ${vscode.l10n.t('Another command…')}`, command: undefined };
  const items = found.map(({ command, source }) => ({
    label: plain(command, 120),
    description: plain(source, 120),
    command,
  }));
  const picked =
    items.length === 0
      ? [other]
      : chosen(
          await vscode.window.showQuickPick<(typeof items)[number] | typeof other>([...items, other], {
            title,
            placeHolder: vscode.l10n.t('The step declares no checks. Which commands check it?'),
            canPickMany: true,
            ignoreFocusOut: true,
          }),
        );
  const commands = picked.flatMap(({ command }) => (command === undefined ? [] : [command]));
  if (!picked.includes(other)) return commands;
  const typed = await vscode.window.showInputBox({
    title,
    prompt: vscode.l10n.t('Command that checks this step, for example npm test. The step passes if it exits with 0.'),
    ignoreFocusOut: true,
  });
  return [...commands, chosen(typed)];
}
