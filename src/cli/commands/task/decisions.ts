import { defined } from '../../../core/shared/defined';
import { unwrap } from '../../../core/shared/errors';
import type { HUMAN_EVENTS } from '../../../core/transition/states';
import { foreignEdits } from '../../../core/task/foreignEdits';
import type { StoredTask } from '../../../core/task/storedTask';
import type { Handler } from '../../parse/commandLine';
import { drive } from './step';
import { changed, expectedOf, taskToRead } from './taskAnswer';

/** What a human decides about a task, with the reason that is given: as an operand, or where there is none by `--reason`. */
function decision(type: Exclude<(typeof HUMAN_EVENTS)[number], 'restore'>, what: string, done: string): Handler {
  return async (context, call) => {
    context.humanOnly(what);
    const reason = call.operands[0] ?? call.text('reason');
    return drive(context, call, expectedOf(call), { type, ...defined({ reason }) }, done);
  };
}

/** `approve`: accepts the step that waits for a human. */
export const approve = decision('human_approve', 'approve a step', 'Approved.');

/** `answer`: records what a human said to a question, and continues the step; an agent may pass on what it was told. */
export const answer: Handler = async (context, call) => {
  const said = call.operands[0] ?? '';
  const input = { type: 'human_resume', answer: said } as const;
  return drive(context, call, expectedOf(call), input, 'The answer is recorded. The step continues.');
};

/** `reject`: has the step that waits done again. */
export const reject = decision('human_reject', 'reject a step', 'Rejected. The step is sent back.');

/** `fail`: ends a task as failed. */
export const failTask = decision('fail', 'mark a task as failed', 'The task is marked as failed.');

/** `abandon`: ends a task that nobody goes on with. */
export const abandon = decision('abandon', 'abandon a task', 'The task is abandoned.');

/** Whether a task has an edit from outside, recorded or not yet. */
function mayBeEdited(task: StoredTask & { readonly suspect?: boolean }): boolean {
  return task.suspect === true || foreignEdits(task.hook) !== undefined;
}

/** `acknowledge`: a human has seen that hook.json was changed from outside; that can be of a task that is over by now. */
export const acknowledge: Handler = async (context, call) => {
  context.humanOnly('acknowledge an edit made outside Atlas');
  const isEdited = { what: 'an edit to acknowledge', of: mayBeEdited };
  const chosen = await taskToRead(context, call, call.text('task') === undefined ? isEdited : undefined);
  const atlas = await context.drive();
  const sent = unwrap(await atlas.send(chosen.stored.ref, { type: 'acknowledge', by: context.caller }));
  const done = 'Acknowledged. The edit is no longer reported, but stays in the history.';
  return changed(context, { ...chosen, atlas, expect: {} }, sent, done);
};
