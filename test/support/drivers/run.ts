import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** How {@link run} starts a command. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** `inherit` shows the command's output and returns an empty string; `pipe` (default) returns it. */
  readonly output?: 'inherit' | 'pipe';
}

/** Runs a command to its end and returns its standard output without the last newline; rejects on another exit code than 0. */
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const shown = options.output === 'inherit';
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: options.env,
    stdio: ['ignore', shown ? 'inherit' : 'pipe', shown ? 'inherit' : 'pipe'],
    shell: process.platform === 'win32' && command === 'npm', // a .cmd file there
  });
  let out = '';
  let err = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (err += chunk));
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  if (code !== 0) throw new Error(`${command} ${args.join(' ')}: ended with ${signal ?? code ?? '?'}\n${err}`);
  return out.replace(/\r?\n$/, '');
}
