import { type AtlasError, type AtlasErrorCode, type Result, messageOf, ok } from '../core/errors';
import { oneLine } from '../core/text';
import { type Parsed, commandNamed, parseCommandLine, wantsJson, wantsQuiet } from './commandLine';
import { COMMANDS } from './commands';
import { CliContext, type Surroundings, VERSION } from './context';
import { type Answer, EXIT, type ErrorData, type Streams, answerJson, errorJson, exitOf } from './output';
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
  const failed = (error: ErrorData): void => {
    if (context.json) streams.out(errorJson(name, error));
    else streams.err(fitted(errorText(error), streams.errColumns));
  };
  // A host takes 2 for an order to go on, which only an intended block is.
  const exit = (code: AtlasErrorCode): number =>
    args[0] === 'lifecycle' && exitOf(code) === EXIT.usage ? EXIT.failed : exitOf(code);
  try {
    const answer = await answerOf(parsed, context);
    if (answer.ok) {
      say(name, answer.value, context);
      return answer.value.exit;
    }
    failed(answer.error);
    return exit(answer.error.code);
  } catch (error) {
    const known = error as Partial<AtlasError>;
    if (error instanceof Error && known.name === 'AtlasError' && known.code !== undefined) {
      failed({ code: known.code, message: error.message, mend: known.mend });
      return exit(known.code);
    }
    failed({ code: 'unexpected', message: `Unexpected: ${messageOf(error)}` });
    return EXIT.failed;
  }
}

function say(name: string, answer: Answer, { streams, json, quiet }: CliContext): void {
  if (json) {
    streams.out(answerJson(name, answer));
    return;
  }
  const notes = quiet ? [] : (answer.notes ?? []);
  for (const note of notes) streams.err(fitted(`atlas: ${oneLine(note, 500)}\n`, streams.errColumns));
  if (!quiet || answer.wanted === true || answer.error !== undefined) streams.out(answer.text);
}

/** An error for people; its lines (a list of tasks) stay lines, each made plain. */
function errorText({ message, mend }: ErrorData): string {
  const lines = [...message.split('\n'), ...(mend === undefined ? [] : [mend])];
  return `atlas: ${lines.map((line) => `${/^\s*/u.exec(line)?.[0] ?? ''}${oneLine(line, 500)}`).join('\n')}\n`;
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
