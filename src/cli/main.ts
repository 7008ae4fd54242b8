import type { QuickHook } from './hookMain';
import path from 'node:path';
import { useCompileCache } from '../system/compileCache';
import { processSurroundings } from './environment';
import { isAllWritten } from './standardOutput';
import { VERSION } from './version';

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

/** What may follow `checkpoint` and makes another command of it, which is in the whole program. */
const OF_CHECKPOINTS = ['list', 'show', 'diff', 'restore', 'undo-restore', 'capture'];

/**
 * Which part of the program is enough, by the first words: what agents call all day and wait for, needs less than half of it.
 * The parts themselves know their commands; a wrong guess only takes its time.
 */
function partFor([first, second = '']: readonly string[]): 'reading' | 'changing' | undefined {
  if (first === 'status' || (first === 'hook' && (second === 'synopsis' || second === 'status'))) return 'reading';
  if (first === 'step' || (first === 'hook' && second === 'show')) return 'changing';
  return first === 'checkpoint' && !OF_CHECKPOINTS.includes(second) ? 'changing' : undefined;
}

async function runCommand(args: readonly string[], program: string): Promise<number> {
  const surroundings = processSurroundings(program);
  const part = partFor(args);
  let code: number | undefined;
  if (part === 'reading') code = await (await import('./reading')).runReading(args, surroundings);
  if (part === 'changing') code = await (await import('./changing')).runChanging(args, surroundings);
  return code ?? (await import('./run')).runCli(args, surroundings);
}

async function run(args: readonly string[]): Promise<void> {
  const program = path.join(__dirname, 'cli.js');
  const hook = quickHook(args);
  if (hook === undefined) {
    process.exitCode = await runCommand(args, program);
    if (args[0] !== 'lifecycle') return;
  } else process.exitCode = await (await import('./hookMain')).runHook(hook, processSurroundings(program));
  // The agent waits until this process is gone: an open pipe is not waited for. What is still to be written is.
  if (isAllWritten()) process.exit();
}

useCompileCache(path.join(__dirname, 'cache'), VERSION);
void run(process.argv.slice(2));
