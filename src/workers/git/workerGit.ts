import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { type Result, ok } from '../../core/shared/errors';
import type { Repository } from '../../core/shared/ports';
import { type GitCall, type GitOutput, gitFailed, runGit, startGit, withoutHooks } from '../../git/read/gitCommand';

/** Long enough for the slowest disk: a git that is killed while it writes leaves its lock files behind. */
const TIMEOUT_MS = 120_000;

/**
 * What is ours whatever the user has set: no hooks or other programs, no signatures, bytes as they are, an index of all files, no
 * tidying up meanwhile, and on disk when git says so.
 */
const SETTINGS = [
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
];

const ENVIRONMENT = { GIT_NO_REPLACE_OBJECTS: '1', GIT_NO_LAZY_FETCH: '1' };

/** Runs git in the main worktree of one repository, so that it reads and writes nothing there but objects, branches and worktrees of ours. */
export class WorkerGit {
  private readonly settings: readonly string[];

  constructor(readonly repository: Repository) {
    this.settings = [withoutHooks(repository), ...SETTINGS];
  }

  /** What git ended with, as {@link runGit}; it has two minutes unless another time is given. */
  async answer(args: readonly string[], call: GitCall = {}): Promise<Result<GitOutput>> {
    return runGit(this.repository.main, args, {
      timeoutMs: TIMEOUT_MS,
      ...call,
      settings: [...this.settings, ...(call.settings ?? [])],
      env: { ...ENVIRONMENT, ...call.env },
      outlives: true,
    });
  }

  /** What git prints, without the end of its last line. Fails with `git_failed` also where it ends with another code than 0. */
  async run(args: readonly string[], call: GitCall = {}): Promise<Result<string>> {
    const answer = await this.answer(args, call);
    if (!answer.ok) return answer;
    const { code, stdout } = answer.value;
    return code === 0 ? ok(stdout.replace(/\r?\n$/u, '')) : { ok: false, error: gitFailed(args, answer.value) };
  }

  /** Starts a git that is asked more than once. Throws where it can't be started at all. */
  start(args: readonly string[]): ChildProcessWithoutNullStreams {
    return startGit(this.repository.main, args, { settings: this.settings, env: ENVIRONMENT });
  }
}
