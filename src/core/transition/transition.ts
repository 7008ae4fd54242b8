import { hasGitCheckpoint } from '../checkpoint/checkpoint';
import { MAX_DESCRIPTION, TransitionBuilder } from './transitionBuilder';
import { oneLine } from '../shared/text';
import { humanDecision } from './authority';
import { applyEffect } from './effects';
import type { Caller, Expected, TaskInput, TransitionContext, Transitioned } from './events';
import { type Result, fail, ok } from '../shared/errors';
import { freezeTask } from '../task/frozenSteps';
import { guardOf } from './guards';
import { type TaskRecord, SCHEMA_VERSION } from '../task/taskRecord';
import { possibleNow } from './possible';
import { whyRefused } from './refusals';
import { type TaskEventType, targetsOf } from './states';
import { failedChecks, passesOverFailure } from '../task/acceptedFailure';
import { nextAttempt } from '../task/stepAttempt';

function illegal(
  hook: TaskRecord | undefined,
  { type: event, by = 'agent' }: TaskInput,
  { task }: TransitionContext,
  why?: string,
): Result<never> {
  return fail('illegal_transition', why ?? whyRefused(hook, event), { hint: possibleNow(hook, task, by) });
}

/** What only a human decides is refused to everybody else, whatever way it came. */
function refuseDecision(hook: TaskRecord, type: TaskEventType, by: Caller): Result<never> | undefined {
  const decision = by === 'human' ? undefined : humanDecision(hook, type);
  if (decision === undefined) return undefined;
  return fail('human_only', `Only a human may ${decision}.`, {
    hint: 'Ask the human to decide, in the editor or in their own terminal.',
  });
}

/** Whoever accepts what a check refused says why (`reason_needed`): the reason stays with the task. */
function refuseWithoutReason(hook: TaskRecord, input: TaskInput): Result<never> | undefined {
  if (input.type !== 'human_approve' || oneLine(input.reason ?? '') !== '' || !passesOverFailure(hook))
    return undefined;
  const [failed] = failedChecks(hook);
  const what = failed === undefined ? 'A check' : `The check "${oneLine(failed.command, 80)}"`;
  return fail('reason_needed', `${what} failed. Accepting the step despite it needs a reason, which is recorded.`, {
    hint: 'Give one: atlas approve --reason "<why>"',
  });
}

/** A new hook in `initializing`. */
function initialHook(context: TransitionContext): TaskRecord {
  return {
    version: SCHEMA_VERSION,
    task_id: context.task.id,
    workspace_id: context.task.workspace_id,
    created_at: context.now,
    updated_at: context.now,
    state: 'initializing',
    current_step: undefined,
    history: [
      {
        timestamp: context.now,
        from_state: '',
        to_state: 'initializing',
        trigger: 'init',
        details: freezeTask(context.task),
      },
    ],
    recovery: undefined,
    checkpoints: [],
    receipts: [],
    worktree_state: undefined,
    schema_version: SCHEMA_VERSION,
  };
}

/**
 * Applies one event to a hook. Pure: the same arguments give the same result, and a refusal has changed nothing.
 * @param hook the hook as read, or `undefined` for a task that has none yet
 * @returns the hook after the event, or why it is refused (`illegal_transition`, `stale_caller`, `human_only`, `reason_needed`)
 */
export function transition(
  hook: TaskRecord | undefined,
  input: TaskInput,
  context: TransitionContext,
): Result<Transitioned> {
  const state = hook?.state ?? 'none';
  const { step } = input.expect ?? {};
  // Whoever means another step learns that first: what this one takes doesn't concern them.
  const other = hook?.current_step !== undefined && step !== undefined && step !== hook.current_step.step_name;
  if (!other && targetsOf(state, input.type).length === 0) return illegal(hook, input, context);
  if (hook === undefined) return ok({ hook: initialHook(context), changed: true });
  const stale = checkExpected(hook, input);
  if (stale !== undefined) return stale;
  const decision = refuseDecision(hook, input.type, input.by ?? 'agent');
  if (decision !== undefined) return decision;
  const refused = guardOf(hook, input, context);
  if (refused !== undefined) return illegal(hook, input, context, refused);
  const unreasoned = refuseWithoutReason(hook, input);
  if (unreasoned !== undefined) return unreasoned;
  if (isRepetition(hook, input)) return ok({ hook, changed: false });
  const draft = new TransitionBuilder(hook, context);
  applyEffect(draft, input);
  return ok(draft.finish());
}

const READ_AGAIN = 'Read HOOK.md again: another session or a human has changed the task.';

/** Refuses a caller that believes the task to be at another step or attempt (`stale_caller`). */
export function checkExpected(
  hook: TaskRecord,
  input: { readonly type: TaskInput['type']; readonly expect?: Expected | undefined },
): Result<never> | undefined {
  const { step, attempt } = input.expect ?? {};
  const current = hook.current_step;
  if (step !== undefined && step !== current?.step_name) {
    const is = current === undefined ? 'the task has no step left' : `the current step is "${current.step_name}"`;
    return fail('stale_caller', `You expected step ${JSON.stringify(step)}, but ${is}.`, { hint: READ_AGAIN });
  }
  const expected = input.type === 'start_step' && current !== undefined ? nextAttempt(current) : current?.attempt;
  if (attempt === undefined || attempt === expected) return undefined;
  const is = expected === undefined ? 'the task has no step left' : `the step is at attempt ${expected}`;
  const message = `You expected attempt ${attempt}, but ${is}.`;
  return fail('stale_caller', message, { hint: READ_AGAIN });
}

/** Whether the current step recorded a pull request in these words already. */
function hasPullRequest({ checkpoints, current_step: step }: TaskRecord, description: string): boolean {
  const text = oneLine(description, MAX_DESCRIPTION);
  return checkpoints.some(
    (each) => each.trigger === 'pr_created' && each.step_index === step?.step_index && each.description === text,
  );
}

function isRepetition(hook: TaskRecord, input: TaskInput): boolean {
  if (input.type === 'crash_detected') return hook.state === 'recovering';
  if (input.type !== 'checkpoint') return false;
  // Whoever goes on after a kill records the same pull request again.
  if (input.trigger === 'pr_created' && input.source === undefined) return hasPullRequest(hook, input.description);
  return input.source !== undefined && hasGitCheckpoint(hook, input.trigger, input.source);
}
