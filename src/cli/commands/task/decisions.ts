import { type Result, ok } from '../../../core/shared/errors';
import type { TaskInput } from '../../../core/transition/events';
import { foreignEdits } from '../../../core/task/foreignEdits';
import type { StoredTask } from '../../../core/task/storedTask';
import type { Call } from '../../parse/call';
import type { CliContext } from '../../context';
import type { Answer } from '../../render/output';
import { drive } from './step';
import { changed, expectedOf, taskToRead } from './taskAnswer';

async function decide(
  context: CliContext,
  call: Call,
  what: string,
  input: TaskInput,
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
    'Rejected. The step is sent back.',
  );
}

/** Whether a task has an edit from outside, recorded or not yet. */
function mayBeEdited(task: StoredTask & { readonly suspect?: boolean }): boolean {
  return task.suspect === true || foreignEdits(task.hook) !== undefined;
}

/** `acknowledge`: a human has seen that hook.json was changed from outside; that can be of a task that is over by now. */
export async function acknowledge(context: CliContext, call: Call): Promise<Result<Answer>> {
  const allowed = context.humanOnly('acknowledge an edit made outside Atlas');
  if (!allowed.ok) return allowed;
  const isEdited = { what: 'an edit to acknowledge', of: mayBeEdited };
  const chosen = await taskToRead(context, call, call.text('task') === undefined ? isEdited : undefined);
  if (!chosen.ok) return chosen;
  const atlas = await context.drive();
  const sent = await atlas.send(chosen.value.stored.ref, { type: 'acknowledge', by: context.caller });
  if (!sent.ok) return sent;
  const done = 'Acknowledged. The edit is no longer reported, but stays in the history.';
  return ok(changed(context, { ...chosen.value, atlas, expect: {} }, sent.value, done));
}

/** `fail`: ends a task as failed. */
export async function failTask(context: CliContext, call: Call): Promise<Result<Answer>> {
  return decide(
    context,
    call,
    'mark a task as failed',
    { type: 'fail', ...reasonOf(call) },
    'The task is marked as failed.',
  );
}

/** `abandon`: ends a task that nobody goes on with. */
export async function abandon(context: CliContext, call: Call): Promise<Result<Answer>> {
  return decide(context, call, 'abandon a task', { type: 'abandon', ...reasonOf(call) }, 'The task is abandoned.');
}
