import { type Result, ok } from '../core/errors';
import { answering } from './answering';
import { type Parsed, commandNamed, parseCommandLine, wantsJson, wantsQuiet } from './commandLine';
import { COMMANDS } from './commands';
import { CliContext, type Surroundings, VERSION } from './context';
import { type Answer, EXIT, type Streams } from './output';
import { fitted } from './table';

/** How wide help is where there is no terminal, in characters. */
const HELP_COLUMNS = 100;

/** Runs one command line and gives what to exit with. */
export async function runCli(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const { streams } = surroundings;
  const parsed = parse(args, streams);
  // After `run`, what looks like an option of ours may be its agent's: only the parser knows.
  const said = parsed.ok && parsed.value.kind === 'call' ? parsed.value : undefined;
  const json = said?.call.flag('json') ?? wantsJson(args);
  const context = new CliContext(surroundings, json, said?.call.flag('quiet') ?? wantsQuiet(args));
  const name = (said?.spec ?? commandNamed(args, COMMANDS))?.name ?? '';
  return answering({ name, byHost: args[0] === 'lifecycle' }, context, async () => answerOf(parsed, context));
}

async function answerOf(parsed: Result<Parsed>, context: CliContext): Promise<Result<Answer>> {
  if (!parsed.ok) return parsed;
  const { value } = parsed;
  if (value.kind === 'call') return (await value.spec.load())(context, value.call);
  return ok({
    exit: EXIT.done,
    text: fitted(value.text, context.streams.columns, 4),
    wanted: true,
    data: { help: value.text },
  });
}

function parse(args: readonly string[], { columns = HELP_COLUMNS }: Streams): Result<Parsed> {
  return parseCommandLine(args, COMMANDS, { version: VERSION, columns });
}
