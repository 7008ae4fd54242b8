import * as vscode from 'vscode';
import { defined } from '../../core/shared/defined';
import { unwrap } from '../../core/shared/errors';
import type { StoredTask } from '../../core/task/storedTask';
import { worktreeOf } from '../../core/task/task';
import { refKey } from '../../core/task/taskRef';
import { chosen, taskToChange } from '../shared/arguments';
import { setting } from '../shared/config';
import { type CommandContext, type CommandHandler, took } from '../shared/context';
import { plain } from '../shared/messages';
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

/** Starts an agent's command in a terminal of the task's worktree; nothing where there is no command. */
export function startAgentIn(context: CommandContext, task: StoredTask, command: string): void {
  if (command.trim() === '') return;
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
