import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { count, oneLine } from '../../core/shared/text';
import { taskkill } from '../../system/taskkill';
import type { Ids } from '../../core/shared/ports';
import type { EventLog } from '../lifecycle/eventLog';
import type { Host, HostEvent } from '../hosts/hosts';
import { isFound } from './hookStart';
import { CHECK_VARIABLE } from '../lifecycle/lifecycleContext';

const WINDOWS = process.platform === 'win32';
/** How a shell of Unix exits that doesn't find a command. */
const NOT_FOUND = 127;
/** More than any answer has, in bytes. */
const MAX_ANSWER_BYTES = 256 * 1024;
/** Set by a host in its triggers' and cleaning sessions, whose hooks answer nothing. */
const OF_SESSIONS = ['ATLAS_CLEANUP', 'ATLAS_TRIGGER', 'ATLAS_TRIGGER_CHANNEL', 'ATLAS_STOP_GATE', 'ATLAS_TASK'];

/** What a hook answered that was fired as its host would. */
export interface Trial {
  /** What is wrong with it; `undefined` where it works. */
  readonly problem?: string;
  /** How long it took, in ms, with the start of its shell and program. */
  readonly ms: number;
}

interface Answered {
  readonly out: string;
  readonly err: string;
  readonly exit: number | null;
}

/** What a trial needs beside the hook. */
export interface TrialPorts {
  readonly ids: Ids;
  readonly log: EventLog;
  /** The environment that the host would give, which is this process's own. */
  readonly env: NodeJS.ProcessEnv;
  /** Ms of a clock that only goes forward. */
  readonly elapsed: () => number;
}

/** A hook that is fired. */
export interface FiredHook {
  readonly host: Host;
  readonly event: HostEvent;
  /** What the host would run. */
  readonly command: string;
  /** The repository that its agent works in. */
  readonly folder: string;
}

/**
 * Fires a hook as its host would: in the platform's shell, in the repository, with the host's JSON on standard input.
 * The hook answers as ever, but changes nothing, and its line in the log says that it was a trial.
 */
export async function tryHook(ports: TrialPorts, { host, event, command, folder }: FiredHook): Promise<Trial> {
  const began = ports.elapsed();
  const check = ports.ids.hex(8);
  const env = { ...ports.env, [CHECK_VARIABLE]: check };
  for (const name of OF_SESSIONS) Reflect.deleteProperty(env, name);
  const answer = await answerOf(command, { cwd: folder, env }, inputOf(host, event, folder), event.seconds * 1000);
  const ms = ports.elapsed() - began;
  const problem = typeof answer === 'string' ? answer : problemOf(host, event, answer, isFound(command, env));
  const unlogged = (): string | undefined => {
    const entry = ports.log.entries().findLast((each) => each.check === check);
    if (entry === undefined) return 'It answered, but another store recorded the call. ATLAS_HOME differs there.';
    return entry.problems?.[0];
  };
  const wrong = problem ?? unlogged();
  return { ms, ...(wrong === undefined ? {} : { problem: wrong }) };
}

/** What the host writes to the hook, as far as a hook reads it. */
function inputOf(host: Host, { event, key }: HostEvent, folder: string): object {
  const session = 'atlas-hook-check';
  const said = {
    ...(event === 'session-start' ? { source: 'startup' } : {}),
    ...(event === 'pre-compact' ? { trigger: 'manual' } : {}),
    ...(event === 'session-end' ? { reason: 'other' } : {}),
  };
  if (host.name === 'cursor')
    return { conversation_id: session, workspace_roots: [folder], hook_event_name: key, ...said };
  if (host.name === 'vscode') return { sessionId: session, cwd: folder, hookEventName: key, ...said };
  return { session_id: session, cwd: folder, hook_event_name: key, ...said };
}

/** Runs a hook to its end, or says why there is no answer. */
async function answerOf(
  command: string,
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
  input: object,
  timeoutMs: number,
): Promise<Answered | string> {
  return new Promise((resolve) => {
    const child = spawn(command, { ...options, shell: true, detached: !WINDOWS, windowsHide: true });
    const parts = { out: [] as Buffer[], err: [] as Buffer[] };
    let size = 0;
    const settle = (answer: Answered | string): void => {
      clearTimeout(timer);
      resolve(answer);
    };
    let isGivenUp = false;
    const give = (problem: string): void => {
      if (isGivenUp) return;
      isGivenUp = true;
      void end(child, options.env).then(() => settle(problem));
    };
    const timer = setTimeout(() => give(`It did not answer within ${count(timeoutMs / 1000, 'second')}.`), timeoutMs);
    const take = (part: Buffer[]) => (bytes: Buffer) => {
      size += bytes.length;
      if (size > MAX_ANSWER_BYTES) give(`It answered with more than ${MAX_ANSWER_BYTES} bytes.`);
      else part.push(bytes);
    };
    child.stdout.on('data', take(parts.out));
    child.stderr.on('data', take(parts.err));
    child.on('error', (error) => settle(`It could not be started: ${oneLine(error.message, 200)}`));
    child.on('close', (exit) => {
      if (isGivenUp) return;
      settle({ out: Buffer.concat(parts.out).toString('utf8'), err: Buffer.concat(parts.err).toString('utf8'), exit });
    });
    // One that doesn't read its input closes it.
    child.stdin.on('error', () => undefined);
    child.stdin.end(JSON.stringify(input));
  });
}

/** Ends the shell with what it started. On Windows that is waited for: what ends it would end with this process. */
async function end(child: ChildProcess, env: NodeJS.ProcessEnv): Promise<void> {
  if (child.pid === undefined) return;
  if (WINDOWS) {
    const { file, args } = taskkill(child.pid, env);
    return new Promise((resolve) => execFile(file, args, { windowsHide: true }, () => resolve()));
  }
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** What is wrong with an answer: hosts take exit code and form at their word. */
function problemOf(host: Host, event: HostEvent, { out, err, exit }: Answered, found: boolean): string | undefined {
  const said = oneLine(err.trim() === '' ? out : err, 200);
  if (exit === 2 && event.block && host.name !== 'cursor')
    return err.trim() === '' ? 'It blocks the agent without giving a reason.' : undefined;
  // The shell of Windows has no exit code of its own for that.
  if (exit === NOT_FOUND || (WINDOWS && exit !== 0 && !found)) return `The shell can't find the command: ${said}`;
  if (exit !== 0) return `It ${exit === null ? 'was killed by a signal' : `exited with code ${exit}`}: ${said}`;
  // Claude Code takes plain text; Cursor wants an object even where there is nothing to say.
  if (host.name === 'claude' || (out === '' && host.name !== 'cursor')) return undefined;
  try {
    const value: unknown = JSON.parse(out);
    return typeof value === 'object' && value !== null ? undefined : `Its answer is not a JSON object: ${said}`;
  } catch {
    return `The host reads JSON, but something else is written to standard output: ${said}`;
  }
}
