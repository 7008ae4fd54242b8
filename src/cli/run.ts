import { type AtlasError, type Result, messageOf, ok } from '../core/errors';
import { oneLine } from '../core/text';
import { type Parsed, commandNamed, parseCommandLine, wantsJson, wantsQuiet } from './commandLine';
import { COMMANDS } from './commands';
import { CliContext, type Surroundings, VERSION } from './context';
import { type Answer, EXIT, type ErrorData, type Streams, answerJson, errorJson, exitOf } from './output';

/** How wide help is where there is no terminal, in characters. */
const HELP_COLUMNS = 100;

/** Runs one command line and gives what to exit with. */
export async function runCli(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const { streams } = surroundings;
  const context = new CliContext(surroundings, wantsJson(args), wantsQuiet(args));
  const name = commandNamed(args, COMMANDS)?.name ?? '';
  const failed = (error: ErrorData): void => {
    if (context.json) streams.out(errorJson(name, error));
    else streams.err(errorText(error));
  };
  try {
    const answer = await answerOf(args, context);
    if (answer.ok) {
      say(name, answer.value, context);
      return answer.value.exit;
    }
    failed(answer.error);
    return exitOf(answer.error.code);
  } catch (error) {
    const known = error as Partial<AtlasError>;
    if (error instanceof Error && known.name === 'AtlasError' && known.code !== undefined) {
      failed({ code: known.code, message: error.message, mend: known.mend });
      return exitOf(known.code);
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
  if (!quiet) for (const note of answer.notes ?? []) streams.err(`atlas: ${oneLine(note, 500)}\n`);
  if (!quiet || answer.wanted === true || answer.error !== undefined) streams.out(answer.text);
}

/** An error for people; its lines (a list of tasks) stay lines, each made plain. */
function errorText({ message, mend }: ErrorData): string {
  const lines = [...message.split('\n'), ...(mend === undefined ? [] : [mend])];
  return `atlas: ${lines.map((line) => `${/^\s*/u.exec(line)?.[0] ?? ''}${oneLine(line, 500)}`).join('\n')}\n`;
}

async function answerOf(args: readonly string[], context: CliContext): Promise<Result<Answer>> {
  const parsed = parse(args, context.streams);
  if (!parsed.ok) return parsed;
  const { value } = parsed;
  if (value.kind === 'call') return (await value.spec.load())(context, value.call);
  return ok({ exit: EXIT.done, text: value.text, wanted: true, data: { help: value.text } });
}

function parse(args: readonly string[], { columns = HELP_COLUMNS }: Streams): Result<Parsed> {
  return parseCommandLine(args, COMMANDS, { version: VERSION, columns });
}
