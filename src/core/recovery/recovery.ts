import { defined } from '../shared/defined';
import { lastEventOf } from '../history/historyEvent';
import { attemptsUsed } from '../task/stepAttempt';
import { STATE_LABELS } from '../task/labels';
import { type DriftKind, type FileDrift, lastCheckpointOf } from '../checkpoint/checkpoint';
import type { TaskRecord, RecoveryAction, RecoveryContext, StepCheckpoint } from '../task/taskRecord';
import type { CrashFinding } from './liveness';
import { type Task, type TaskStep, commandsOf, isHumanStep, isIdempotent, stepTypeOf } from '../task/task';
import { gitEffect, isAiLike } from '../task/templates/template';
import { count, cut, oneLine } from '../shared/text';
import { formatDuration, toMs, toTimestamp } from '../shared/time';

/** A checkpoint younger than this (ms) at the last sign of life is resumed from. */
export const RECENT_CHECKPOINT_MS = 10 * 60_000;

/** The most characters of what an agent's host said of its failure. */
const MAX_FAILURE = 200;

/** What git says about a `git` step; a field is absent when git couldn't say. */
export interface GitEvidence {
  /** Commits (SHA) made in the task's worktree since the step's attempt began, newest first. */
  readonly commitsOfAttempt?: readonly string[];
  readonly clean?: boolean;
  readonly upstreamHasHead?: boolean;
  readonly pullRequest?: boolean;
}

/** What a plan is made from. */
export interface RecoveryEvidence {
  readonly git?: GitEvidence;
  /** Receipts that verify and cover the present tree. */
  readonly provenReceipts?: ReadonlySet<string>;
  /** Files compared with the last checkpoint's snapshots. */
  readonly drift?: readonly FileDrift[];
  /** The last 500 characters of the running validation's log. */
  readonly partialOutput?: string;
}

/** A rule that was looked at: why it matched or didn't. */
export interface RuleOutcome {
  readonly rule: string;
  readonly matched: boolean;
  readonly why: string;
}

/** What to do about a task, and why. */
export interface RecoveryPlan {
  readonly action: RecoveryAction;
  readonly rule: string;
  readonly reason: string;
  /** Every rule in order, up to and with the one that matched. */
  readonly considered: readonly RuleOutcome[];
  readonly checkpoint: StepCheckpoint | undefined;
}

interface Situation {
  readonly hook: TaskRecord;
  readonly task: Task;
  readonly step: TaskStep | undefined;
  readonly evidence: RecoveryEvidence;
  readonly lastSign: number;
  readonly checkpoint: StepCheckpoint | undefined;
}

type Verdict = { readonly action: RecoveryAction; readonly why: string } | string;

/** In this order; a string says why a rule doesn't match. */
const RULES: Readonly<Record<string, (situation: Situation) => Verdict>> = {
  waiting: judgeWaiting,
  initializing: judgeInitializing,
  validation: judgeValidation,
  git: judgeGit,
  attempts: judgeAttempts,
  checkpoint: judgeCheckpoint,
  idempotent: judgeIdempotent,
  otherwise: judgeOtherwise,
};

/** The state that a plan is made for: in `recovering`, that before the crash was detected. */
export function plannedState(hook: TaskRecord): TaskRecord['state'] {
  return hook.state === 'recovering' ? (hook.recovery?.last_known_state ?? 'step_running') : hook.state;
}

/**
 * Makes the plan for a task: the first rule that matches decides. Pure, so that it can be printed before it is done.
 * @param lastSign the last sign of life, ms since the epoch: ages are measured there, not at detection
 */
export function planRecovery(hook: TaskRecord, task: Task, evidence: RecoveryEvidence, lastSign: number): RecoveryPlan {
  const current = hook.current_step;
  const step = current === undefined ? undefined : task.steps[current.step_index];
  const checkpoint = current === undefined ? undefined : lastCheckpointOf(hook, current.step_index, current.attempt);
  const situation: Situation = { hook, task, step, evidence, lastSign, checkpoint };
  const considered: RuleOutcome[] = [];
  for (const [rule, judge] of Object.entries(RULES)) {
    const verdict = judge(situation);
    if (typeof verdict === 'string') {
      considered.push({ rule, matched: false, why: verdict });
      continue;
    }
    const { action, why } = verdict;
    considered.push({ rule, matched: true, why });
    return { action, rule, reason: why, considered, checkpoint: checkpoint ?? hook.checkpoints.at(-1) };
  }
  throw new Error('the last rule matches everything');
}

function judgeWaiting({ hook, step }: Situation): Verdict {
  const state = plannedState(hook);
  if (state === 'awaiting_human')
    return { action: 'await_human', why: 'The task is waiting for a human. Nothing is lost.' };
  if (state !== 'step_pending') return `the task was not waiting (state: ${STATE_LABELS[state]})`;
  return { action: 'retry_step', why: `Step "${step?.name ?? 'next'}" had not started, so it can be started.` };
}

function judgeInitializing({ hook }: Situation): Verdict {
  if (plannedState(hook) !== 'initializing') return 'the task was already set up';
  return { action: 'retry_step', why: 'Setup was interrupted before any work began. It is repeated.' };
}

function judgeValidation({ hook, step, evidence }: Situation): Verdict {
  if (plannedState(hook) !== 'step_validating') return 'no validation was running';
  if (isHumanStep(step)) return 'this step is a human decision';
  const current = hook.current_step;
  const declared = step === undefined ? [] : commandsOf(step);
  const proven = evidence.provenReceipts ?? new Set<string>();
  const own = hook.receipts.filter((item) => item.step_name === current?.step_name && item.attempt === current.attempt);
  const missing = declared.filter((command) => {
    const newest = own.findLast((receipt) => receipt.command === command);
    return newest?.exit_code !== 0 || !proven.has(newest.receipt_id);
  });
  if (declared.length > 0 && missing.length === 0) {
    return {
      action: 'skip_step',
      why: 'Every declared check has a valid receipt of this attempt that passed on the current files.',
    };
  }
  const lacking =
    declared.length === 0
      ? 'its result was not recorded'
      : `${missing.length} of ${count(declared.length, 'declared check')} ${missing.length === 1 ? 'has' : 'have'} no valid, current receipt that passed`;
  return { action: 'retry_validation', why: `Validation was interrupted and ${lacking}. It is run again.` };
}

function judgeGit({ hook, step, evidence }: Situation): Verdict {
  if (step === undefined || stepTypeOf(step) !== 'git') return 'this is not a git step';
  const verdict = judgeEffect(step, evidence.git ?? {});
  // Doing it again would need an attempt: whether it gets one is the next rule's to say.
  const needsAttempt = typeof verdict !== 'string' && verdict.action === 'retry_step';
  return needsAttempt && areSpent(hook) ? `${verdict.why} But no attempts are left` : verdict;
}

function judgeEffect(step: TaskStep, git: GitEvidence): Verdict {
  switch (gitEffect(step.name)) {
    case 'commit':
      return judgeCommit(git);
    case 'push':
      if (git.upstreamHasHead === true)
        return { action: 'skip_step', why: 'The upstream branch contains HEAD, so the push was done.' };
      if (git.upstreamHasHead === false)
        return { action: 'retry_step', why: 'The upstream branch does not contain HEAD, so the push was not done.' };
      return { action: 'manual', why: 'Git has no upstream branch, so it is unknown whether the push was done.' };
    case 'pr':
      if (git.pullRequest === true) return { action: 'skip_step', why: 'The pull request exists.' };
      if (git.pullRequest === false) return { action: 'retry_step', why: 'This branch has no pull request yet.' };
      return {
        action: 'manual',
        why: 'It is unknown whether the pull request was created. Check before creating another.',
      };
    case undefined:
      return {
        action: 'manual',
        why: `Atlas can't tell from git whether step "${step.name}" was done, so a human decides.`,
      };
  }
}

function judgeCommit(git: GitEvidence): Verdict {
  const commits = git.commitsOfAttempt;
  if (commits === undefined) return { action: 'manual', why: 'Git could not report whether the commit was made.' };
  if (commits.length === 0)
    return { action: 'retry_step', why: 'No commit was made in this attempt, so the step is restarted.' };
  if (git.clean === true) {
    return {
      action: 'skip_step',
      why: `Commit ${commits[0]?.slice(0, 12) ?? ''} was made in this attempt and nothing is left uncommitted.`,
    };
  }
  const left =
    git.clean === false ? 'changes are still uncommitted' : 'git could not report whether changes are uncommitted';
  return {
    action: 'manual',
    why: `This attempt made ${count(commits.length, 'commit')}, but ${left}, so a human decides whether the step was done.`,
  };
}

function areSpent({ current_step: step }: TaskRecord): boolean {
  return step !== undefined && step.attempt >= step.max_attempts;
}

function judgeAttempts({ hook }: Situation): Verdict {
  const current = hook.current_step;
  if (current === undefined || !areSpent(hook)) return 'attempts are left';
  return {
    action: 'manual',
    why: `Step "${current.step_name}" has no attempts left (${attemptsUsed(current)}), so a human decides.`,
  };
}

function judgeCheckpoint({ step, checkpoint, lastSign }: Situation): Verdict {
  if (step === undefined || !isAiLike(stepTypeOf(step))) return 'this is not a step for an agent';
  if (checkpoint === undefined) return 'this attempt has no checkpoint';
  const age = lastSign - toMs(checkpoint.created_at);
  const shown = formatDuration(age);
  if (age >= RECENT_CHECKPOINT_MS) return `the last checkpoint was already ${shown} old when the task was interrupted`;
  return {
    action: 'retry_from_checkpoint',
    why: `Checkpoint ${checkpoint.checkpoint_id} was ${age < 1000 ? 'less than 1s' : `only ${shown}`} old when the task was interrupted, so work continues from it.`,
  };
}

function judgeIdempotent({ step }: Situation): Verdict {
  if (isHumanStep(step)) return 'this step is a human decision';
  if (step === undefined || !isIdempotent(step)) return 'the step may have effects that must not happen twice';
  return { action: 'retry_step', why: `Step "${step.name}" can be repeated safely.` };
}

function judgeOtherwise({ step }: Situation): Verdict {
  if (isHumanStep(step)) {
    return { action: 'manual', why: `Step "${step?.name ?? 'unknown'}" is a human decision.` };
  }
  return {
    action: 'manual',
    why: `It is unknown how much of step "${step?.name ?? 'unknown'}" was done, and repeating it may cause harm, so a human decides.`,
  };
}

const DRIFT_WORD: Readonly<Record<DriftKind, string>> = {
  unchanged: 'unchanged',
  changed: 'changed',
  missing: 'missing',
  new: 'new',
  unknown: 'not known',
};

/** The last validation command of the current attempt that history knows, if one was running. */
function runningCommand(hook: TaskRecord): string | undefined {
  const event = lastEventOf(hook.history, 'validation_command', 'step_output');
  return event?.type === 'validation_command' ? event.details.command : undefined;
}

/** What `crash_detected` writes: the finding and the plan, with all that explains them. */
export function recoveryContext(
  hook: TaskRecord,
  finding: CrashFinding,
  plan: RecoveryPlan,
  evidence: RecoveryEvidence,
  now: string,
): RecoveryContext {
  const validating = hook.state === 'step_validating';
  const command = validating ? runningCommand(hook) : undefined;
  const drift = evidence.drift ?? [];
  return {
    detected_at: now,
    crash_type: finding.type,
    last_known_state: hook.state,
    was_validating: validating,
    ...defined({ validation_cmd: command }),
    ...(evidence.partialOutput === undefined ? {} : { partial_output: cut(evidence.partialOutput) }),
    recommended_action: plan.action,
    reason: plan.reason,
    ...(plan.checkpoint === undefined ? {} : { last_checkpoint_id: plan.checkpoint.checkpoint_id }),
    details: {
      cause: finding.cause,
      ...(finding.failure === undefined ? {} : { agent_failure: oneLine(finding.failure, MAX_FAILURE) }),
      last_sign_of_life: toTimestamp(finding.lastSign),
      rule: plan.rule,
      considered: plan.considered.map((outcome) => ({ ...outcome })),
      ...(evidence.git === undefined ? {} : { git: { ...evidence.git } }),
      ...(drift.length === 0
        ? {}
        : { files: drift.map((file) => ({ path: file.path, state: DRIFT_WORD[file.kind] })) }),
    },
  };
}
