import { type AtlasError, type Result, fail, messageOf, ok } from '../core/errors';
import type { HookError } from '../core/workers/hookContent';
import type { Lease } from '../core/workers/hookSteps';
import { ForgeBranches } from './forgeBranches';
import { type WorkerPorts, locateForge } from './forgeFolder';
import { Repairs } from './repairs';
import { Sharing } from './sharing';
import { Slinging } from './slinging';
import type { EndedWork, ResultDraft } from './workEnding';
import { WorkerStatuses } from './workerStatus';
import { type ClaimedWork, type Claiming, WorkerSteps } from './workerSteps';

/** What became of work that was done by a program. */
export type Execution =
  { readonly ok: true; readonly result?: ResultDraft } | { readonly ok: false; readonly error: HookError };

/** Does work that was claimed: starts the program, waits for its end, and says what came of it. */
export type Execute = (work: ClaimedWork) => Promise<Execution>;

/** What the program that does the work finds in its environment. */
export function workEnvironment({ folder, lease, action }: ClaimedWork): Readonly<Record<string, string>> {
  return {
    FORGE_HOOK: folder,
    FORGE_WORKER: lease.worker,
    FORGE_TASK: lease.taskId,
    FORGE_CLAIM: String(lease.claim),
    FORGE_INCARNATION: String(lease.incarnation),
    FORGE_ACTION: action,
  };
}

/** The workers of a repository: their hooks and the ledger. */
export class Workers {
  readonly sharing: Sharing;
  readonly slinging: Slinging;
  readonly steps: WorkerSteps;
  readonly statuses: WorkerStatuses;
  readonly repairs: Repairs;

  private constructor(branches: ForgeBranches, ports: WorkerPorts) {
    this.sharing = new Sharing(branches, ports);
    this.slinging = new Slinging(branches, this.sharing, ports);
    this.steps = new WorkerSteps(branches, this.sharing, ports);
    this.statuses = new WorkerStatuses(branches, this.sharing, ports);
    const { sharing, statuses, steps } = this;
    this.repairs = new Repairs({ branches, sharing, statuses, ending: steps.ending, ports });
  }

  /** Those of the repository that a folder belongs to. Fails with `no_repository`. Nothing is made until a task is. */
  static open(folder: string, ports: WorkerPorts): Result<Workers> {
    const repository = locateForge(folder);
    return repository.ok ? ok(new Workers(new ForgeBranches(repository.value, ports), ports)) : repository;
  }

  /** Claims a worker's work, has it done, and records how it ended. Whatever `execute` makes of it, the work comes to an end. */
  async run(claiming: Claiming, execute: Execute): Promise<Result<EndedWork>> {
    const work = await this.steps.claim(claiming);
    if (!work.ok) return work;
    const { lease } = work.value;
    let execution: Execution;
    try {
      execution = await execute(work.value);
    } catch (error) {
      return this.failed(lease, { code: 'not_run', message: messageOf(error).slice(0, 4000), recoverable: true });
    }
    if (!execution.ok) return this.failed(lease, execution.error);
    const ended = await this.steps.ending.end(lease, 'complete', execution.result);
    if (ended.ok || ended.error.code !== 'verification_failed') return ended;
    const failed = await this.failed(lease, { code: 'bad_result', message: ended.error.message, recoverable: true });
    if (!failed.ok) return failed;
    return fail('verification_failed', `${lease.taskId} has failed: ${ended.error.message}`, mendOf(ended.error));
  }

  private async failed(lease: Lease, error: HookError): Promise<Result<EndedWork>> {
    return this.steps.ending.end(lease, 'fail', { error });
  }
}

function mendOf({ mend }: AtlasError): { mend?: string } {
  return mend === undefined ? {} : { mend };
}
