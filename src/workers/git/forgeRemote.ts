import { join } from 'node:path';
import { AtlasError, type Result, fail, ok, unwrap } from '../../core/shared/errors';
import { LIMITS } from '../../core/worker/limits';
import { LEDGER_BRANCH, workerOfBranch } from '../../core/worker/names';
import { readSmall } from '../../git/read/locate';
import { type BranchProblem, blockingProblems, shortName } from '../operations/branchProblems';
import type { ForgeBranches } from './forgeBranches';
import type { GitObjects } from './gitObjects';
import { gitFailed } from '../../git/read/gitCommand';
import type { WorkerGit } from './workerGit';

/** How long a remote may take, in ms: meanwhile nobody else in this clone claims anything. */
const TIMEOUT_MS = 60_000;
const MAX_FETCHES = 3;
/** How many parts of all branches are fetched by themselves, where not all can be had. */
const MAX_PARTS = 64;
const OURS = 'refs/heads/forge/';

/** A branch and the commit that it is to have. */
export interface PushedRef {
  readonly ref: string;
  readonly commit: string;
}

/** The names of a repository's remotes. */
export async function remoteNames(git: WorkerGit): Promise<readonly string[]> {
  const said = unwrap(await git.run(['remote']));
  return said.split('\n').filter((name) => name !== '');
}

/** What the branch of a remote is called here. */
export function trackingRef(remote: string, ref: string): string {
  return `refs/remotes/${remote}/forge/${ref.slice(OURS.length)}`;
}

/** A remote through which clones share hooks and ledger. Its name was checked: it is one of the repository's. */
export class ForgeRemote {
  constructor(
    private readonly git: WorkerGit,
    readonly name: string,
  ) {}

  /**
   * Brings its branches `forge/*` here, below `refs/remotes/`, and nothing else. Gives those that can't be had, while the others are here.
   * Fails with `remote_unreachable`.
   */
  async fetch(branches: ForgeBranches): Promise<readonly BranchProblem[]> {
    const all = [`+${OURS}*:refs/remotes/${this.name}/forge/*`];
    const fetched = await this.fetchWith(all);
    if (!fetched.ok) return this.fetchEach(branches, fetched.error);
    const again = (await this.isIncomplete()) ? await this.fetchWith(all, ['--refetch']) : fetched;
    if (!again.ok) throw this.unreachable(again.error);
    return [];
  }

  /** Where one branch keeps git from all: those that it can't fetch are found by halves. Only names that workers can have are asked for. */
  private async fetchEach(branches: ForgeBranches, error: Error): Promise<readonly BranchProblem[]> {
    const listed = await this.git.run(['ls-remote', '--refs', this.name, `${OURS}*`], { timeoutMs: TIMEOUT_MS });
    if (!listed.ok) throw this.unreachable(error);
    const names = listed.value.split('\n').map((line) => line.split('\t')[1] ?? '');
    const refs = names
      .filter((ref) => ref === LEDGER_BRANCH || workerOfBranch(ref) !== undefined)
      .slice(0, LIMITS.branches);
    const ours = await branches.tips();
    await this.forget(branches.objects, refs);
    const problems: BranchProblem[] = [];
    const waiting = [refs];
    for (let tries = 0; waiting.length > 0; tries += 1) {
      const some = waiting.shift() ?? [];
      if (some.length === 0) continue;
      const fetched =
        tries < MAX_PARTS
          ? await this.fetchWith(some.map((ref) => `+${ref}:${trackingRef(this.name, ref)}`))
          : fail('git_failed', 'other branches could not be fetched either');
      if (fetched.ok) continue;
      const half = Math.ceil(some.length / 2);
      if (some.length > 1 && tries < MAX_PARTS) waiting.push(some.slice(0, half), some.slice(half));
      else problems.push(...some.map((ref) => notFetched(ref, fetched.error)));
    }
    if (refs.length > 0 && problems.length === refs.length) throw this.unreachable(error);
    return [...problems, ...blockingProblems(names, ours.keys())];
  }

  /** Forgets where branches were that the remote has no more, and beside which git can't keep one that it has. */
  private async forget(objects: GitObjects, refs: readonly string[]): Promise<void> {
    const known = await objects.branches([`refs/remotes/${this.name}/forge/`]);
    const here = new Set(refs.map((ref) => trackingRef(this.name, ref)));
    const folders = new Set([...here].flatMap((ref) => above(ref)));
    const stale = [...known.keys()].filter(
      (ref) => !here.has(ref) && (folders.has(ref) || above(ref).some((name) => here.has(name))),
    );
    if (stale.length === 0) return;
    const input = stale.map((ref) => `delete ${ref}\n`).join('');
    unwrap(await this.git.run(['update-ref', '--stdin'], { input }));
  }

  /** Whether somebody's own fetch, in a clone without all contents, brought branches of ours without theirs. */
  private async isIncomplete(): Promise<boolean> {
    const config = readSmall(join(this.git.repository.commonDir, 'config')) ?? '';
    if (!/^\s*promisor\s*=/imu.test(config)) return false;
    const glob = `--remotes=${this.name}/forge/*`;
    const listed = await this.git.run(['rev-list', '--objects', '--no-walk', '--missing=print', glob]);
    return !listed.ok || /^\?/mu.test(listed.value);
  }

  private async fetchWith(refspecs: readonly string[], more: readonly string[] = []): Promise<Result<void>> {
    const args = [
      'fetch',
      '--quiet',
      '--no-tags',
      '--no-prune',
      '--no-write-fetch-head',
      '--no-auto-maintenance',
      ...more,
      '--no-recurse-submodules',
      // In a clone without all contents, ours are wanted all the same.
      '--no-filter',
      '--refmap=',
      '--stdin',
      this.name,
    ];
    const input = refspecs.map((refspec) => `${refspec}\n`).join('');
    for (let tries = 1; ; tries += 1) {
      const fetched = await this.git.run(args, { timeoutMs: TIMEOUT_MS, input });
      if (fetched.ok) return ok(undefined);
      // Another fetch, of the editor or of a person, was writing the same branches.
      if (tries >= MAX_FETCHES || !fetched.error.message.includes('cannot lock ref')) return fetched;
    }
  }

  /**
   * Gives the remote branches, all or none, and only where it has nothing that these don't go on from. Says whether it took them.
   * Fails with `remote_unreachable`; then nobody knows whether it did.
   */
  async push(refs: readonly PushedRef[]): Promise<{ readonly refused: string | undefined }> {
    const args = [
      'push',
      '--porcelain',
      '--atomic',
      '--no-verify',
      '--no-signed',
      '--recurse-submodules=no',
      this.name,
      ...refs.map(({ ref, commit }) => `${commit}:${ref}`),
    ];
    const settings = ['push.followTags=false', `remote.${this.name}.mirror=false`];
    const pushed = await this.git.answer(args, { timeoutMs: TIMEOUT_MS, settings });
    if (!pushed.ok) throw this.unreachable(pushed.error);
    if (pushed.value.code === 0) return { refused: undefined };
    const refusals = pushed.value.stdout.split('\n').filter((line) => line.startsWith('!'));
    if (refusals.length === 0) throw this.unreachable(gitFailed(args, pushed.value));
    const why = refusals.map((line) => line.split('\t').slice(1).join(' '));
    return { refused: why.join('; ').slice(0, 400) };
  }

  private unreachable(error: Error): AtlasError {
    return new AtlasError('remote_unreachable', `The remote ${this.name} could not be reached: ${error.message}`, {
      hint: 'Claimed tasks continue, but nothing new can be claimed. Check the network and git access, then run: atlas worker sync',
      cause: error,
    });
  }
}

/** The names above a branch's, which git keeps as folders. */
function above(ref: string): string[] {
  const parts = ref.split('/');
  return parts.slice(1).map((_part, index) => parts.slice(0, index + 1).join('/'));
}

function notFetched(ref: string, { message }: Error): BranchProblem {
  const error = new AtlasError('git_failed', `${shortName(ref)} could not be fetched: ${message}`, {
    hint: 'Restore the branch in the clone that pushed it, or delete it on the remote.',
  });
  return { branch: shortName(ref), error };
}
