import type { QuickHook } from './hookMain';
import { processSurroundings } from './surroundings';

const EVENTS: readonly QuickHook['event'][] = ['session-start', 'stop', 'subagent-stop'];
const HOSTS: readonly (QuickHook['host'] | undefined)[] = ['claude', 'vscode', 'codex', 'gemini', 'cursor'];

/**
 * What hosts call while an agent waits, written as the installer writes it: for that, a part of the program is enough, and
 * reading the rest of it takes as long as the answer. Everything else is parsed as any command.
 */
function quickHook([family, name, flag, host, ...more]: readonly string[]): QuickHook | undefined {
  const event = EVENTS.find((each) => each === name);
  const known = HOSTS.find((each) => each === host);
  if (family !== 'lifecycle' || event === undefined || flag !== '--host' || known === undefined) return undefined;
  return more.length === 0 ? { event, host: known } : undefined;
}

async function run(args: readonly string[]): Promise<number> {
  const hook = quickHook(args);
  if (hook !== undefined) return (await import('./hookMain')).runHook(hook, processSurroundings());
  return (await import('./run')).runCli(args, processSurroundings());
}

void run(process.argv.slice(2)).then((exit) => {
  process.exitCode = exit;
});
