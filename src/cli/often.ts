import type { Surroundings } from './context';
import { runNamed } from './run';

export { drivingAtlas } from './run';

/** How agents change tasks all day: their handlers, and what those need, are in this file. */
const CHANGING: ReadonlySet<string> = new Set([
  'checkpoint',
  ...['start', 'note', 'output', 'complete', 'ask', 'fail'].map((name) => `step ${name}`),
]);

/** Runs a command line as `runCli` does; `undefined` where it asks for another command, which is in the whole program. */
export async function runOften(args: readonly string[], surroundings: Surroundings): Promise<number | undefined> {
  return runNamed(CHANGING, args, surroundings);
}
