import { realpathSync } from 'node:fs';
import { AtlasError, unwrap } from '../../../core/shared/errors';
import { count, oneLine } from '../../../core/shared/text';
import type { GitHookReport } from '../../../service/git/gitHooks';
import { LAUNCHER_VARIABLE } from '../../../system/launcher/launcher';
import type { Call } from '../../parse/call';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import { type Answer, EXIT } from '../../render/output';
import type { AnswerData } from '../schemas';
import { table } from '../../render/table';

/** How hooks start this very command: by the editor's launcher, whose path outlives updates, else as it was started now. */
export function atlasCommand(env: NodeJS.ProcessEnv): readonly string[] {
  const launcher = env[LAUNCHER_VARIABLE];
  if (launcher !== undefined && launcher !== '') return [launcher];
  return [process.execPath, realpathSync(process.argv[1] ?? '')];
}

/** `hook install`: git tells Atlas of commits and pushes. */
export const installHooks: Handler = async (context, call) => {
  const hooks = await (await context.atlas()).gitHooks();
  const found = await hooks.inspect(context.folder);
  const outside = found.ok && found.value.linkedOutside;
  if (outside) await confirmOutside(context, call, found.value.folder);
  const wish = { command: atlasCommand(context.env), force: call.flag('force'), outside };
  const done = unwrap(await hooks.install(context.folder, wish));
  const managed = (done.instructions ?? []).length > 0;
  const what = done.changed ? 'Installed the git hooks.' : 'The git hooks are already installed.';
  const byHand = 'The git hooks were not installed. Add them by hand, as shown below.';
  return answerOf(context, done, managed ? byHand : what);
};

const LINKED = "This repository's git hooks are a symbolic link to";

/** Hooks that a link leads out of the repository with are installed only where somebody says so. */
async function confirmOutside(context: CliContext, call: Call, folder: string): Promise<void> {
  const sure = await context.confirm(
    `${LINKED} ${oneLine(folder, 500)}, outside the repository. Install the git hooks there?`,
    call.flag('yes'),
  );
  if (!sure) throw new AtlasError('cancelled', 'Nothing was changed.');
}

/** `hook uninstall`: takes the hooks out; what was there before stays, byte for byte. */
export const uninstallHooks: Handler = async (context) => {
  const hooks = await (await context.atlas()).gitHooks();
  const done = unwrap(await hooks.uninstall(context.folder));
  return answerOf(context, done, done.changed ? 'Removed the git hooks.' : 'No git hooks of Atlas are installed.');
};

function answerOf({ streams }: CliContext, report: GitHookReport, what: string): Answer {
  const { folder, hooks, manager, instructions = [], notes } = report;
  const data: AnswerData<'hook install'> = {
    hooks_folder: folder,
    changed: report.changed,
    manager: manager ?? null,
    hooks: hooks.map(({ name, path, state, problem }) => ({ name, path, state, problem: problem ?? null })),
    instructions: [...instructions],
  };
  const rows = hooks.map(({ name, state, path, problem }) => [name, state, problem ?? path]);
  const text = `${what}\n${table(['HOOK', 'STATE', { flexible: 'FILE' }], rows, streams.columns)}`;
  const lines = instructions.map((line) => `${oneLine(line, 500)}\n`).join('');
  return { exit: EXIT.done, text: lines === '' ? text : `${text}\n${lines}`, data, notes };
}

/** `spool drain`: turns what git hooks noted into checkpoints. Started by the hooks themselves. */
export const drainSpool: Handler = async (context) => {
  // The terminal that the commit was made in may close, or get a Ctrl+C, before this is done.
  for (const signal of ['SIGHUP', 'SIGINT'] as const) process.on(signal, () => undefined);
  const { events, checkpoints, kept } = unwrap(await (await (await context.atlas()).spool()).drain());
  const data: AnswerData<'spool drain'> = {
    turned: events,
    checkpoints: checkpoints.length,
    kept: kept.map(({ name, reason }) => ({ name, why: reason })),
  };
  const text = `Processed ${count(events, 'git hook event')} and recorded ${count(checkpoints.length, 'checkpoint')}.\n`;
  const left = `${count(kept.length, 'git hook event')} could not be processed. For details, run: atlas doctor`;
  return { exit: EXIT.done, text, data, notes: kept.length === 0 ? [] : [left] };
};
