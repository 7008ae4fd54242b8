import { realpathSync } from 'node:fs';
import { type Result, fail, ok } from '../../../core/shared/errors';
import { count, oneLine } from '../../../core/shared/text';
import type { GitHookReport } from '../../../service/git/gitHooks';
import { LAUNCHER_VARIABLE } from '../../../system/launcher/launcher';
import type { Call } from '../../parse/call';
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
export async function installHooks(context: CliContext, call: Call): Promise<Result<Answer>> {
  const hooks = await (await context.atlas()).gitHooks();
  const found = await hooks.inspect(context.folder);
  const outside = found.ok && found.value.linkedOutside;
  const sure = outside ? await confirmOutside(context, call, found.value.folder) : ok(undefined);
  if (!sure.ok) return sure;
  const wish = { command: atlasCommand(context.env), force: call.flag('force'), outside };
  const done = await hooks.install(context.folder, wish);
  if (!done.ok) return done;
  const managed = (done.value.instructions ?? []).length > 0;
  return ok(
    answerOf(
      context,
      done.value,
      managed
        ? 'The git hooks were not installed. Add them by hand, as shown below.'
        : done.value.changed
          ? 'Installed the git hooks.'
          : 'The git hooks are already installed.',
    ),
  );
}

const LINKED = "This repository's git hooks are a symbolic link to";

/** Hooks that a link leads out of the repository with are installed only where somebody says so. */
async function confirmOutside(context: CliContext, call: Call, folder: string): Promise<Result<void>> {
  const sure = await context.confirm(
    `${LINKED} ${oneLine(folder, 500)}, outside the repository. Install the git hooks there?`,
    call.flag('yes'),
  );
  if (!sure.ok) return sure;
  return sure.value ? ok(undefined) : fail('cancelled', 'Nothing was changed.');
}

/** `hook uninstall`: takes the hooks out; what was there before stays, byte for byte. */
export async function uninstallHooks(context: CliContext): Promise<Result<Answer>> {
  const hooks = await (await context.atlas()).gitHooks();
  const done = await hooks.uninstall(context.folder);
  if (!done.ok) return done;
  return ok(
    answerOf(
      context,
      done.value,
      done.value.changed ? 'Removed the git hooks.' : 'No git hooks of Atlas are installed.',
    ),
  );
}

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
  const text = `${what}\n${table([{ title: 'HOOK' }, { title: 'STATE' }, { title: 'FILE', flexible: true }], rows, streams.columns)}`;
  const lines = instructions.map((line) => `${oneLine(line, 500)}\n`).join('');
  return { exit: EXIT.done, text: lines === '' ? text : `${text}\n${lines}`, data, notes };
}

/** `spool drain`: turns what git hooks noted into checkpoints. Started by the hooks themselves. */
export async function drainSpool(context: CliContext): Promise<Result<Answer>> {
  // The terminal that the commit was made in may close, or get a Ctrl+C, before this is done.
  for (const signal of ['SIGHUP', 'SIGINT'] as const) process.on(signal, () => undefined);
  const drained = await (await (await context.atlas()).spool()).drain();
  if (!drained.ok) return drained;
  const { events, checkpoints, kept } = drained.value;
  const data: AnswerData<'spool drain'> = {
    turned: events,
    checkpoints: checkpoints.length,
    kept: kept.map(({ name, reason }) => ({ name, why: reason })),
  };
  const text = `Processed ${count(events, 'git hook event')} and recorded ${count(checkpoints.length, 'checkpoint')}.\n`;
  if (kept.length === 0) return ok({ exit: EXIT.done, text, data });
  return ok({
    exit: EXIT.done,
    text,
    data,
    notes: [`${count(kept.length, 'git hook event')} could not be processed. For details, run: atlas doctor`],
  });
}
