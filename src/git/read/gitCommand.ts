import type { ChildProcessWithoutNullStreams, ExecFileException } from 'node:child_process';
import { dirname, join } from 'node:path';
import { AtlasError, type Result, ok } from '../../core/shared/errors';
import type { Repository } from '../../core/shared/ports';
import { oneLine } from '../../core/shared/text';
import { runProgram } from '../../system/runProgram';

const TIMEOUT_MS = 10_000;
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;

/** The user's configuration, and how git gets at remotes. */
const KEPT = /^GIT_(?:CONFIG|SSH|ASKPASS|PROXY|SSL|HTTP|CURL|TRACE|ALLOW_PROTOCOL|PROTOCOL)/iu;

/** No repository decides these: a program of its own, and paths that aren't written as they are. */
const SETTINGS = ['core.fsmonitor=false', 'core.quotePath=false'];

/** What git is given beside its arguments. */
export interface GitCall {
  /** Variables beside the cleaned environment's. */
  readonly env?: Readonly<Record<string, string>>;
  /** Settings (`name=value`) that take precedence over the repository's. */
  readonly settings?: readonly string[];
  /** What git reads from its standard input. */
  readonly input?: string | undefined;
  /** Whether input and output have one character a byte, since paths need not be text. */
  readonly bytes?: boolean;
  /** How long git may take; 10 seconds unless given. */
  readonly timeoutMs?: number;
  /** Whether git stays when this process ends: one that is killed while it writes leaves its lock files behind. */
  readonly outlives?: boolean;
}

/** What a git command ended with. */
export interface GitOutput {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The setting with which git runs none of a repository's hooks: a folder that isn't there has none. */
export function withoutHooks({ commonDir }: Repository): string {
  return `core.hooksPath=${join(commonDir, 'atlas', 'no-hooks')}`;
}

/** What a caller's git (a hook, an alias) tells its children is about another command, maybe another repository, than ours. */
function environment(folder: string, more: GitCall['env']): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^GIT_/iu.test(name) || KEPT.test(name));
  return {
    ...Object.fromEntries(inherited),
    // Where the repository is gone, one that it lies in is not meant.
    GIT_CEILING_DIRECTORIES: dirname(folder),
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    LC_ALL: 'C',
    ...more,
  };
}

function withSettings(args: readonly string[], { settings = [] }: GitCall): string[] {
  return [...[...SETTINGS, ...settings].flatMap((setting) => ['-c', setting]), ...args];
}

/**
 * Runs git in the top folder of a worktree. An exit code other than 0 is an answer, not a failure; it fails
 * (`git_failed`) when git is not there, was killed, took too long or printed too much.
 */
export async function runGit(folder: string, args: readonly string[], call: GitCall = {}): Promise<Result<GitOutput>> {
  return run('git', withSettings(args, call), { cwd: folder, env: environment(folder, call.env) }, call);
}

/** What git prints, as {@link runGit}; `undefined` where it can't say. */
export async function askGit(folder: string, args: readonly string[], call?: GitCall): Promise<string | undefined> {
  const run = await runGit(folder, args, call);
  return run.ok && run.value.code === 0 ? run.value.stdout : undefined;
}

/** Runs GitHub's command in the top folder of a worktree, as {@link runGit}. */
export async function runGitHub(folder: string, args: readonly string[]): Promise<Result<GitOutput>> {
  return run('gh', args, { cwd: folder, env: environment(folder, {}) }, {});
}

/** Starts a git that is asked more than once. Throws where it can't be started at all. */
export function startGit(folder: string, args: readonly string[], call: GitCall): ChildProcessWithoutNullStreams {
  const { spawn } = process.getBuiltinModule('node:child_process');
  const options = { cwd: folder, env: environment(folder, call.env), windowsHide: true, stdio: 'pipe' } as const;
  return spawn('git', withSettings(args, call), options);
}

async function run(
  program: 'git' | 'gh',
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
  { input = '', bytes = false, timeoutMs = TIMEOUT_MS, outlives = false }: GitCall,
): Promise<Result<GitOutput>> {
  const encoding = bytes ? 'latin1' : 'utf8';
  const limits = { timeoutMs, maxBytes: MAX_OUTPUT_BYTES };
  const ended = await runProgram(program, args, { cwd, env, encoding, input, outlives, ...limits });
  const what = `${program} ${verbOf(args)}`;
  switch (ended.how) {
    case 'exited':
      return ok(ended);
    case 'too_late':
      return { ok: false, error: tookTooLong(what, timeoutMs) };
    case 'failed':
      return { ok: false, error: failure(what, ended.cause) };
  }
}

/** The command among git's arguments: the first that is neither a setting nor what introduces one. */
function verbOf(args: readonly string[]): string {
  return args.find((arg, index) => arg !== '-c' && args[index - 1] !== '-c') ?? '';
}

/** The failure of a command of git's that should have ended with 0. */
export function gitFailed(args: readonly string[], { stderr }: GitOutput): AtlasError {
  return new AtlasError('git_failed', `git ${args[0] ?? ''} failed: ${oneLine(stderr, 400)}`);
}

function failure(what: string, cause: ExecFileException): AtlasError {
  const because = (why: string): AtlasError => new AtlasError('git_failed', `${what} failed: ${why}`, { cause });
  if (cause.code === 'ENOENT') return because('The program or its folder was not found.');
  if (cause.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return because('It printed too much.');
  if (typeof cause.signal === 'string') return because(`It was ended by ${cause.signal}.`);
  return because(cause.message);
}

function tookTooLong(what: string, timeoutMs: number): AtlasError {
  return new AtlasError('git_failed', `${what} failed: It took longer than ${timeoutMs / 1000} s.`);
}
