import { AtlasError, unwrap } from '../../../core/shared/errors';
import type { Atlas } from '../../../service/atlas';
import { refusedIssues } from '../../../service/tasks/configIssues';
import { knownWorkspace } from '../../../service/tasks/taskChoice';
import type { Updated } from '../../../core/task/storedTask';
import type { Handler } from '../../parse/commandLine';
import { configNotice } from './configNotice';
import { announceStart } from './consent';
import type { CliContext } from '../../context';
import { atlasCommand } from '../maintenance/gitHooks';
import type { AnswerData } from '../schemas';
import { offeredAtStart } from './offeredChecks';
import { changed } from './taskAnswer';

/** `start`: a new task. */
export const start: Handler = async (context, call) => {
  const atlas = await context.drive();
  const folder = folderOf(atlas, context, call.text('workspace'));
  const ignoreConfig = call.flag('ignoreConfig');
  if (ignoreConfig) {
    // To leave out checks is a human's choice, who is told what is ignored.
    context.humanOnly('start a task with part of its configuration ignored');
    await configNotice(context, folder);
  }
  const template = call.text('template') ?? 'task';
  const result = await atlas.startTask({ title: call.operands[0] ?? '', template, folder, ignoreConfig });
  if (!result.ok) throw withIgnoring(context, result.error);
  const started = result.value;
  // Shown first: what nobody saw is not allowed.
  const announced = await announceStart(context, atlas, started);
  if (context.caller === 'human') await atlas.allowCommands(started);
  const hooks = await offerHooks(context, atlas, started, call.flag('gitHooks'));
  const driven = {
    atlas,
    stored: started,
    notes: [...hooks.notes, ...(await offeredAtStart(atlas, started))],
    expect: {},
  };
  const data = {
    git_hooks: hooks.state,
    commands: [...announced.commands],
    replaces_templates: [...announced.replaces],
  } satisfies Partial<AnswerData<'start'>>;
  return changed(context, driven, started, `Started task ${started.ref.id}.`, data);
};

function folderOf(atlas: Atlas, context: CliContext, workspace: string | undefined): string {
  if (workspace === undefined) return context.folder;
  unwrap(knownWorkspace(atlas.reader, workspace));
  return unwrap(atlas.workspaces.read(workspace)).repo_path ?? context.folder;
}

/** A refusal for mistakes in the configuration, with the way around it that a human has. */
function withIgnoring(context: CliContext, error: AtlasError): AtlasError {
  if (refusedIssues(error).length === 0 || context.agent !== undefined) return error;
  const hint = `${error.hint ?? ''} To start it anyway, add --ignore-config.`;
  return new AtlasError(error.code, error.message, { hint, cause: error.cause });
}

/** Without git hooks and without a window nobody sees commits: they are offered, never put in unasked. */
async function offerHooks(
  context: CliContext,
  atlas: Atlas,
  { task }: Updated,
  wanted: boolean,
): Promise<{ state: AnswerData<'start'>['git_hooks']; notes: string[] }> {
  const folder = typeof task.metadata['worktree'] === 'string' ? task.metadata['worktree'] : context.folder;
  const hooks = await atlas.gitHooks();
  const found = await hooks.inspect(folder);
  if (!found.ok) return { state: 'not_possible', notes: wanted ? [found.error.message] : [] };
  if (found.value.hooks.every(({ state }) => state === 'installed' || state === 'beside'))
    return { state: 'present', notes: [] };
  if (!wanted) {
    if ((await atlas.spool()).windowIsOpen()) return { state: 'absent', notes: [] };
    const asked =
      context.interactive && (await context.ask('Install git hooks that record a checkpoint on each commit? [y/N] '));
    if (!asked) return { state: 'absent', notes: ['To record a checkpoint on each commit, run: atlas hook install'] };
  }
  const installed = await hooks.install(folder, { command: atlasCommand(context.env) });
  if (!installed.ok) return { state: 'absent', notes: [installed.error.message] };
  const { instructions = [], notes } = installed.value;
  return { state: instructions.length === 0 ? 'installed' : 'absent', notes: [...notes, ...instructions] };
}
