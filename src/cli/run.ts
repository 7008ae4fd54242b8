import { type Result, fail, ok } from '../core/shared/errors';
import { answering } from './render/answering';
import {
  type CommandSpec,
  type Parsed,
  type ProgramTexts,
  commandNamed,
  parseCommandLine,
  wantsJson,
  wantsQuiet,
} from './parse/commandLine';
import { COMMANDS } from './parse/commands';
import { CliContext, type Surroundings } from './context';
import { VERSION } from './version';
import { type Answer, EXIT, type Streams } from './render/output';
import { fitted } from './render/table';
import { WORKER_COMMANDS, asForge, nameFromForge } from './commands/worker/workerCommands';

/** How wide help is where there is no terminal, in characters. */
const HELP_COLUMNS = 100;

/**
 * Runs one command line and gives what to exit with.
 * @param program what it was called as: `forge` knows only the hooks of workers, as `forge hook …`
 */
export async function runCli(
  args: readonly string[],
  surroundings: Surroundings,
  program: ProgramTexts['program'] = 'atlas',
): Promise<number> {
  const { streams } = surroundings;
  const specs = program === 'atlas' ? COMMANDS : WORKER_COMMANDS.map(asForge);
  const parsed = parse(args, specs, program, streams);
  // After `run`, what looks like an option of ours may be its agent's: only the parser knows.
  const said = parsed.ok && parsed.value.kind === 'call' ? parsed.value : undefined;
  const json = said?.call.flag('json') ?? wantsJson(args);
  const context = new CliContext(surroundings, json, said?.call.flag('quiet') ?? wantsQuiet(args));
  const called = (said?.spec ?? commandNamed(args, specs))?.name ?? '';
  const name = program === 'atlas' ? called : nameFromForge(called);
  return answering({ name, byHost: args[0] === 'lifecycle' }, context, async () => answerOf(parsed, context));
}

async function answerOf(parsed: Result<Parsed>, context: CliContext): Promise<Result<Answer>> {
  if (!parsed.ok) return parsed;
  const { value } = parsed;
  if (value.kind === 'call') {
    const usable = usableFolder(context, value.spec.name);
    if (!usable.ok) return usable;
    const { noticeBefore } = await import('./commands/task/configNotice');
    await noticeBefore(value.spec.name, context);
    return (await value.spec.load())(context, value.call);
  }
  return ok({
    exit: EXIT.done,
    text: fitted(value.text, context.streams.columns, 4),
    wanted: true,
    data: { help: value.text },
  });
}

/** Hooks of agents' hosts say it themselves, and keep nobody from anything. */
function usableFolder({ folderProblem }: CliContext, command: string): Result<void> {
  if (folderProblem === undefined || command.startsWith('lifecycle ')) return ok(undefined);
  const hint = 'Rename the folder, or run atlas in a folder whose path is valid UTF-8.';
  return fail('unsafe_path', folderProblem, { hint });
}

function parse(
  args: readonly string[],
  specs: readonly CommandSpec[],
  program: ProgramTexts['program'],
  { columns = HELP_COLUMNS }: Streams,
): Result<Parsed> {
  return parseCommandLine(args, specs, { version: VERSION, columns, program });
}
