import { defined } from '../shared/defined';
import { type HistoryEventType, type WrittenDetails, eventsOf } from '../history/historyEvent';
import { type GitSource, pruneCheckpoints } from '../checkpoint/checkpoint';
import type { TransitionContext, Transitioned } from './events';
import {
  type CheckpointTrigger,
  type TaskRecord,
  type RecordedEvent,
  type TaskState,
  type RecoveryContext,
  type StepCheckpoint,
  type StepContext,
  type ValidationReceipt,
  recordedEventSchema,
  recoveryContextSchema,
  stepCheckpointSchema,
  stepContextSchema,
  validationReceiptSchema,
} from '../task/taskRecord';
import { type WorktreeState, worktreeStateSchema } from '../task/worktreeState';
import { oneLine } from '../shared/text';

/** The most characters of a description or of what is being worked on. */
export const MAX_DESCRIPTION = 500;

/** Collects the parts of one write: a working copy, to which history and checkpoints are appended. */
export class TransitionBuilder {
  readonly history: RecordedEvent[];
  checkpoints: StepCheckpoint[];
  receipts: ValidationReceipt[];
  state: TaskState;
  step: StepContext | undefined;
  recovery: RecoveryContext | undefined;
  worktree: WorktreeState | undefined;
  private used = 0;

  constructor(
    readonly before: TaskRecord,
    readonly context: TransitionContext,
  ) {
    this.history = [...before.history];
    this.checkpoints = before.checkpoints;
    this.receipts = before.receipts;
    this.state = before.state;
    this.step = before.current_step;
    this.recovery = before.recovery;
    const { remotes, base_branch: base } = before.worktree_state ?? {};
    const seen = context.capture?.worktree;
    // Not every look asks for what changes rarely.
    const kept = seen?.remotes === undefined ? defined({ remotes, base_branch: base }) : {};
    this.worktree = seen === undefined ? before.worktree_state : { ...kept, ...seen };
  }

  get stepName(): string | undefined {
    return this.step?.step_name;
  }

  /** Moves to a state and records the event in the history. */
  record(
    trigger: Exclude<HistoryEventType, 'init' | 'other' | 'adopted_edit'>,
    to: TaskState,
    details: WrittenDetails = {},
    stepName: string | undefined = this.stepName,
  ): void {
    const all = { ...this.stepDetails(), ...details };
    this.history.push({
      timestamp: this.context.now,
      from_state: this.state,
      to_state: to,
      trigger,
      ...defined({ step_name: stepName }),
      ...(Object.keys(all).length === 0 ? {} : { details: all }),
    });
    this.state = to;
  }

  private stepDetails(): WrittenDetails {
    return this.step === undefined ? {} : { step_index: this.step.step_index, attempt: this.step.attempt };
  }

  /** Makes a checkpoint of the current step, or of the one that ran at `at`, and records it. */
  checkpoint(trigger: CheckpointTrigger, description: string, source?: GitSource, at?: string): void {
    const current = this.step;
    if (current === undefined) return;
    const id = this.context.checkpointIds[this.used === 0 ? 0 : 1];
    this.used += 1;
    const late = at !== undefined && at < this.context.now ? at : undefined;
    const step = (late === undefined ? undefined : stepRunningAt(this.before, late)) ?? current;
    const made = makeCheckpoint({ id, trigger, description, step, source, at: late }, this.before, this.context);
    this.checkpoints = pruneCheckpoints([...this.checkpoints, made], this.context.config.maxCheckpoints);
    if (step.step_index === current.step_index) this.step = this.withTouched({ ...current, current_checkpoint_id: id });
    const { worktree } = this;
    if (worktree !== undefined && made.git_commit !== undefined && worktree.head === made.git_commit) {
      const { since_is_gone: _gone, ...rest } = worktree;
      this.worktree = { ...rest, since: made.git_commit, commits: [], commits_total: 0 };
    }
    this.record('checkpoint', this.state, {
      checkpoint_id: id,
      trigger,
      step_index: step.step_index,
      attempt: step.attempt,
      ...(source === undefined ? {} : { commit: source.commit, repository: source.repository }),
      ...defined({ ref: source?.ref, at: late }),
    });
  }

  /** While a step runs, what git reports as changed is its work. */
  private withTouched(step: StepContext): StepContext {
    const touched = this.context.capture?.touched ?? [];
    if (this.before.state !== 'step_running' || touched.length === 0) return step;
    return { ...step, files_touched: [...new Set([...(step.files_touched ?? []), ...touched])] };
  }

  /**
   * The hook after the event. What is new in it is made what a reader of the file will read (fields in the schemas'
   * order, times normalised): only then do the journal's changes, replayed one after the other, give the same bytes.
   */
  finish(): Transitioned {
    const { before, step, recovery } = this;
    const { current_step: _step, recovery: _recovery, worktree_state: _worktree, ...rest } = before;
    const worktree = this.worktree;
    const hook: TaskRecord = {
      ...rest,
      updated_at: this.context.now,
      state: this.state,
      current_step: step === undefined || step === before.current_step ? step : stepContextSchema.parse(step),
      history: asRead(this.history, before.history, (event) => recordedEventSchema.parse(event)),
      recovery:
        recovery === undefined || recovery === before.recovery ? recovery : recoveryContextSchema.parse(recovery),
      checkpoints: asRead(this.checkpoints, before.checkpoints, (item) => stepCheckpointSchema.parse(item)),
      receipts: asRead(this.receipts, before.receipts, (item) => validationReceiptSchema.parse(item)),
      worktree_state: worktree === undefined ? undefined : worktreeStateSchema.parse(worktree),
    };
    return { hook, changed: true };
  }
}

/** A list with the items that weren't there before as a reader will read them. */
function asRead<T>(now: readonly T[], before: readonly T[], parse: (item: T) => T): T[] {
  const changed = now.findIndex((item, index) => item !== before[index]);
  if (changed === -1) return [...now];
  const known = new Set(before.slice(changed));
  return [...now.slice(0, changed), ...now.slice(changed).map((item) => (known.has(item) ? item : parse(item)))];
}

interface Making {
  readonly id: string;
  readonly trigger: CheckpointTrigger;
  readonly description: string;
  readonly step: StepAt;
  readonly source: GitSource | undefined;
  readonly at: string | undefined;
}

type StepAt = Pick<StepContext, 'step_name' | 'step_index' | 'attempt'>;

/** The step that was started last before a time; `undefined` when the history doesn't tell. */
function stepRunningAt(hook: TaskRecord, at: string): StepAt | undefined {
  const started = eventsOf(hook.history, 'start_step').findLast((event) => event.timestamp <= at);
  const { step_index: index, attempt } = started?.details ?? {};
  if (started?.step_name === undefined || index === undefined || attempt === undefined) return undefined;
  return { step_name: started.step_name, step_index: index, attempt };
}

function makeCheckpoint(making: Making, before: TaskRecord, context: TransitionContext): StepCheckpoint {
  const { id, trigger, step, source } = making;
  const { git, files, artifacts } = context.capture ?? {};
  const known = new Set(before.checkpoints.flatMap((checkpoint) => checkpoint.artifacts ?? []));
  const fresh = (artifacts ?? []).filter((path) => !known.has(path));
  const commit = trigger === 'git_commit' && source !== undefined ? source.commit : git?.commit;
  return {
    checkpoint_id: id,
    created_at: making.at ?? context.now,
    step_name: step.step_name,
    step_index: step.step_index,
    attempt: step.attempt,
    description: oneLine(making.description, MAX_DESCRIPTION),
    trigger,
    git_branch: git?.branch ?? '',
    ...defined({ git_commit: commit, git_dirty: git?.dirty }),
    ...(fresh.length === 0 ? {} : { artifacts: fresh }),
    ...(files === undefined || files.length === 0 ? {} : { files_snapshot: [...files] }),
  };
}
