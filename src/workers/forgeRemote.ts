import { join } from 'node:path';
import { type Result, fail, ok } from '../core/errors';
import { readSmall } from '../git/locate';
import { GitFailure, type WorkerGit } from './workerGit';

/** How long a remote may take, in ms: meanwhile nobody else in this clone claims anything. */
const TIMEOUT_MS = 60_000;
const MAX_FETCHES = 3;
const OURS = 'refs/heads/forge/';

/** A branch and the commit that it is to have. */
export interface PushedRef {
  readonly ref: string;
  readonly commit: string;
}

/** The names of a repository's remotes. */
export async function remoteNames(git: WorkerGit): Promise<Result<readonly string[]>> {
  const said = await git.text(['remote']);
  return said.ok ? ok(said.value.split('\n').filter((name) => name !== '')) : said;
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

  /** Brings its branches `forge/*` here, below `refs/remotes/`, and nothing else. Fails with `remote_unreachable`. */
  async fetch(): Promise<Result<void>> {
    const fetched = await this.fetchWith([]);
    if (!fetched.ok || !(await this.isIncomplete())) return fetched;
    return this.fetchWith(['--refetch']);
  }

  /** Whether somebody's own fetch, in a clone without all contents, brought branches of ours without theirs. */
  private async isIncomplete(): Promise<boolean> {
    const config = readSmall(join(this.git.repository.commonDir, 'config')) ?? '';
    if (!/^\s*promisor\s*=/imu.test(config)) return false;
    const glob = `--remotes=${this.name}/forge/*`;
    const listed = await this.git.text(['rev-list', '--objects', '--no-walk', '--missing=print', glob]);
    return !listed.ok || /^\?/mu.test(listed.value);
  }

  private async fetchWith(more: readonly string[]): Promise<Result<void>> {
    const args = [
      ...['fetch', '--quiet', '--no-tags', '--no-prune', '--no-write-fetch-head', '--no-auto-maintenance', ...more],
      // In a clone without all contents, ours are wanted all the same.
      ...['--no-recurse-submodules', '--no-filter', '--refmap='],
      ...[this.name, `+${OURS}*:refs/remotes/${this.name}/forge/*`],
    ];
    for (let tries = 1; ; tries += 1) {
      const fetched = await this.git.run(args, { timeoutMs: TIMEOUT_MS });
      if (fetched.ok) return ok(undefined);
      // Another fetch, of the editor or of a person, was writing the same branches.
      if (tries >= MAX_FETCHES || !fetched.error.message.includes('cannot lock ref'))
        return this.unreachable(fetched.error);
    }
  }

  /**
   * Gives the remote branches, all or none, and only where it has nothing that these don't go on from. Says whether it took them.
   * Fails with `remote_unreachable`; then nobody knows whether it did.
   */
  async push(refs: readonly PushedRef[]): Promise<Result<{ readonly refused: string | undefined }>> {
    const args = [
      ...['-c', 'push.followTags=false', '-c', `remote.${this.name}.mirror=false`],
      ...['push', '--porcelain', '--atomic', '--no-verify', '--no-signed', '--recurse-submodules=no'],
      ...[this.name, ...refs.map(({ ref, commit }) => `${commit}:${ref}`)],
    ];
    const pushed = await this.git.run(args, { timeoutMs: TIMEOUT_MS });
    if (pushed.ok) return ok({ refused: undefined });
    const { cause } = pushed.error;
    const refusals = (cause instanceof GitFailure ? cause.printed : '')
      .split('\n')
      .filter((line) => line.startsWith('!'));
    if (refusals.length === 0) return this.unreachable(pushed.error);
    return ok({
      refused: refusals
        .map((line) => line.split('\t').slice(1).join(' '))
        .join('; ')
        .slice(0, 400),
    });
  }

  private unreachable(error: Error): Result<never> {
    return fail('remote_unreachable', `The remote ${this.name} can't be reached: ${error.message}`, {
      mend: "Work that is claimed goes on; nothing new is claimed until the remote answers. See to the network and to git's access, then: atlas worker sync",
      cause: error,
    });
  }
}
