import { type Result, messageOf, ok } from '../core/errors';
import { oneLine } from '../core/text';
import { type Command, commandOf, helpOf, parseCommandLine, wantsJson } from './commandLine';
import {
  type Answer,
  EXIT,
  type ErrorData,
  type ExitCode,
  type Streams,
  answerJson,
  errorJson,
  exitOf,
} from './output';

/** Everything that `atlas` can be told to do. */
const COMMANDS: readonly Command[] = [
  {
    name: 'receipts verify',
    does: 'Checks a bundle of receipts with public keys alone; needs no store.',
    operands: ['bundle.json'],
    options: { keys: { value: 'receipts.pub.json', does: "Trusts these public keys instead of the bundle's own." } },
    example: 'atlas receipts verify receipts.json --keys receipts.pub.json',
    load: async () => (await import('./receipts')).verify,
  },
];

/** Runs one command line and gives what to exit with. */
export async function runCli(args: readonly string[], streams: Streams): Promise<ExitCode> {
  const json = wantsJson(args);
  const name = commandOf(args, COMMANDS)?.name ?? '';
  const failed = (error: ErrorData): void => {
    if (json) streams.out(errorJson(name, error));
    else
      streams.err(
        `atlas: ${[error.message, error.mend ?? '']
          .map((text) => oneLine(text, 500))
          .join('\n')
          .trimEnd()}\n`,
      );
  };
  try {
    const answer = await answerOf(args);
    if (answer.ok) {
      streams.out(json ? answerJson(name, answer.value) : answer.value.text);
      return answer.value.exit;
    }
    failed(answer.error);
    return exitOf(answer.error.code);
  } catch (error) {
    failed({ code: 'unexpected', message: `Unexpected: ${messageOf(error)}` });
    return EXIT.failed;
  }
}

async function answerOf(args: readonly string[]): Promise<Result<Answer>> {
  const parsed = parseCommandLine(args, COMMANDS);
  if (!parsed.ok) return parsed;
  const { value } = parsed;
  if (value.kind === 'call') return (await value.command.load())(value.call);
  const text = helpOf(value.command, COMMANDS);
  return ok({ exit: EXIT.done, text, data: { help: text } });
}
