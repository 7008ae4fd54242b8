import { messageOf } from '../../../core/shared/errors';
import { configIssues, issuesLine } from '../../../service/tasks/configIssues';
import type { CliContext } from '../../context';

/** These say themselves what is wrong in the configuration, or look at the folder that an agent's host names. */
const SAY_IT_THEMSELVES = /^(?:start|doctor|completion|lifecycle (?!install$|uninstall$).*)$/u;

/** Says on standard error what is ignored of a folder's configuration, before a command runs that doesn't say so itself. */
export async function noticeBefore(command: string, context: CliContext): Promise<void> {
  if (!SAY_IT_THEMSELVES.test(command)) await configNotice(context, context.folder);
}

/** Says in one line what is ignored of a folder's configuration. Never keeps a command from running. */
export async function configNotice(context: CliContext, folder: string): Promise<void> {
  try {
    const { configs, ports } = await context.atlas();
    const worktree = (await ports.git.locate(folder))?.worktree ?? ports.files.realPath(folder);
    const line = issuesLine(await configIssues(configs, worktree), worktree);
    if (line !== undefined) context.tellIgnored(line);
  } catch (error) {
    context.tellIgnored(`The configuration could not be checked: ${messageOf(error)}`);
  }
}
