import { AtlasError, type Result, unwrap } from '../core/shared/errors';
import type { Atlas } from '../service/atlas';
import type { ServicePorts } from '../service/ports';
import { answering } from './render/answering';
import {
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
import { type Answer, EXIT } from './render/output';
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
  const specs = program === 'atlas' ? COMMANDS : WORKER_COMMANDS.map(asForge);
  const { columns = HELP_COLUMNS } = surroundings.streams;
  const parsed = parseCommandLine(args, specs, { version: VERSION, columns, program });
  // After `run`, what looks like an option of ours may be its agent's: only the parser knows.
  const said = parsed.ok && parsed.value.kind === 'call' ? parsed.value : undefined;
  const json = said?.call.flag('json') ?? wantsJson(args);
  const context = new CliContext(surroundings, json, said?.call.flag('quiet') ?? wantsQuiet(args));
  const called = (said?.spec ?? commandNamed(args, specs))?.name ?? '';
  const name = program === 'atlas' ? called : nameFromForge(called);
  return answering({ name, byHost: args[0] === 'lifecycle' }, context, async () => answerOf(parsed, context));
}

/** Runs a command line if it names one of these commands; `undefined` where it doesn't. */
export async function runNamed(
  names: ReadonlySet<string>,
  args: readonly string[],
  surroundings: Surroundings,
): Promise<number | undefined> {
  const name = commandNamed(args, COMMANDS)?.name;
  return name !== undefined && names.has(name) ? runCli(args, surroundings) : undefined;
}

/** What changes tasks, for the bundles that only read until there is something to record. */
export async function drivingAtlas(ports: ServicePorts): Promise<Atlas> {
  const { createAtlas } = await import('../service/createAtlas');
  return createAtlas(ports).drive();
}

async function answerOf(parsed: Result<Parsed>, context: CliContext): Promise<Answer> {
  const value = unwrap(parsed);
  if (value.kind === 'call') {
    checkFolder(context, value.spec.name);
    const { noticeBefore } = await import('./commands/task/configNotice');
    await noticeBefore(value.spec.name, context);
    return (await value.spec.load())(context, value.call);
  }
  const text = fitted(value.text, context.streams.columns, 4);
  return { exit: EXIT.done, text, wanted: true, data: { help: value.text } };
}

/** Hooks of agents' hosts say it themselves, and keep nobody from anything. */
function checkFolder({ folderProblem }: CliContext, command: string): void {
  if (folderProblem === undefined || command.startsWith('lifecycle ')) return;
  const hint = 'Rename the folder, or run atlas in a folder whose path is valid UTF-8.';
  throw new AtlasError('unsafe_path', folderProblem, { hint });
}
