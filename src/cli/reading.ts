import type { Surroundings } from './context';
import { runNamed } from './run';

/** What is asked of tasks all day: their handlers, and what those need, are in this file. */
export const ASKING: ReadonlySet<string> = new Set(['status', 'hook status', 'hook synopsis']);

/** Runs a command line as `runCli` does; `undefined` where it asks for another command, which is in the whole program. */
export async function runReading(args: readonly string[], surroundings: Surroundings): Promise<number | undefined> {
  return runNamed(ASKING, args, surroundings);
}
