import * as vscode from 'vscode';
import { defined } from '../../core/shared/defined';
import { unwrap } from '../../core/shared/errors';
import type { StoredTask } from '../../core/task/storedTask';
import { stepLabel } from '../../core/task/labels';
import { worktreeOf } from '../../core/task/task';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import { chosen, taskToChange } from '../shared/arguments';
import { setting } from '../shared/config';
import { type CommandContext, type CommandHandler, took } from '../shared/context';
import { Cancelled, plain, showFailure } from '../shared/messages';
import { askOne, askOneText } from '../shared/questions';

/** Agents that take a prompt as their argument, by the names of their commands. */
const AGENTS = [
  ['Claude Code', 'claude'],
  ['Codex', 'codex'],
  ['OpenCode', 'opencode --prompt'],
  ['Gemini CLI', 'gemini -i'],
  ['Copilot CLI', 'copilot -i'],
] as const;

/** Atlas: Start Agent. Starts the step, and in a terminal the agent of one's choice, which is told to read HOOK.md. */
export const startAgent: CommandHandler = async (context, argument) => {
  const { session } = context;
  const task = await taskToChange(session, argument, ({ hook }) => hook.state === 'step_pending');
  const command = await agentCommand(task);
  const atlas = await session.atlas.drive();
  const read = unwrap(session.atlas.catalog.read(task.ref));
  // Somebody may have started the step while the question was open.
  if (read.hook.state === 'step_pending') took(context, await atlas.startStep(task.ref));
  context.panels.open(task.ref);
  startAgentIn(context, task, command);
};

/** The command of the settings, or one that is chosen now and kept there. */
async function agentCommand({ task }: StoredTask): Promise<string> {
  const known = setting('agent.command').trim();
  if (known !== '') return known;
  const title = vscode.l10n.t('Start an Agent for "{0}"', plain(task.description, 60));
  const items = [
    ...AGENTS.map(([label, command]) => ({ label, description: command, value: command })),
    { label: vscode.l10n.t('Another command…'), value: '' },
  ];
  const picked = await askOne<string>({ title, placeholder: vscode.l10n.t('Which agent?'), items });
  const command =
    picked !== ''
      ? picked
      : await askOneText({
          title,
          prompt: vscode.l10n.t('The command that starts the agent. Atlas adds the prompt as its last argument.'),
          value: undefined,
          empty: vscode.l10n.t('Enter a command.'),
        });
  const target = vscode.ConfigurationTarget.Global;
  await vscode.workspace.getConfiguration('atlas').update('agent.command', command, target);
  return chosen(command);
}

/**
 * Has a step that runs again worked on: by the agent that the settings name, else by one that a person is offered to
 * start. Nothing would run otherwise, and nothing would say so.
 */
export function continueWithAgent(context: CommandContext, ref: TaskRef): void {
  const read = context.session.atlas.catalog.read(ref);
  if (!read.ok) return;
  const command = setting('agent.command').trim();
  if (command !== '') startAgentIn(context, read.value, command);
  // Not awaited: it stays until somebody answers it.
  else if (read.value.hook.state === 'step_running') void offerAgent(context, read.value);
}

async function offerAgent(context: CommandContext, task: StoredTask): Promise<void> {
  const [start, copy] = [vscode.l10n.t('Start Agent…'), vscode.l10n.t('Copy Agent Prompt')];
  const message = vscode.l10n.t(
    'Step {0} of "{1}" is running again. Start an agent, or give the prompt to yours.',
    plain(stepLabel(task.hook.current_step?.step_name ?? '')),
    plain(task.task.description, 80),
  );
  const picked = await vscode.window.showInformationMessage(message, start, copy);
  const argument = { kind: 'task', ref: task.ref };
  if (picked === copy) await vscode.commands.executeCommand('atlas.copyRecoverySynopsis', argument);
  if (picked !== start) return;
  try {
    startAgentIn(context, task, await agentCommand(task));
  } catch (error) {
    if (!(error instanceof Cancelled)) await showFailure(error, context.log);
  }
}

/** Starts an agent's command in a terminal of the task's worktree. */
function startAgentIn(context: CommandContext, task: StoredTask, command: string): void {
  const hookMd = context.session.atlas.ports.paths.markdown(task.ref);
  const prompt = vscode.l10n.t('Read {0} and follow its section "What To Do Now".', hookMd);
  const cwd = worktreeOf(task.task);
  const terminal = vscode.window.createTerminal({
    name: vscode.l10n.t('Atlas agent'),
    env: { ATLAS_TASK: refKey(task.ref) },
    ...defined({ cwd }),
  });
  terminal.show();
  terminal.sendText(`${command.trim()} ${quote(prompt)}`);
}

/** One argument for the terminal's shell; in single quotes nothing is expanded. */
function quote(text: string): string {
  if (process.platform === 'win32') return `"${text.replaceAll('"', "'")}"`;
  return `'${text.replaceAll("'", "'\\''")}'`;
}
