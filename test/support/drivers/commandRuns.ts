import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Result, unwrap } from '../../../src/core/shared/errors';
import { systemClock } from '../../../src/system/systemPorts';
import { type CommandOutcome, type CommandRun, CommandRunner } from '../../../src/validation/commandRunner';
import { type CommandSystem, commandSystem } from '../../../src/validation/commandSystem';

/** What `ps` says of a process's state; empty where there is none. */
export function stateOf(pid: number): string {
  try {
    return execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    return '';
  }
}

/** Whether a process runs; a zombie, which Windows doesn't have, doesn't. */
export function isRunning(pid: number): boolean {
  if (process.platform === 'win32') return answers(pid);
  return !/^(Z|$)/.test(stateOf(pid));
}

function answers(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Sends a signal to one process. Refuses 0, 1 and below: to `kill`, those are our own group and everybody's processes. */
export function signalProcess(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined || !Number.isSafeInteger(pid) || pid <= 1) throw new Error(`no process has the id ${pid}`);
  process.kill(pid, signal);
}

/** A command that runs, or ran, with what it wrote. */
export interface StartedRun {
  readonly marker: string;
  readonly result: Promise<Result<CommandOutcome>>;
  /** Waits for the outcome, where one is expected. */
  outcome(): Promise<CommandOutcome>;
  readonly stdoutFile: string;
  readonly stderrFile: string;
  cancel(): void;
  /** Waits until it has written a text to stdout, and gives all that it wrote there. */
  says(text: string): Promise<string>;
  keptStdout(): string;
  keptStderr(): string;
}

/** Runs commands in a temporary folder of their own. */
export class CommandRuns {
  readonly folder = mkdtempSync(path.join(os.tmpdir(), 'atlas-commands-'));

  constructor(private readonly system: CommandSystem = commandSystem()) {}

  dispose(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  start(command: string, more: Partial<CommandRun> = {}): StartedRun {
    const marker = `rcpt-${randomBytes(8).toString('hex')}`;
    const abort = new AbortController();
    let said = '';
    const waiting = new Set<() => void>();
    const request: CommandRun = {
      command,
      cwd: this.folder,
      env: process.env,
      timeoutMs: 0,
      keepStdout: path.join(this.folder, `${marker}.stdout`),
      keepStderr: path.join(this.folder, `${marker}.stderr`),
      marker,
      signal: abort.signal,
      ...more,
      onOutput: (stream, chunk) => {
        more.onOutput?.(stream, chunk);
        if (stream === 'stdout') said += Buffer.from(chunk).toString();
        for (const look of waiting) look();
      },
    };
    const result = new CommandRunner(systemClock, this.system).run(request);
    const says = (text: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (said.includes(text)) resolve(said);
        };
        waiting.add(look);
        look();
        void result.then(() => reject(new Error(`it ended and never said ${text}, but: ${said}`)));
      });
    return {
      marker,
      result,
      outcome: async () => unwrap(await result),
      stdoutFile: request.keepStdout,
      stderrFile: request.keepStderr,
      cancel: () => abort.abort(),
      says,
      keptStdout: () => readFileSync(request.keepStdout, 'utf8'),
      keptStderr: () => readFileSync(request.keepStderr, 'utf8'),
    };
  }

  /** Runs a command to its end. */
  run(command: string, more: Partial<CommandRun> = {}): Promise<CommandOutcome> {
    return this.start(command, more).outcome();
  }
}
