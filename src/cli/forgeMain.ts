import path from 'node:path';
import { useCompileCache } from '../system/compileCache';
import { processSurroundings } from './environment';
import { VERSION } from './version';

/** The same program by the name that the hooks of workers go by: `forge hook …` is `atlas worker …`. */
async function run(args: readonly string[]): Promise<void> {
  process.exitCode = await (
    await import('./run')
  ).runCli(args, processSurroundings(path.join(__dirname, 'cli.js')), 'forge');
}

useCompileCache(path.join(__dirname, 'cache'), VERSION);
void run(process.argv.slice(2));
