import { defined } from '../../core/shared/defined';
import { recoveryDetails } from '../../core/recovery/recoveryDetails';
import { lastEventOf } from '../../core/history/historyEvent';
import { type FileDrift, compareSnapshots } from '../../core/checkpoint/checkpoint';
import { type Result, fail, ok } from '../../core/shared/errors';
import type { Caller, TaskInput } from '../../core/transition/events';
import type { TaskRecord, RecoveryAction } from '../../core/task/taskRecord';
import { type CrashFinding, type Diagnosis } from '../../core/recovery/liveness';
import {
  type RecoveryEvidence,
  type RecoveryPlan,
  planRecovery,
  plannedState,
  recoveryContext,
} from '../../core/recovery/recovery';
import { recoveryInput } from '../../core/recovery/recoveryInput';
import { type Task, worktreeOf } from '../../core/task/task';
import { MAX_OUTPUT_LENGTH } from '../../core/shared/text';
import { toMs, toTimestamp } from '../../core/shared/time';
import type { TaskStore } from '../../store/task/taskStore';
import type { OwnerStore } from '../../store/sessions/owners';
import { artifactPath } from '../../store/paths';
import type { TaskRef } from '../../core/task/taskRef';
import { takeSnapshots } from '../../store/snapshots/snapshots';
import type { StoredTask, Updated } from '../../core/task/storedTask';
import { lastSnapshots } from '../checkpoints/capture';
import { worktreeNow } from '../checkpoints/worktreeState';
import { gitEvidence } from '../tasks/gitStep';
import type { ConfigSource } from '../tasks/configSource';
import type { AtlasReader } from '../atlasReader';
import type { ServicePorts } from '../ports';

/** What detection found, and the task after it. */
export interface Detected {
  readonly diagnosis: Diagnosis;
  readonly task: StoredTask;
  /** Whether this call wrote `crash_detected`: of many that race, one did. */
  readonly recorded: boolean;
}

/** A plan with what it was made from, to be printed. */
export interface PrintablePlan {
  readonly diagnosis: Diagnosis;
  readonly plan: RecoveryPlan;
  readonly drift: readonly FileDrift[];
}

/** How a task is to be recovered: by the computed plan, unless a human chose another action. */
export interface RecoveryChoice {
  readonly action?: RecoveryAction | undefined;
  /** An agent, unless it is said to be a human. */
  readonly by?: Caller;
  /** Whether a human takes the work over from whoever may still be doing it: the task counts as interrupted then. */
  readonly takeOver?: boolean;
}

/** Finds crashes, plans what to do and does it. */
export class RecoveryService {
  private readonly ports: ServicePorts;
  private readonly owners: OwnerStore;
  private readonly configs: ConfigSource;

  constructor(
    private readonly atlas: Pick<AtlasReader, 'ports' | 'owners' | 'configs' | 'diagnose' | 'receipts' | 'snapshots'>,
    private readonly store: TaskStore,
  ) {
    ({ ports: this.ports, owners: this.owners, configs: this.configs } = atlas);
  }

  /** Says how a task fares now; reads only. */
  async diagnose(stored: StoredTask): Promise<Diagnosis> {
    const { config } = await this.configs.forTask(stored.task);
    return this.atlas.diagnose(stored, config.staleThresholdMs);
  }

  /** Looks for a crash and records it with its plan. Once recorded, calling it again changes nothing. */
  async detect(stored: StoredTask): Promise<Result<Detected>> {
    const { config } = await this.configs.forTask(stored.task);
    const look = (task: StoredTask): Diagnosis => this.atlas.diagnose(task, config.staleThresholdMs);
    const first = look(stored);
    return first.kind === 'crashed'
      ? this.record(stored, look)
      : ok({ diagnosis: first, task: stored, recorded: false });
  }

  /** Records a crash under the lock if it still is one when looked at again there. */
  private async record(stored: StoredTask, look: (task: StoredTask) => Diagnosis): Promise<Result<Detected>> {
    const { config } = await this.configs.forTask(stored.task);
    const evidence = await this.evidence(stored);
    const worktree = await worktreeNow(this.atlas, stored);
    const capture = worktree === undefined ? undefined : { worktree };
    let diagnosis: Diagnosis = { kind: 'recovering' };
    const updated = await this.store.update(
      stored.ref,
      (now) => {
        diagnosis = look(now);
        if (diagnosis.kind !== 'crashed') return ok(undefined);
        return ok(this.crashInput(now, diagnosis, evidence));
      },
      { config, ...defined({ capture }) },
    );
    if (!updated.ok) return updated;
    if (updated.value.changed) {
      this.owners.removeDead(stored.ref);
      this.ports.log.info('A crash was found.', { task: stored.ref.id, diagnosis });
    }
    return ok({ diagnosis, task: updated.value, recorded: updated.value.changed });
  }

  private crashInput(now: StoredTask, finding: CrashFinding, evidence: RecoveryEvidence): TaskInput {
    const plan = planRecovery(now.hook, now.task, evidence, finding.lastSign);
    const at = toTimestamp(this.ports.clock.now());
    return { type: 'crash_detected', recovery: recoveryContext(now.hook, finding, plan, evidence, at) };
  }

  /** The plan for a task as it is now; writes nothing. */
  async plan(stored: StoredTask): Promise<PrintablePlan> {
    const diagnosis = await this.diagnose(stored);
    const evidence = await this.evidence(stored);
    const lastSign = diagnosis.kind === 'crashed' ? diagnosis.lastSign : this.recordedLastSign(stored.hook);
    return { diagnosis, plan: planRecovery(stored.hook, stored.task, evidence, lastSign), drift: evidence.drift ?? [] };
  }

  private recordedLastSign(hook: TaskRecord): number {
    return toMs(recoveryDetails(hook.recovery).lastSignOfLife ?? hook.updated_at);
  }

  /**
   * Recovers an interrupted task: applies the recorded plan, or another action that a human chose. A task that isn't
   * interrupted stays as it is, unless a human takes it over.
   */
  async recover(stored: StoredTask, choice: RecoveryChoice = {}): Promise<Result<Updated>> {
    const { action, by = 'agent', takeOver = false } = choice;
    if (stored.hook.state === 'awaiting_human') {
      return fail('illegal_transition', 'The task is waiting for a human. There is nothing to recover.', {
        hint: 'A human has to decide first.',
      });
    }
    let detected = await this.detect(stored);
    // What really interrupted the task is told, also to a human who takes it over.
    if (detected.ok && detected.value.task.hook.state !== 'recovering' && takeOver && by === 'human')
      detected = await this.record(detected.value.task, (task) => this.asRequested(task));
    if (!detected.ok) return detected;
    if (detected.value.task.hook.state !== 'recovering')
      return ok({ ...detected.value.task, changed: false, findings: [] });
    const chosen = action ?? (await this.recordedAction(detected.value.task));
    if (chosen === 'await_human')
      return fail('illegal_transition', 'The task is waiting for a human. There is nothing to recover.');
    const { config } = await this.configs.forTask(stored.task);
    const seen = detected.value.task.hook;
    const decide = (now: StoredTask): Result<TaskInput> => {
      const input = recoveryInput(chosen, seen, now.hook);
      return input.ok ? ok({ ...input.value, by }) : input;
    };
    const recovered = await this.store.update(stored.ref, decide, { config });
    if (!recovered.ok) return recovered;
    // Whoever found the crash may itself have died before it removed what the dead left behind.
    this.owners.removeDead(stored.ref);
    // Nobody else would repeat the set-up.
    if (recovered.value.hook.state !== 'initializing') return recovered;
    return this.store.send(stored.ref, { type: 'setup_complete' }, { config });
  }

  /** What the recorded plan says; that a validation had passed is looked at again, since files may have changed. */
  private async recordedAction(task: StoredTask): Promise<RecoveryAction> {
    const recorded = toAction(task.hook.recovery?.recommended_action);
    if (recorded !== 'skip_step' || plannedState(task.hook) !== 'step_validating') return recorded;
    return (await this.plan(task)).plan.action;
  }

  private asRequested(task: StoredTask): Diagnosis {
    const found = this.atlas.diagnose(task, 0);
    if (found.kind === 'crashed' && found.cause !== 'silence') return found;
    if (found.kind === 'over' || found.kind === 'recovering') return found;
    return { kind: 'crashed', type: 'unknown', cause: 'requested', lastSign: toMs(task.hook.updated_at) };
  }

  /** What the plan is made from, gathered without the lock. */
  private async evidence(stored: StoredTask): Promise<RecoveryEvidence> {
    const { hook, task, ref } = stored;
    const known = (await gitEvidence(this.ports, stored))?.evidence;
    const partialOutput = this.partialOutput(ref, hook);
    const provenReceipts = await this.provenReceipts(stored);
    return {
      ...defined({ provenReceipts, git: known }),
      drift: await this.drift(hook, task),
      ...defined({ partialOutput }),
    };
  }

  /** Only a validation that was interrupted is decided by receipts. */
  private async provenReceipts(stored: StoredTask): Promise<Set<string> | undefined> {
    if (plannedState(stored.hook) !== 'step_validating' || stored.hook.receipts.length === 0) return undefined;
    const proven = await (await this.atlas.receipts()).proven(stored, { current: true });
    if (proven.ok) return proven.value;
    this.ports.log.warn('Receipts could not be verified.', { error: proven.error.message });
    return undefined;
  }

  /** The files of the last snapshots, compared with what they are now. */
  async drift(hook: TaskRecord, task: Task): Promise<FileDrift[]> {
    const worktree = worktreeOf(task);
    const before = lastSnapshots(hook);
    if (worktree === undefined) return [];
    const paths = [...before.map((file) => file.path), ...(hook.current_step?.files_touched ?? [])];
    return compareSnapshots(before, await takeSnapshots(this.ports.files, worktree, paths, before));
  }

  /** The end of the log of the validation command that was running. */
  private partialOutput(ref: TaskRef, hook: TaskRecord): string | undefined {
    if (hook.state !== 'step_validating') return undefined;
    const event = lastEventOf(hook.history, 'validation_command', 'step_output');
    const log = event?.type === 'validation_command' ? event.details.log : undefined;
    if (log === undefined || log.includes('..')) return undefined;
    const path = artifactPath(this.ports.paths, ref, log);
    const stat = this.ports.files.stat(path);
    if (stat?.kind !== 'file') return undefined;
    const length = Math.min(stat.size, MAX_OUTPUT_LENGTH);
    return Buffer.from(this.ports.files.readAt(path, stat.size - length, length)).toString('utf8');
  }
}

/** An action of a recorded plan; one that this version doesn't know is left to a human. */
function toAction(recorded: string | undefined): RecoveryAction {
  switch (recorded) {
    case 'retry_step':
    case 'retry_from_checkpoint':
    case 'retry_validation':
    case 'skip_step':
    case 'await_human':
      return recorded;
    case undefined:
    default:
      return 'manual';
  }
}
