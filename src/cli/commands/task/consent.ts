import { declaredCommands, worktreeOf } from '../../../core/task/task';
import { replacedTemplates } from '../../../core/task/templates/templates';
import type { TaskTemplate } from '../../../core/task/templates/template';
import { count, oneLine, sentenceList } from '../../../core/shared/text';
import { wholeCommand } from '../../../core/shared/wholeCommand';
import type { Atlas } from '../../../service/atlas';
import type { StoredTask } from '../../../core/task/storedTask';
import type { CliContext } from '../../context';

/** What a new task brings with it that its user has to know. */
export interface Announced {
  readonly commands: readonly string[];
  /** The names of built-in templates that the repository's own one replaces. */
  readonly replaces: readonly string[];
}

/**
 * Says on stderr what a task will run, all of each command, and that a repository's template stands in for a built-in
 * one; with `--quiet` and `--json` too, since somebody answers for it.
 */
export async function announceStart(context: CliContext, atlas: Atlas, { task }: StoredTask): Promise<Announced> {
  const { templates } = await atlas.configs.templates(worktreeOf(task));
  const template = templates.find(({ id }) => id === task.template_id);
  const replaces = template === undefined ? [] : replacedTemplates(template);
  if (replaces.length > 0) context.streams.err(`atlas: ${replacement(template, replaces)}\n`);
  const commands = declaredCommands(task);
  if (commands.length > 0) {
    const who =
      context.caller === 'human'
        ? 'Agents may run these checks of the task'
        : 'The task declares these checks, which run only after a human allows them';
    listCommands(context, who, commands);
  }
  return { commands, replaces };
}

/** Says which commands of a step a human allows by running them; nothing where all were allowed before. */
export function announceRun(context: CliContext, unknown: readonly string[]): void {
  if (unknown.length === 0) return;
  const what = unknown.length === 1 ? 'this command' : `these ${count(unknown.length, 'command')}`;
  listCommands(context, `By running ${what}, you allow agents to run the same`, unknown);
}

function listCommands({ streams }: CliContext, what: string, commands: readonly string[]): void {
  // Not fitted to the terminal: a line break that is not in the command would be read as one that is.
  streams.err(`atlas: ${what}:\n${commands.map((command) => `  ${wholeCommand(command)}\n`).join('')}`);
}

function replacement(template: TaskTemplate | undefined, replaces: readonly string[]): string {
  const names = sentenceList(replaces.map((name) => `"${name}"`));
  const steps = template?.steps.map(({ name }) => name).join(', ') ?? '';
  return `This repository's own template replaces the built-in ${names}. Its steps: ${oneLine(steps, 500)}.`;
}
