import type { ChildProcess } from 'node:child_process';
import { type Result, fail, ok } from '../../core/shared/errors';

const MAX_OUTPUT_BYTES = 128 * 1024 * 1024;

/** Variables with which git, run from one of its hooks, would look at another repository than the one meant. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('GIT_') || name.startsWith('GIT_CONFIG'),
  );
  return { ...Object.fromEntries(entries), GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' };
}

const running = new Set<ChildProcess>();

/** A git that waits for something would otherwise go on waiting when nobody is left to end it. */
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

/** What a git command ended with. */
export interface GitOutput {
  readonly code: number;
  readonly stdout: string;
}

/**
 * Runs git in a folder. An exit code other than 0 is an answer, not a failure; it fails (`git_failed`) when git is not
 * there, was killed or took longer than `timeoutMs`. A repository's own programs (fsmonitor) are not started.
 * @param more variables beside the cleaned environment's, what git reads from its standard input, and settings that
 * take precedence over the repository's; with `bytes`, input and output have one character a byte, since paths need not
 * be text
 */
export async function runGit(
  folder: string,
  args: readonly string[],
  timeoutMs = 10_000,
  more: {
    readonly env?: Readonly<Record<string, string>>;
    readonly input?: string;
    readonly bytes?: boolean;
    readonly settings?: readonly string[];
  } = {},
): Promise<Result<GitOutput>> {
  // Most of what a command answers, it reads from git's files.
  const { execFile } = await import('node:child_process');
  return new Promise((resolve) => {
    const env = { ...cleanEnvironment(), ...more.env };
    const encoding = more.bytes === true ? 'latin1' : 'utf8';
    const settings = (more.settings ?? []).flatMap((setting) => ['-c', setting]);
    const child = execFile(
      'git',
      ['-c', 'core.fsmonitor=false', '-c', 'core.quotePath=false', ...settings, ...args],
      { cwd: folder, env, encoding, timeout: timeoutMs, maxBuffer: MAX_OUTPUT_BYTES, windowsHide: true },
      (error, stdout) => {
        if (error === null) resolve(ok({ code: 0, stdout }));
        else if (typeof error.code === 'number') resolve(ok({ code: error.code, stdout }));
        else resolve(fail('git_failed', `git ${args[0] ?? ''} failed: ${error.message}`, { cause: error }));
      },
    );
    endWithUs(child);
    // Git may end before it has read everything; its exit code says why.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(more.input ?? '', encoding);
  });
}
