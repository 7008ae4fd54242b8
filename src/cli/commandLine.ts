import { type ParseArgsConfig, parseArgs } from 'node:util';
import { type Result, fail, messageOf, ok } from '../core/errors';
import { oneLine } from '../core/text';
import type { Answer } from './output';

/** A command of the family that its first words name. */
export interface Command {
  /** As it is typed, `receipts verify`. */
  readonly name: string;
  /** One line on what it does. */
  readonly does: string;
  /** What its arguments are called; all are needed. */
  readonly operands: readonly string[];
  /** Options with a value: what the value is called. */
  readonly options: Readonly<Record<string, { readonly value: string; readonly does: string }>>;
  readonly example: string;
  /** Loads what does it, which other commands need not. */
  load(): Promise<(call: Call) => Promise<Result<Answer>>>;
}

/** The arguments that a command was given. */
export interface Call {
  /** As many as the command has. */
  readonly operands: readonly string[];
  readonly options: Readonly<Record<string, string | undefined>>;
}

/** What a command line asks for; `command` is absent where it asks for help in general. */
export type Parsed =
  | { readonly kind: 'help'; readonly command: Command | undefined }
  | { readonly kind: 'call'; readonly command: Command; readonly call: Call };

const SEE_HELP = { mend: 'Run atlas --help.' };

/** Whether an answer as one JSON document is asked for, however wrong the rest of the line is. */
export function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? undefined : end).includes('--json');
}

/** Which command the first words of a line name, if any. */
export function commandOf(args: readonly string[], commands: readonly Command[]): Command | undefined {
  return commands.find(({ name }) => name.split(' ').every((word, index) => args[index] === word));
}

/** Reads a command line: the one place that does. Fails with `usage`. */
export function parseCommandLine(args: readonly string[], commands: readonly Command[]): Result<Parsed> {
  const command = commandOf(args, commands);
  if (command === undefined) {
    const word = args.find((arg) => arg !== '--json');
    if (word === undefined || word === '--help' || word === '-h') return ok({ kind: 'help', command: undefined });
    const words = args.filter((arg) => !arg.startsWith('-')).slice(0, 2);
    return fail('usage', `There is no command ${JSON.stringify(oneLine(words.join(' ') || word))}.`, SEE_HELP);
  }
  return parseCall(command, args.slice(command.name.split(' ').length));
}

function parseCall(command: Command, args: readonly string[]): Result<Parsed> {
  const mend = `Usage: ${usageOf(command)}`;
  try {
    const known: NonNullable<ParseArgsConfig['options']> = {
      help: { type: 'boolean', short: 'h' },
      json: { type: 'boolean' },
    };
    for (const name of Object.keys(command.options)) known[name] = { type: 'string' };
    const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options: known });
    if (values['help'] === true) return ok({ kind: 'help', command });
    if (positionals.length !== command.operands.length) {
      const wrong = positionals.length < command.operands.length ? 'lacks an argument' : 'has too many arguments';
      return fail('usage', `"${command.name}" ${wrong}.`, { mend });
    }
    const options: Record<string, string | undefined> = {};
    for (const name of Object.keys(command.options)) {
      const value = values[name];
      if (typeof value === 'string') options[name] = value;
    }
    return ok({ kind: 'call', command, call: { operands: positionals, options } });
  } catch (error) {
    return fail('usage', oneLine(messageOf(error)), { mend });
  }
}

/** How a command is typed. */
export function usageOf({ name, operands, options }: Command): string {
  const optional = Object.entries(options).map(([option, { value }]) => `[--${option} <${value}>]`);
  return ['atlas', name, ...operands.map((operand) => `<${operand}>`), ...optional, '[--json]'].join(' ');
}

/** What `--help` says, of a command or of all. */
export function helpOf(command: Command | undefined, commands: readonly Command[]): string {
  if (command === undefined) {
    const lines = commands.map((each) => `  ${usageOf(each)}\n      ${each.does}`);
    return ['Usage: atlas <command>', '', ...lines, '', 'Each command explains itself with --help.', ''].join('\n');
  }
  const options = Object.entries(command.options).map(
    ([option, { value, does }]) => `  --${option} <${value}>  ${does}\n`,
  );
  return `Usage: ${usageOf(command)}

${command.does}

${options.join('')}  --json  One JSON document on standard output.

Example:
  ${command.example}
`;
}
