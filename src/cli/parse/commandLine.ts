import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { type Result, fail, ok } from '../../core/shared/errors';
import { oneLine } from '../../core/shared/text';
import { Call } from './call';
import { PROGRAM_TEXTS, groupText } from './groups';
import type { CliContext } from '../context';
import type { Answer } from '../render/output';

/** An argument that a command takes. */
export interface Operand {
  /** As usage shows it: `<name>` is needed, `[name]` is not, `…` at the end takes the rest. */
  readonly usage: string;
  readonly does: string;
  readonly choices?: readonly string[];
}

/** An option that a command takes. */
export interface OptionSpec {
  /** As usage shows it: `-t, --template <name>`; without a value it is a flag. */
  readonly flags: string;
  readonly does: string;
  readonly choices?: readonly string[];
  /** May be given several times. */
  readonly list?: true;
}

/** A command of `atlas`. */
export interface CommandSpec {
  /** As it is typed, `step start`. */
  readonly name: string;
  /** One line on what it does. */
  readonly does: string;
  readonly operands?: readonly Operand[];
  readonly options?: readonly OptionSpec[];
  /** Options may stand among the operands; where one of them takes the rest, what is not ours stands behind `--`. */
  readonly interleaved?: true;
  readonly example: string;
  /** Neither shown in the help nor completed: programs call it. */
  readonly hidden?: true;
  /** Loads what does it, which other commands need not. */
  load(): Promise<Handler>;
}

/** Does what a command is for; throws what a caller can cause as an AtlasError. */
export type Handler = (context: CliContext, call: Call) => Promise<Answer>;

/** What a command line asks for. */
export type Parsed =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly spec: CommandSpec; readonly call: Call };

/** Where a program's help is shown, and what it says of itself. */
export interface ProgramTexts {
  readonly version: string;
  /** What it was called as. */
  readonly program: 'atlas' | 'forge';
  readonly columns: number;
}

const EVERYWHERE = [
  ['--json', 'print one JSON document to standard output'],
  ['-q, --quiet', 'print only what was asked for'],
] as const;

/** They may stand before the words that name a command; what follows any other option may be its value. */
const GLOBAL_FLAGS: ReadonlySet<string> = new Set(
  EVERYWHERE.flatMap(([flags]) => flags.split(', ')).concat('-h', '--help'),
);

function ownArguments(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? undefined : end);
}

/** Whether an answer as one JSON document is asked for, however wrong the rest of the line is. */
export function wantsJson(args: readonly string[]): boolean {
  return ownArguments(args).includes('--json');
}

/** Whether texts that nobody asked for are to be left out. */
export function wantsQuiet(args: readonly string[]): boolean {
  return ownArguments(args).some((arg) => arg === '--quiet' || arg === '-q');
}

/** Which command the words of a line name, if any: the longest that fits. */
export function commandNamed(args: readonly string[], specs: readonly CommandSpec[]): CommandSpec | undefined {
  const words = ownArguments(args).filter((arg) => !GLOBAL_FLAGS.has(arg));
  return specs
    .filter(({ name }) => name.split(' ').every((word, index) => words[index] === word))
    .sort((a, b) => b.name.length - a.name.length)[0];
}

/** Reads a command line. Fails with `usage`. */
export function parseCommandLine(
  args: readonly string[],
  specs: readonly CommandSpec[],
  texts: ProgramTexts,
): Result<Parsed> {
  const written: string[] = [];
  const found: { parsed?: Parsed } = {};
  const named = commandNamed(args, specs);
  const program = programOf(
    // The others need not be made, unless what is named is a group whose help lists them.
    named === undefined ? specs : [named],
    texts,
    (text) => written.push(text),
    (spec, call) => {
      found.parsed = { kind: 'call', spec, call };
    },
  );
  try {
    if (args.every((arg) => arg.startsWith('-') && arg !== '--' && !/^(-V|--version)$/u.test(arg))) {
      if (!args.some((arg) => !['--json', '-q', '--quiet', '-h', '--help'].includes(arg))) program.help();
    }
    program.parse([...args], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return ok({ kind: 'text', text: written.join('') });
    const name = commandNamed(args, specs)?.name;
    const hint = `See: ${texts.program} ${name === undefined ? '' : `${name} `}--help`;
    return fail('usage', error.code === 'commander.help' ? incomplete(args, specs, texts) : sentence(error), { hint });
  }
  return found.parsed === undefined
    ? fail('usage', 'No command given.', { hint: `See: ${texts.program} --help` })
    : ok(found.parsed);
}

/** What can follow the words that name a group of commands. */
function incomplete(args: readonly string[], specs: readonly CommandSpec[], { program }: ProgramTexts): string {
  const words = ownArguments(args).filter((arg) => !arg.startsWith('-'));
  const [group = ''] = words;
  const next = specs.flatMap(({ name }) => (name.startsWith(`${group} `) ? [name.slice(group.length + 1)] : []));
  return `"${program} ${oneLine(group, 40)}" needs one of: ${next.join(', ')}.`;
}

/** What the parser says, as a sentence: `error: unknown option '--x'` begins in small letters. */
function sentence({ message }: CommanderError): string {
  const text = message.replace(/^error: /u, '').replaceAll('\n', ' ');
  return `${text.charAt(0).toUpperCase()}${oneLine(text.slice(1), 500)}${/[.)?]$/u.test(text) ? '' : '.'}`;
}

function programOf(
  specs: readonly CommandSpec[],
  { version, columns, program: programName }: ProgramTexts,
  write: (text: string) => void,
  call: (spec: CommandSpec, call: Call) => void,
): Command {
  const settle = (command: Command): Command => {
    for (const [flags, does] of EVERYWHERE) command.option(flags, does);
    return command
      .exitOverride()
      .configureOutput({
        writeOut: write,
        writeErr: write,
        getOutHelpWidth: () => columns,
        getErrHelpWidth: () => columns,
      })
      .helpOption('-h, --help', 'show help for a command')
      .helpCommand(false)
      .enablePositionalOptions();
  };
  const program = settle(new Command(programName))
    .description(PROGRAM_TEXTS[programName])
    .version(version, '-V, --version', 'show the version');
  const groups = new Map<string, Command>();
  for (const spec of specs) {
    const words = spec.name.split(' ');
    const last = words.pop() ?? '';
    let parent = program;
    for (const [index] of words.entries()) {
      const name = words.slice(0, index + 1).join(' ');
      const group = groups.get(name) ?? groupOf(parent, name, settle, specs, programName);
      groups.set(name, group);
      parent = group;
    }
    const own = groups.get(spec.name) ?? settle(parent.command(last, { hidden: spec.hidden === true }));
    groups.set(spec.name, own);
    describe(own, spec, call);
  }
  return program;
}

function groupOf(
  parent: Command,
  name: string,
  settle: (command: Command) => Command,
  specs: readonly CommandSpec[],
  program: ProgramTexts['program'],
): Command {
  const members = specs.filter((spec) => spec.name.startsWith(`${name} `));
  const hidden = members.every((spec) => spec.hidden === true);
  return settle(parent.command(name.split(' ').at(-1) ?? '', { hidden })).description(groupText(name, program));
}

function describe(command: Command, spec: CommandSpec, call: (spec: CommandSpec, call: Call) => void): void {
  command.description(spec.does).addHelpText('after', `\nExample:\n  ${spec.example}`);
  for (const { usage, does, choices } of spec.operands ?? []) {
    const argument = new Argument(usage.replace('…', '...'), does);
    command.addArgument(choices === undefined ? argument : argument.choices(choices));
  }
  for (const { flags, does, choices, list } of spec.options ?? []) {
    const option = new Option(flags, does);
    if (choices !== undefined) option.choices(choices);
    if (choices === undefined && flags.includes('<')) option.argParser(valueReader(list === true));
    command.addOption(option);
  }
  const takesRest = spec.operands?.at(-1)?.usage.includes('…') === true;
  if (takesRest && spec.interleaved !== true) command.passThroughOptions();
  command.action((...received: unknown[]) => {
    const values = received.slice(0, spec.operands?.length ?? 0);
    const rest = values.find((value): value is string[] => Array.isArray(value)) ?? [];
    const operands = values.map((value) => (typeof value === 'string' ? value : undefined));
    call(spec, new Call(operands, rest, command.optsWithGlobals()));
  });
}

/** Reads an option's value. Another option in its place means that the value was forgotten. */
function valueReader(list: boolean): (value: string, before: unknown) => unknown {
  return (value, before) => {
    if (/^--[a-z]/u.test(value)) throw new InvalidArgumentError('It is followed by another option instead of a value.');
    return list ? [...(Array.isArray(before) ? (before as string[]) : []), value] : value;
  };
}
