import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { type Result, fail, ok } from '../../core/shared/errors';
import type { Repository } from '../../core/shared/ports';
import { oneLine } from '../../core/shared/text';

/** Long enough for the slowest disk: a git that is killed while it writes leaves its lock files behind. */
const TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;

/**
 * What is ours whatever the user has set: no hooks or other programs, no signatures, bytes as they are, an index of all files, no
 * tidying up meanwhile, and on disk when git says so.
 */
function settings({ commonDir }: Repository): string[] {
  return [
    // A folder that isn't there has no hooks; one in the worktree could get some.
    `core.hooksPath=${join(commonDir, 'atlas', 'no-hooks')}`,
    'core.fsmonitor=false',
    'core.quotePath=false',
    'core.autocrlf=false',
    'core.sparseCheckout=false',
    'core.splitIndex=false',
    // Larger contents go through git in pieces: fetched from anybody, they would fill the memory.
    'core.bigFileThreshold=16m',
    'core.fsync=committed',
    // Where it can't be had, git takes the other by itself.
    'core.fsyncMethod=batch',
    'commit.gpgSign=false',
    'i18n.commitEncoding=UTF-8',
    'gc.auto=0',
    'maintenance.auto=false',
  ].flatMap((setting) => ['-c', setting]);
}

/** The user's configuration, and how git gets at remotes. */
const KEPT = /^GIT_(?:CONFIG|SSH|ASKPASS|PROXY|SSL|HTTP|CURL|TRACE|ALLOW_PROTOCOL|PROTOCOL)/iu;

/** What a caller's git (a hook, an alias) tells its children is about another command than ours. */
function environment({ main }: Repository, more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^GIT_/iu.test(name) || KEPT.test(name));
  return {
    ...Object.fromEntries(inherited),
    // Where the repository is gone, one that it lies in is not meant.
    GIT_CEILING_DIRECTORIES: dirname(main),
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_NO_LAZY_FETCH: '1',
    LC_ALL: 'C',
    ...more,
  };
}

/** What git is given beside its arguments. */
export interface GitInput {
  readonly env?: Readonly<Record<string, string>>;
  /** What it reads from its standard input. */
  readonly input?: string | Uint8Array;
  /** How long it may take; two minutes unless given. */
  readonly timeoutMs?: number;
}

/** Why git ended as it should not, and what it had printed. */
export class GitFailure extends Error {
  constructor(
    cause: Error,
    readonly printed: string,
  ) {
    super(cause.message, { cause });
  }
}

/** The command among git's arguments: the first that is neither a setting nor what introduces one. */
function verbOf(args: readonly string[]): string {
  return args.find((arg, index) => arg !== '-c' && args[index - 1] !== '-c') ?? '';
}

/** Runs git in the main worktree of one repository, so that it reads and writes nothing there but objects, branches and worktrees of ours. */
export class WorkerGit {
  private readonly settings: readonly string[];

  constructor(readonly repository: Repository) {
    this.settings = settings(repository);
  }

  /** What git prints, as bytes. Fails with `git_failed` where it isn't there, takes too long, or ends with another code than 0. */
  async run(args: readonly string[], more: GitInput = {}): Promise<Result<Buffer>> {
    return new Promise((resolve) => {
      const options = {
        cwd: this.repository.main,
        env: environment(this.repository, more.env ?? {}),
        timeout: more.timeoutMs ?? TIMEOUT_MS,
        maxBuffer: MAX_OUTPUT_BYTES,
        windowsHide: true,
        encoding: 'buffer',
      } as const;
      const child = execFile('git', [...this.settings, ...args], options, (error, stdout, stderr) => {
        if (error === null) {
          resolve(ok(stdout));
          return;
        }
        const said = oneLine(stderr.toString('utf8'), 400);
        const why = typeof error.code === 'number' ? said : `${said} (${error.code ?? error.signal ?? 'ended'})`;
        const cause = new GitFailure(error, stdout.toString('utf8'));
        resolve(fail('git_failed', `git ${verbOf(args)} failed: ${why}`, { cause }));
      });
      // Git may end before it has read everything; its exit code says why.
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(more.input ?? '');
    });
  }

  /** Starts a git that is asked more than once. Throws where it can't be started at all. */
  start(args: readonly string[]): ChildProcessWithoutNullStreams {
    const options = { cwd: this.repository.main, env: environment(this.repository, {}), windowsHide: true } as const;
    return spawn('git', [...this.settings, ...args], { ...options, stdio: 'pipe' });
  }

  /** What git prints, as text without the end of its last line. */
  async text(args: readonly string[], more: GitInput = {}): Promise<Result<string>> {
    const printed = await this.run(args, more);
    return printed.ok ? ok(printed.value.toString('utf8').replace(/\r?\n$/u, '')) : printed;
  }
}
