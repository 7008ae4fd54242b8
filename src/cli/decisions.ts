import type { Result } from '../core/errors';
import type { HookInput } from '../core/events';
import type { Call } from './call';
import type { CliContext } from './context';
import type { Answer } from './output';
import { drive } from './step';
import { expectedOf } from './taskAnswer';

async function decide(
  context: CliContext,
  call: Call,
  what: string,
  input: HookInput,
  done: string,
): Promise<Result<Answer>> {
  const allowed = context.humanOnly(what);
  if (!allowed.ok) return allowed;
  const expect = expectedOf(call);
  return expect.ok
    ? drive(
        context,
        call,
        expect.value,
        () => input,
        () => done,
      )
    : expect;
}

function reasonOf(call: Call): { readonly reason?: string } {
  const [reason] = call.operands;
  return reason === undefined ? {} : { reason };
}

/** `approve`: accepts the step that waits for a human. */
export async function approve(context: CliContext, call: Call): Promise<Result<Answer>> {
  return decide(context, call, 'approve a step', { type: 'human_approve' }, 'Approved.');
}

/** `reject`: has the step that waits done again. */
export async function reject(context: CliContext, call: Call): Promise<Result<Answer>> {
  return decide(
    context,
    call,
    'reject a step',
    { type: 'human_reject', ...reasonOf(call) },
    'Rejected: the step is done again.',
  );
}

/** `fail`: ends a task as failed. */
export async function failTask(context: CliContext, call: Call): Promise<Result<Answer>> {
  return decide(context, call, 'fail a task', { type: 'fail', ...reasonOf(call) }, 'The task has failed.');
}

/** `abandon`: ends a task that nobody goes on with. */
export async function abandon(context: CliContext, call: Call): Promise<Result<Answer>> {
  return decide(context, call, 'abandon a task', { type: 'abandon', ...reasonOf(call) }, 'The task is abandoned.');
}
