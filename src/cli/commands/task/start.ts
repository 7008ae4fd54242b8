import { type AtlasError, type Result, fail, ok } from '../../../core/shared/errors';
import type { Atlas } from '../../../service/atlas';
import { refusedIssues } from '../../../service/tasks/configIssues';
import { knownWorkspace } from '../../../service/tasks/taskChoice';
import type { Updated } from '../../../core/task/storedTask';
import type { Call } from '../../parse/call';
import { configNotice } from './configNotice';
import { announceStart } from './consent';
import type { CliContext } from '../../context';
import { atlasCommand } from '../maintenance/gitHooks';
import { type Answer } from '../../render/output';
import type { AnswerData } from '../schemas';
import { changed } from './taskAnswer';

/** What is known of a repository's git hooks after a start. */
type HooksAfterStart = AnswerData<'start'>['git_hooks'];

/** `start`: a new task. */
export async function start(context: CliContext, call: Call): Promise<Result<Answer>> {
  const atlas = await context.drive();
  const folder = folderOf(atlas, context, call.text('workspace'));
  if (!folder.ok) return folder;
  const ignoring = await ignoreConfig(context, call, folder.value);
  if (!ignoring.ok) return ignoring;
  const started = await atlas.startTask({
    title: call.operands[0] ?? '',
    template: call.text('template') ?? 'task',
    folder: folder.value,
    ignoreConfig: call.flag('ignoreConfig'),
  });
  if (!started.ok) return withIgnoring(context, started.error);
  // Shown first: what nobody saw is not allowed.
  const announced = await announceStart(context, atlas, started.value);
  if (context.caller === 'human') await atlas.allowCommands(started.value);
  const hooks = await offerHooks(context, atlas, started.value, call.flag('gitHooks'));
  const driven = { atlas, stored: started.value, notes: hooks.notes, expect: {} };
  const data = {
    git_hooks: hooks.state,
    commands: [...announced.commands],
    replaces_templates: [...announced.replaces],
  } satisfies Partial<AnswerData<'start'>>;
  return ok(changed(context, driven, started.value, `Started task ${started.value.ref.id}.`, data));
}

function folderOf(atlas: Atlas, context: CliContext, workspace: string | undefined): Result<string> {
  if (workspace === undefined) return ok(context.folder);
  const known = knownWorkspace(atlas.reader, workspace);
  if (!known.ok) return known;
  const read = atlas.workspaces.read(workspace);
  return read.ok ? ok(read.value.repo_path ?? context.folder) : read;
}

/** With `--ignore-config`, says what is ignored. To leave out checks is a human's choice. */
async function ignoreConfig(context: CliContext, call: Call, folder: string): Promise<Result<void>> {
  if (!call.flag('ignoreConfig')) return ok(undefined);
  const human = context.humanOnly('start a task with part of its configuration ignored');
  if (human.ok) await configNotice(context, folder);
  return human;
}

/** A refusal for mistakes in the configuration, with the way around it that a human has. */
function withIgnoring(context: CliContext, error: AtlasError): Result<never> {
  if (refusedIssues(error).length === 0 || context.agent !== undefined) return { ok: false, error };
  const hint = `${error.hint ?? ''} To start it anyway, add --ignore-config.`;
  return fail(error.code, error.message, { hint, cause: error.cause });
}

/** Without git hooks and without a window nobody sees commits: they are offered, never put in unasked. */
async function offerHooks(
  context: CliContext,
  atlas: Atlas,
  { task }: Updated,
  wanted: boolean,
): Promise<{ state: HooksAfterStart; notes: string[] }> {
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
