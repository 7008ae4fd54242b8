import type { ChildProcess, ExecFileException } from 'node:child_process';

/** What a program is run with. */
export interface ProgramRun {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** How input and output are read; latin1 has one character a byte. */
  readonly encoding: 'utf8' | 'latin1';
  /** What it reads from its standard input; nothing unless given. */
  readonly input?: string;
  /** How long it may take. */
  readonly timeoutMs: number;
  /** How much it may print. */
  readonly maxBytes: number;
  /** Whether it stays when this process ends. One that is killed may leave its lock files behind. */
  readonly outlives?: boolean;
}

/** How a program ended: by itself, with any exit code; stopped since it took too long; or not there, killed, or printing too much. */
export type ProgramEnd =
  | { readonly how: 'exited'; readonly code: number; readonly stdout: string; readonly stderr: string }
  | { readonly how: 'too_late' }
  | { readonly how: 'failed'; readonly cause: ExecFileException };

/** Who was held up beyond a limit takes in this long (ms) what has happened meanwhile. */
const HELD_UP_MS = 50;

const running = new Set<ChildProcess>();

/** A program that waits for something would otherwise go on waiting when nobody is left to end it. */
function endWithUs(child: ChildProcess): void {
  if (running.size === 0) process.once('exit', endAll);
  running.add(child);
  child.once('close', () => {
    running.delete(child);
    if (running.size === 0) process.off('exit', endAll);
  });
}

function endAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Runs a program of the PATH, without a shell, to its end. Never rejects. */
export async function runProgram(program: string, args: readonly string[], how: ProgramRun): Promise<ProgramEnd> {
  const { input = '', timeoutMs, maxBytes, outlives = false, ...place } = how;
  // Most commands start no program.
  const { execFile } = process.getBuiltinModule('node:child_process');
  return new Promise((resolve) => {
    let state: 'running' | 'late' | 'ended' = 'running';
    const options = { ...place, maxBuffer: maxBytes, windowsHide: true };
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      clearTimeout(limit);
      const isLate = state === 'late';
      state = 'ended';
      if (isLate) resolve({ how: 'too_late' });
      else if (error === null) resolve({ how: 'exited', code: 0, stdout, stderr });
      else if (typeof error.code === 'number') resolve({ how: 'exited', code: error.code, stdout, stderr });
      else resolve({ how: 'failed', cause: error });
    });
    // Node's own limit throws away what was printed, and calls it a success, where we were held up while the program ended in
    // time: the limit is seen first then. What has happened meanwhile is looked at before.
    const end = (): void => {
      if (state === 'ended') return;
      state = 'late';
      child.stdout?.destroy();
      child.stderr?.destroy();
      child.kill();
    };
    let limit = setTimeout(() => {
      limit = setTimeout(end, HELD_UP_MS);
    }, timeoutMs);
    if (!outlives) endWithUs(child);
    // It may end before it has read everything; its exit code says why.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input, how.encoding);
  });
}
