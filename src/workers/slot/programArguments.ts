import spawn from 'cross-spawn';

/** What cross-spawn makes of a command line on Windows, which its types leave out. */
interface ParsedCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly options: { readonly windowsVerbatimArguments?: boolean };
}
type Parse = (command: string, args: readonly string[], options: object) => ParsedCommand;

/**
 * What is started for a program and its arguments. On Windows that is where the program is found, through a shell where it is a batch
 * file (npm's are), and every argument written so that the program reads it as it was given.
 */
export function programArguments(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): string[] {
  const [program = '', ...args] = argv;
  if (platform !== 'win32') return [...argv];
  const parse = (spawn as unknown as { readonly _parse: Parse })._parse;
  const parsed = parse(program, args, { env });
  const isWritten = parsed.options.windowsVerbatimArguments === true;
  return [parsed.command, ...(isWritten ? parsed.args : parsed.args.map(quotedForWindows))];
}

/** Backslashes count only before a quote; see learn.microsoft.com/cpp/cpp/main-function-command-line-args. */
export function quotedForWindows(argument: string): string {
  if (/^[^\s"]+$/u.test(argument)) return argument;
  return `"${argument.replaceAll(/(\\*)"/gu, '$1$1\\"').replace(/(\\+)$/u, '$1$1')}"`;
}
