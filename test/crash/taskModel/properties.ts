import type { TaskInput } from '../../../src/core/transition/events';
import type { TaskRecord } from '../../../src/core/task/taskRecord';
import { type RecoveryPlan, planRecovery } from '../../../src/core/recovery/recovery';
import { nextAttempt } from '../../../src/core/task/stepAttempt';
import { commandsOf, isIdempotent } from '../../../src/core/task/task';
import { type GitEffect, isAiLike } from '../../../src/core/task/templates/template';
import { toMs } from '../../../src/core/shared/time';
import { type Setting, type State, type Writer, effectOf, evidenceOf, holds, sent } from './world';
import { pendingInput } from './writer';

/* What has to hold in every state of the model. Each is a throw, to which the explorer adds the way there. */

/** A property that doesn't hold. */
export class Violation extends Error {}

function must(holdsTrue: boolean, property: string): void {
  if (!holdsTrue) throw new Violation(property);
}

/** Events of which two racing writers can't both have one: only the first is accepted. */
const EXCLUSIVE: ReadonlySet<Writer['at']> = new Set([
  'create',
  'setup',
  'start',
  'output',
  'complete',
  'pass',
  'recover',
]);

/** What holds whenever an event of a writer was accepted. */
export function checkAccepted(setting: Setting, state: State, index: 0 | 1, input: TaskInput, after: TaskRecord): void {
  const writer = state.writers[index];
  const step = state.hook?.current_step;
  if (input.expect !== undefined) {
    const attempt = writer.at === 'start' && step !== undefined ? nextAttempt(step) : step?.attempt;
    must(
      step?.step_index === writer.step && attempt === writer.attempt,
      `${input.type} of step ${writer.step}, attempt ${writer.attempt} was accepted at another one`,
    );
  }
  const other = state.writers[index === 0 ? 1 : 0];
  if (other.life === 'killed') return;
  const rival = pendingInput(setting, state.hook, other);
  if (rival === undefined || other.at !== writer.at) return;
  if (EXCLUSIVE.has(writer.at)) {
    must(sent(setting, after, rival) === undefined, `both of two racing ${input.type} were accepted`);
  } else if (writer.at === 'receipt') {
    must(sent(setting, state.hook, rival) === undefined, 'the receipts of two validations at once were both accepted');
  }
}

/** What holds when a step is left for the next one. */
export function checkAdvance(setting: Setting, state: State, input: TaskInput): void {
  const index = state.hook?.current_step?.step_index ?? -1;
  // A human may decide that a step is done; what they saw is theirs to judge.
  if (input.type === 'human_approve') return;
  must(isDone(setting, state, index), `${input.type} left step ${index}, whose effect did not happen`);
}

function isDone(setting: Setting, { hook, world }: State, index: number): boolean {
  switch (effectOf(setting, index)) {
    case 'commit':
      return world.commit === 'all';
    case 'push':
      return world.pushed;
    case 'pr':
      return world.pullRequest;
    case 'work':
      return world.worked > 0;
    case 'human':
      return false;
    case 'validation': {
      const own = (hook?.receipts ?? []).filter(
        ({ step_name: name, attempt }) =>
          name === hook?.current_step?.step_name && attempt === hook.current_step.attempt,
      );
      const declared = commandsOf(setting.task.steps[index] ?? { name: '', type: '', status: '', attempts: 0 });
      if (declared.length === 0) return own.some((receipt) => receipt.exit_code === 0);
      return declared.every((command) => own.findLast((receipt) => receipt.command === command)?.exit_code === 0);
    }
  }
}

/** What holds when a writer is about to commit, push or make a pull request: it is the first to do so. */
export function checkExecution(setting: Setting, state: State, writer: Writer, effect: GitEffect): void {
  if (!holds(writer, state.hook) || state.world.excused) return;
  must(state.world.happened[effect] === 0, `the ${effect} of step ${writer.step} was done a second time`);
  must(!isDone(setting, state, writer.step), `the ${effect} was there when it was done`);
}

/** What holds for a recorded crash: the plan fits what really happened, and finding it again changes nothing. */
export function checkDetection(
  setting: Setting,
  state: State,
  plan: RecoveryPlan,
  input: TaskInput,
  after: TaskRecord,
): void {
  const before = state.hook;
  if (before === undefined) return;
  const again = sent(setting, after, input);
  // The same object, so that its bytes are the same too.
  must(again === after, 'a crash that was found twice was recorded twice');
  const lastSign = toMs(before.updated_at);
  const replanned = planRecovery(after, setting.task, evidenceOf(setting, state), lastSign);
  must(replanned.action === plan.action, `planned again in recovering: ${replanned.action}, not ${plan.action}`);
  checkPlan(setting, state, before, plan);
}

function checkPlan(setting: Setting, state: State, hook: TaskRecord, plan: RecoveryPlan): void {
  const step = hook.current_step;
  if (step === undefined) {
    must(plan.action === 'retry_step', `an interrupted set-up: ${plan.action}`);
    return;
  }
  const planned = setting.task.steps[step.step_index];
  const effect = effectOf(setting, step.step_index);
  const done = isDone(setting, state, step.step_index);
  const { action } = plan;
  if (hook.state === 'step_validating') {
    const { provenReceipts } = evidenceOf(setting, state);
    const declared = commandsOf(planned ?? { name: '', type: '', status: '', attempts: 0 });
    const own = hook.receipts.filter((item) => item.step_name === step.step_name && item.attempt === step.attempt);
    const proven = declared.map((command) => own.findLast((receipt) => receipt.command === command));
    const all =
      declared.length > 0 && proven.every((receipt) => provenReceipts?.has(receipt?.receipt_id ?? '') === true);
    must(action === (all ? 'skip_step' : 'retry_validation'), `validation with ${String(all)} proof: ${action}`);
    return;
  }
  if (effect === 'commit' || effect === 'push' || effect === 'pr') {
    const reported = hook.checkpoints.some((item) => item.trigger === 'pr_created' && item.attempt === step.attempt);
    if (!setting.sighted && !(effect === 'pr' && reported)) must(action === 'manual', `${effect} not seen: ${action}`);
    if (action === 'skip_step') must(done, `the plan skips a ${effect} that did not happen`);
    // Another attempt's commit is no evidence for this one; whoever repeats it finds nothing left to commit.
    if (action === 'retry_step' && !state.world.excused) must(!done, `the plan repeats a ${effect} that happened`);
    return;
  }
  must(action !== 'skip_step', 'the plan skips work that nothing proves');
  if (planned === undefined || isIdempotent(planned)) return;
  const checkpoint = hook.checkpoints.findLast(
    ({ step_index: index, attempt }) => index === step.step_index && attempt === step.attempt,
  );
  const age = checkpoint === undefined ? Infinity : toMs(hook.updated_at) - toMs(checkpoint.created_at);
  const goesOn = isAiLike(planned.type) && age < 10 * 60_000 && step.attempt < step.max_attempts;
  must(action === (goesOn ? 'retry_from_checkpoint' : 'manual'), `work that can't be known: ${action}`);
}
