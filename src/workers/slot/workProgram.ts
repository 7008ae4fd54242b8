import { basename, join } from 'node:path';
import { type Result, fail, messageOf, ok } from '../../core/shared/errors';
import { oneLine, plainLines } from '../../core/shared/text';
import { formatDuration, toMs } from '../../core/shared/time';
import { slotResultSchema } from '../../core/worker/slotContent';
import { type CommandOutcome, CommandRunner } from '../../validation/commandRunner';
import { LIMITS } from '../../core/worker/limits';
import { readForeignFile } from '../../system/files/foreignFile';
import { makeTemporaryFolder } from '../../system/files/temporaryFolder';
import { SLOT_FILES } from './slotTree';
import type { WorkerPorts } from '../forgeFolder';
import { RUN_VARIABLE, RunRecord, runMarker } from './leftovers';
import { programArguments } from './programArguments';
import { UNTOLD } from './workEnding';
import type { ClaimedWork } from '../operations/workerSteps';
import { type Execution, workEnvironment } from '../workers';
import { jsonOf } from '../../system/files/readJson';

/** How much of the last that a program said is told of its failure. */
const [TAIL_CHARACTERS, TAIL_LINES] = [2000, 20];
/** The runner takes 0 for no limit. */
const SHORTEST_MS = 1;

/** A program that does the work on a hook. */
export interface WorkProgram {
  /** The program and its arguments; no shell reads them. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** Its environment, to which what it has to know of the work is added. */
  readonly env: NodeJS.ProcessEnv;
  /** How long it may take, in ms, beside the task's own deadline. */
  readonly timeoutMs?: number | undefined;
  /** Ends it, so that the work is handed on. */
  readonly signal: AbortSignal;
  /** Where what it prints lies while it runs, as {@link temporaryFolder} made it. Its caller removes it. */
  readonly folder: string;
  readonly onOutput?: ((stream: 'stdout' | 'stderr', chunk: Uint8Array) => void) | undefined;
}

/** Makes a folder for a program that is to run: before work is claimed that could not be done. Fails with `write_failed`. */
export function temporaryFolder(): Result<string> {
  try {
    return ok(makeTemporaryFolder('atlas-work-'));
  } catch (error) {
    return fail(
      'write_failed',
      `The folder for temporary files can't be used, so the task was not started: ${messageOf(error)}`,
      { hint: 'Set TMPDIR to a writable folder and try again.', cause: error },
    );
  }
}

/** How a program ended, and what that means for the work. */
export interface ProgramEnd {
  readonly execution: Execution;
  /** `undefined` where it was not started. */
  readonly outcome: CommandOutcome | undefined;
}

/** The last of what a program said, as text. */
class Tail {
  private text = '';
  private readonly decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };

  add(stream: 'stdout' | 'stderr', chunk: Uint8Array): void {
    this.text = (this.text + this.decoders[stream].decode(chunk, { stream: true })).slice(-2 * TAIL_CHARACTERS);
  }

  toString(): string {
    const lines = plainLines(this.text).trimEnd().split('\n').slice(-TAIL_LINES);
    return lines.join('\n').slice(-TAIL_CHARACTERS);
  }
}

/**
 * Does claimed work by a program: with nothing to read from standard input, in a process group of its own, all of which is ended with it,
 * until the task's deadline at the latest.
 */
export async function runProgram(
  commonDir: string,
  work: ClaimedWork,
  program: WorkProgram,
  ports: WorkerPorts,
): Promise<ProgramEnd> {
  const limit = timeLeft(work, program, ports.clock.now());
  if (limit <= 0) return { execution: tooLate(work), outcome: undefined };
  const marker = runMarker(commonDir, work.lease);
  const record = new RunRecord(commonDir, marker, ports);
  const tail = new Tail();
  // What a program prints may hold secrets, and hooks are shared: it is its caller's, and nothing of it is kept but a failure's last words.
  const { folder } = program;
  const ran = await new CommandRunner(ports.clock).run({
    command: programArguments(program.argv, program.env),
    cwd: program.cwd,
    env: { ...program.env, ...workEnvironment(work), [RUN_VARIABLE]: marker },
    timeoutMs: limit === Number.POSITIVE_INFINITY ? 0 : Math.max(SHORTEST_MS, limit),
    keepStdout: join(folder, 'stdout'),
    keepStderr: join(folder, 'stderr'),
    marker,
    signal: program.signal,
    onStart: (pid) => record.write(pid),
    onOutput: (stream, chunk) => {
      tail.add(stream, chunk);
      program.onOutput?.(stream, chunk);
    },
  });
  record.remove();
  if (!ran.ok)
    return { execution: { ok: 'handed_on', reason: 'error', resumePoint: ran.error.message }, outcome: undefined };
  const name = oneLine(basename(program.argv[0] ?? ''), 100);
  return { execution: executionOf(work, name, ran.value, tail), outcome: ran.value };
}

function timeLeft({ task }: ClaimedWork, { timeoutMs = Number.POSITIVE_INFINITY }: WorkProgram, now: number): number {
  return Math.min(timeoutMs, task.timeout === undefined ? Number.POSITIVE_INFINITY : toMs(task.timeout) - now);
}

function tooLate({ task }: ClaimedWork): Execution {
  const message = `Its deadline, ${task.timeout ?? ''}, passed before it was started.`;
  return { ok: false, error: { code: 'timeout', message, recoverable: true } };
}

function executionOf(work: ClaimedWork, name: string, outcome: CommandOutcome, tail: Tail): Execution {
  const failed = (code: string, message: string): Execution => {
    const last = tail.toString();
    return { ok: false, error: { code, message: last === '' ? message : `${message}\n${last}`, recoverable: true } };
  };
  switch (outcome.ended) {
    case 'exit':
      if (outcome.exitCode !== 0)
        return failed(`exit_${outcome.exitCode}`, `${name} exited with code ${outcome.exitCode}.`);
      return ownFailure(work) ?? { ok: true };
    case 'signal':
      return failed('signal', `${name} was killed by ${outcome.signal ?? 'a signal'}.`);
    case 'timeout':
      return failed(
        'timeout',
        `${name} was stopped after ${formatDuration(outcome.durationMs)}: it exceeded its timeout.`,
      );
    case 'cancelled':
      return { ok: 'handed_on', reason: 'error', resumePoint: `${name} was interrupted before it finished.` };
    case 'not_started':
      return { ok: 'handed_on', reason: 'error', resumePoint: `${name} could not be started.` };
  }
}

/** A program that ended well, but wrote a result.json that says that the work failed, is believed. */
function ownFailure({ folder }: ClaimedWork): Execution | undefined {
  const read = readForeignFile(join(folder, SLOT_FILES.result), LIMITS.resultBytes);
  if (!read.ok) return undefined;
  const parsed = slotResultSchema.safeParse(jsonOf(Buffer.from(read.value).toString('utf8')));
  // Of one that can't be read, the end of the work says what is wrong with it.
  if (!parsed.success || parsed.data.status !== 'FAILED') return undefined;
  return { ok: false, error: parsed.data.error ?? UNTOLD };
}
