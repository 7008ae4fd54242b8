import { statSync } from 'node:fs';
import { constants } from 'node:os';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { type Result, fail, messageOf, ok } from '../core/shared/errors';
import type { Clock } from '../core/shared/ports';
import { fileError } from '../system/files/fileErrors';
import { commandEnvironment } from './commandEnvironment';
import { type CommandSystem, type LaunchedCommand, commandSystem } from './commandSystem';
import { OutputCapture, type StreamRecord } from './outputCapture';

const DEFAULT_GRACE_MS = 5000;
/** What a command left behind may end by itself for so long (a `tee` that still writes), then for so long politely. */
const [SETTLE_MS, LEFTOVER_GRACE_MS] = [500, 2000];
/** When all that could be ended is: output that a process out of reach holds open is given up when silent, or at last. */
const [DRAIN_SILENT_MS, DRAIN_MS] = [500, 10_000];
/** Beyond this a timer of Node's fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const [EXIT_NOT_STARTED, EXIT_INTERRUPTED] = [127, 130];
const MARKER = /^[\w.-]+$/;

/** A command to be run once. */
export interface CommandRun {
  /** A line for the shell, or a program with its arguments, which is started as it is. */
  readonly command: string | readonly string[];
  readonly cwd: string;
  /** The environment of whoever asks; what belongs to the editor, a debugger or a git hook is taken out here. */
  readonly env: NodeJS.ProcessEnv;
  /** In ms; 0 for none. */
  readonly timeoutMs: number;
  /** Files that are made for the beginning of each output; they must not be there yet. */
  readonly keepStdout: string;
  readonly keepStderr: string;
  /** The receipt's id, given to the command as ATLAS_RECEIPT_ID: its processes are known by it. Used once only. */
  readonly marker: string;
  readonly signal: AbortSignal;
  readonly onOutput?: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void;
  /** Is told the process id of what was started: the leader of a group of its own, but on Windows. */
  readonly onStart?: (pid: number) => void;
  /** From SIGTERM to SIGKILL in ms; 5000 unless given. */
  readonly graceMs?: number;
}

/** How a command ended, as it was seen. */
export interface CommandOutcome {
  /** What was spawned, the program first. */
  readonly argv: readonly string[];
  /**
   * The command's own only if it ended by itself. 128 + signal for one that died of a signal, was timed out or
   * cancelled, whatever it made of that; 127 if its shell could not be started, 130 if cancelled before the start.
   * A shell killed by a real-time signal (34 and up) can't be told from one that exits: Node says 0 for both.
   */
  readonly exitCode: number;
  /** What it died of; for a timeout or a cancellation otherwise what it had been sent when it ended. */
  readonly signal?: NodeJS.Signals;
  readonly ended: 'exit' | 'signal' | 'timeout' | 'cancelled' | 'not_started';
  /** Why it could not be started. */
  readonly problem?: string;
  /** In ms since the epoch; never completed before started, even if the clock was set back. */
  readonly startedAt: number;
  readonly completedAt: number;
  /** From start to end by a clock that nobody sets, in whole ms. */
  readonly durationMs: number;
  readonly stdout: StreamRecord;
  readonly stderr: StreamRecord;
}

interface Captures {
  readonly stdout: OutputCapture;
  readonly stderr: OutputCapture;
}

type StopCause = 'timeout' | 'cancelled';
type Ending = Pick<CommandOutcome, 'exitCode' | 'signal' | 'ended'>;

/** The end of the shell itself; `sent` is what it had been sent before. */
interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly sent: NodeJS.Signals | undefined;
  readonly at: Moment;
}

interface Moment {
  readonly clock: number;
  readonly monotonic: number;
}

/** Runs shell commands and says how they ended. Nothing that a command started outlives its run. */
export class CommandRunner {
  constructor(
    private readonly clock: Clock,
    private readonly system: CommandSystem = commandSystem(),
  ) {}

  /**
   * Runs a command to its end. Fails only where nothing can be recorded: `usage` for a marker that can't be one,
   * `not_found` for a folder that isn't there, `write_failed` for a file that can't be made.
   */
  async run(request: CommandRun): Promise<Result<CommandOutcome>> {
    if (!MARKER.test(request.marker)) return fail('usage', `"${request.marker}" can't mark a command's processes.`);
    if (!isFolder(request.cwd)) {
      return fail('not_found', `The folder to run the command in does not exist: ${request.cwd}`, {
        hint: 'Open the folder that contains the worktree, or check the worktree out again.',
      });
    }
    const captures = openCaptures(request);
    if (!captures.ok) return captures;
    const { command } = request;
    const argv = typeof command === 'string' ? this.system.argv(command) : command;
    const ran = await this.ran(request, argv, captures.value);
    const [stdout, stderr] = [await captures.value.stdout.close(), await captures.value.stderr.close()];
    return ok({ argv, ...ran, stdout, stderr });
  }

  private async ran(
    request: CommandRun,
    argv: readonly string[],
    captures: Captures,
  ): Promise<Omit<CommandOutcome, 'argv' | 'stdout' | 'stderr'>> {
    const start = this.moment();
    if (request.signal.aborted) {
      return { exitCode: EXIT_INTERRUPTED, ended: 'cancelled', ...times(start, start) };
    }
    const env = commandEnvironment(request.env, request.marker, this.system.platform);
    let launched: LaunchedCommand;
    try {
      launched = await this.system.launch(argv, { cwd: request.cwd, env, marker: request.marker });
    } catch (error) {
      const problem = messageOf(error);
      return { exitCode: EXIT_NOT_STARTED, ended: 'not_started', problem, ...times(start, this.moment()) };
    }
    const { ending, end } = await this.watch(launched, request, captures);
    return { ...ending, ...times(start, end) };
  }

  private async watch(
    launched: LaunchedCommand,
    request: CommandRun,
    captures: Captures,
  ): Promise<{ ending: Ending; end: Moment }> {
    const { child, tree } = launched;
    if (child.pid !== undefined) request.onStart?.(child.pid);
    let exit: Exit | undefined;
    const exited = new Promise<void>((resolve) => {
      child.once('exit', (code, signal) => {
        exit = { code, signal, sent: tree.lastSignal, at: this.moment() };
        resolve();
      });
    });
    captures.stdout.read(launched.stdout);
    captures.stderr.read(launched.stderr);
    const graceMs = request.graceMs ?? DEFAULT_GRACE_MS;
    const cause = await stopped(request, exited);
    if (cause !== undefined) await tree.end(graceMs);
    else if (!(await tree.gone(SETTLE_MS))) await tree.end(Math.min(graceMs, LEFTOVER_GRACE_MS));
    await drain(captures);
    child.unref();
    return { ending: endingOf(exit, cause), end: exit?.at ?? this.moment() };
  }

  private moment(): Moment {
    return { clock: this.clock.now(), monotonic: performance.now() };
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function openCaptures({ keepStdout, keepStderr, onOutput }: CommandRun): Result<Captures> {
  let path = keepStdout;
  const open = (stream: keyof Captures): OutputCapture =>
    new OutputCapture(path, onOutput === undefined ? undefined : (chunk) => onOutput(stream, chunk));
  let stdout: OutputCapture | undefined;
  try {
    stdout = open('stdout');
    path = keepStderr;
    return ok({ stdout, stderr: open('stderr') });
  } catch (error) {
    stdout?.discard();
    return { ok: false, error: fileError('write_failed', `The output could not be stored in ${path}`, error) };
  }
}

/** Waits for the command's end, or for a reason to end it. */
async function stopped(request: CommandRun, exited: Promise<void>): Promise<StopCause | undefined> {
  const { signal, timeoutMs } = request;
  let timer: NodeJS.Timeout | undefined;
  let cancel: () => void = () => undefined;
  const asked = new Promise<StopCause>((resolve) => {
    if (timeoutMs > 0) timer = setTimeout(() => resolve('timeout'), Math.min(timeoutMs, LONGEST_TIMER_MS));
    cancel = () => resolve('cancelled');
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
  });
  const ended = exited.then(() => undefined);
  const cause = await Promise.race([ended, asked]);
  clearTimeout(timer);
  signal.removeEventListener('abort', cancel);
  if (cause === undefined) return undefined;
  // When this process was held up, the command may have ended in time, and its end is the next thing to be heard of.
  return Promise.race([ended, nextTurn(cause)]);
}

/** Reads what is left. It ends by itself, unless a process that can't be ended holds on to it. */
async function drain({ stdout, stderr }: Captures): Promise<void> {
  const ended = Promise.all([stdout.ended, stderr.ended]).then(() => true);
  const deadline = performance.now() + DRAIN_MS;
  for (let before = -1, now = -2; before !== now && performance.now() < deadline;) {
    before = now;
    const patience = new AbortController();
    const silent = sleep(DRAIN_SILENT_MS, false, { signal: patience.signal }).catch(() => false);
    if (await Promise.race([ended, silent])) {
      patience.abort();
      return;
    }
    now = stdout.received + stderr.received;
  }
  stdout.letGo();
  stderr.letGo();
}

function endingOf(exit: Exit | undefined, cause: StopCause | undefined): Ending {
  const byItself = exit !== undefined && exit.sent === undefined;
  if (byItself && exit.signal === null) return { exitCode: exit.code ?? EXIT_NOT_STARTED, ended: 'exit' };
  const signal = exit?.signal ?? exit?.sent ?? 'SIGKILL';
  return { exitCode: 128 + constants.signals[signal], signal, ended: byItself ? 'signal' : (cause ?? 'signal') };
}

function times(start: Moment, end: Moment): Pick<CommandOutcome, 'startedAt' | 'completedAt' | 'durationMs'> {
  return {
    startedAt: start.clock,
    completedAt: Math.max(start.clock, end.clock),
    durationMs: Math.round(end.monotonic - start.monotonic),
  };
}
