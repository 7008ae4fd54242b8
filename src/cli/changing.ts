import type { Surroundings } from './context';
import { runNamed } from './run';

export { drivingAtlas } from './run';

/** How agents change tasks all day, and HOOK.md as it is now: their handlers, and what those need, are in this file. */
export const CHANGING: ReadonlySet<string> = new Set([
  'checkpoint',
  'hook show',
  ...['start', 'note', 'output', 'complete', 'ask', 'fail'].map((name) => `step ${name}`),
]);

/** Runs a command line as `runCli` does; `undefined` where it asks for another command, which is in the whole program. */
export async function runChanging(args: readonly string[], surroundings: Surroundings): Promise<number | undefined> {
  return runNamed(CHANGING, args, surroundings);
}
