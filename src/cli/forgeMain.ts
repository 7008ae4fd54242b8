import { processSurroundings } from './environment';

/** The same program by the name that the hooks of workers go by: `forge hook …` is `atlas worker …`. */
async function run(args: readonly string[]): Promise<void> {
  process.exitCode = await (await import('./run')).runCli(args, processSurroundings(), 'forge');
}

void run(process.argv.slice(2));
