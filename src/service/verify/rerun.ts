import { join } from 'node:path';
import { type Result, fail, ok } from '../../core/shared/errors';
import type { Repository } from '../../core/shared/ports';
import type { OutputStream, TreeRecord } from '../../core/receipt/receipt';
import type { CheckVerdict, CommitVerdict } from '../../core/verify/report';
import { gitOn } from '../../git/notes/objects';
import { locateRepository } from '../../git/read/locate';
import { noteLine } from '../../signing/attachedStatements';
import { TaskIndexes } from '../../store/task/taskIndexes';
import { ensureFolder } from '../../system/files/atomicFile';
import { CommandRunner } from '../../validation/commandRunner';
import { signRun } from '../../validation/receiptMaker';
import type { AtlasReader } from '../atlasReader';
import { addToNote } from './attach';
import type { UnsignedRun } from './results';
import { keysFor } from './trust';

/** What is told while checks run. */
export interface RerunWatch {
  onCheck?(check: string, commit: string): void;
  readonly onOutput?: (stream: OutputStream, chunk: Uint8Array) => void;
}

/** How a check ended that was run again. */
export interface Rerun {
  readonly commit: string;
  readonly check: string;
  readonly exitCode: number;
  /** Why its receipt covers no commit. */
  readonly problem: string | undefined;
}

/** Where a check is run again. */
interface Checkout {
  readonly folder: string;
  readonly scratch: string;
  readonly repository: Repository;
}

/**
 * Runs the checks that commits lack, each in a clean checkout of its commit, and attaches receipts that are signed as
 * CI: with this machine's key, which the policy has to name as a CI system's for a check that demands one. Running and
 * signing can be two jobs, of which the one that runs the change's code has no key.
 */
export class Reruns {
  private readonly runner: CommandRunner;

  constructor(
    private readonly atlas: AtlasReader,
    private readonly repository: Repository,
    private readonly roots: readonly string[],
    private readonly timeoutMs: number,
  ) {
    this.runner = new CommandRunner(atlas.ports.clock);
  }

  /** Loads the key that signs. A run whose receipt can't be signed would be for nothing. */
  async prepare(): Promise<Result<void>> {
    return (await keysFor(this.atlas, this.roots)).load();
  }

  /** Runs what these commits lack. Fails where a commit can't be checked out. */
  async run(commits: readonly CommitVerdict[], signal: AbortSignal, watch: RerunWatch): Promise<Result<UnsignedRun[]>> {
    const done: UnsignedRun[] = [];
    for (const verdict of commits) {
      const missing = verdict.checks.filter(({ stated, run }) => stated === undefined && run !== undefined);
      if (missing.length === 0) continue;
      const ran = await this.inCheckout(verdict.commit, async (checkout) =>
        this.all(checkout, verdict, missing, signal, watch),
      );
      if (!ran.ok) return ran;
      done.push(...ran.value);
    }
    return ok(done);
  }

  /** Signs runs and attaches those that cover their commit. What they say is taken from them, so they come from a job that is trusted with it. */
  async sign(runs: readonly UnsignedRun[]): Promise<Result<Rerun[]>> {
    const keys = await keysFor(this.atlas, this.roots);
    const done: Rerun[] = [];
    const task = runs.length === 0 ? ok(0) : await new TaskIndexes(this.atlas.ports).next();
    if (!task.ok) return task;
    for (const [index, { commit, check, tree, command, folder, outcome, record }] of runs.entries()) {
      const problem = whyNot(tree, record);
      if (problem === undefined) {
        const signer = await keys.newSigner({ task: task.value, receipt: index });
        if (!signer.ok) return signer;
        const receiptId = `rcpt-${this.atlas.ports.ids.hex(4)}`;
        const plan = {
          receiptId,
          command,
          folder,
          check,
          roots: this.roots,
          stepName: 'verify',
          stepIndex: 0,
          attempt: 1,
        };
        const link = { sequence: 1, previous: null };
        const place = { workspace: 'ci', id: 'rerun', worktree: folder, by: 'ci' } as const;
        const { envelope } = signRun({ ...plan, link }, place, outcome, record, signer.value);
        const added = await addToNote(this.atlas.ports, this.repository, tree, [noteLine(Buffer.from(envelope))]);
        if (!added.ok) return added;
      }
      done.push({ commit, check, exitCode: outcome.exitCode, problem });
    }
    return ok(done);
  }

  private async inCheckout<T>(commit: string, act: (checkout: Checkout) => Promise<Result<T>>): Promise<Result<T>> {
    const { files, ids, paths } = this.atlas.ports;
    const scratch = join(paths.root, 'reruns', ids.hex(8));
    const folder = join(scratch, 'checkout');
    ensureFolder(files, scratch, 0o700);
    try {
      const added = await gitOn(this.repository, ['worktree', 'add', '--quiet', '--detach', folder, commit], {
        outlives: true,
      });
      if (!added.ok) return added;
      const repository = locateRepository(folder);
      if (repository === undefined) return fail('git_failed', 'git worktree add made no worktree.');
      return await act({ folder: repository.worktree, scratch, repository });
    } finally {
      await gitOn(this.repository, ['worktree', 'remove', '--force', folder], { outlives: true });
      files.removeFolder(scratch);
    }
  }

  private async all(
    checkout: Checkout,
    { commit, tree }: CommitVerdict,
    checks: readonly CheckVerdict[],
    signal: AbortSignal,
    watch: RerunWatch,
  ): Promise<Result<UnsignedRun[]>> {
    const done: UnsignedRun[] = [];
    for (const [index, check] of checks.entries()) {
      if (signal.aborted) return fail('cancelled', 'The checks were cancelled.');
      // What an earlier check left is not this one's; what git ignores, such as installed packages, stays.
      for (const args of index === 0
        ? []
        : [
            ['reset', '--quiet', '--hard'],
            ['clean', '--quiet', '-ffd'],
          ]) {
        const cleaned = await gitOn(checkout.repository, args);
        if (!cleaned.ok) return cleaned;
      }
      watch.onCheck?.(check.name, commit);
      const ran = await this.one(checkout, check, signal, watch);
      if (!ran.ok) return ran;
      const { name, run = '', cwd = '.' } = check;
      done.push({ commit, tree, check: name, command: run, folder: cwd, ...ran.value });
    }
    return ok(done);
  }

  private async one(
    { folder, scratch, repository }: Checkout,
    { run = '', cwd = '.' }: CheckVerdict,
    signal: AbortSignal,
    { onOutput }: RerunWatch,
  ): Promise<Result<Pick<UnsignedRun, 'outcome' | 'record'>>> {
    const { git, ids } = this.atlas.ports;
    const trees = join(scratch, 'trees');
    const before = await git.workingTree(repository, trees);
    if (!before.ok) return before;
    const marker = `rerun-${ids.hex(4)}`;
    const outcome = await this.runner.run({
      command: run,
      cwd: join(folder, cwd),
      env: withoutOurs(process.env),
      timeoutMs: this.timeoutMs,
      keepStdout: join(scratch, `${marker}.stdout`),
      keepStderr: join(scratch, `${marker}.stderr`),
      marker,
      signal,
      ...(onOutput === undefined ? {} : { onOutput }),
    });
    if (!outcome.ok) return outcome;
    const after = await git.workingTree(repository, trees);
    if (!after.ok) return after;
    const changed = await git.changedFiles(repository, trees, before.value, after.value);
    const record: TreeRecord = {
      before: before.value,
      after: after.value,
      changed: changed.ok ? changed.value.slice(0, 20) : [],
      changed_count: changed.ok ? changed.value.length : 0,
      head: git.head(repository).commit ?? null,
      branch: null,
    };
    return ok({ outcome: outcome.value, record });
  }
}

/** Why a run covers no commit, in words; `undefined` where it covers this tree. */
function whyNot(tree: string, { before, after, changed }: TreeRecord): string | undefined {
  if (before !== tree) return 'The checkout differs from the commit, for example because of line endings or a filter.';
  if (after === tree) return undefined;
  return `The check changed files that git does not ignore: ${changed.slice(0, 5).join(', ')}. Ignore them, or have it clean up.`;
}

/** What runs is the change's code: what names our store and keys is not its business. */
function withoutOurs(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^ATLAS_/iu.test(name)));
}
