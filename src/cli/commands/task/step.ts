import { defined } from '../../../core/shared/defined';
import { AtlasError } from '../../../core/shared/errors';
import type { Updated } from '../../../core/task/storedTask';
import type { Expected, TaskInput } from '../../../core/transition/events';
import { STATE_LABELS } from '../../../core/task/labels';
import { isHumanStep, worktreeOf } from '../../../core/task/task';
import { insideWorktree } from '../../../system/files/worktreePath';
import { MAX_SUMMARY_LENGTH, oneLine, quoted } from '../../../core/shared/text';
import type { Call } from '../../parse/call';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import type { Answer } from '../../render/output';
import { offeredChecks, offeredLines } from './offeredChecks';
import { type Driven, changed, expectedOf, nextOf, taken, taskToDrive } from './taskAnswer';

/** The most of an output or prompt that is read, in bytes; what is kept of it is much less. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024;

/** Sends one event to the task that is meant. */
export async function drive(
  context: CliContext,
  call: Call,
  expect: Expected,
  input: TaskInput,
  what: string | ((step: string) => string),
): Promise<Answer> {
  return sendTo(context, await taskToDrive(context, call, expect), input, what);
}

async function sendTo(
  context: CliContext,
  driven: Driven,
  input: TaskInput,
  what: string | ((step: string) => string),
): Promise<Answer> {
  const { atlas, stored, expect } = driven;
  const sent = await atlas.send(stored.ref, { ...input, expect, by: context.caller }, { patient: true });
  const step = `"${oneLine(stored.hook.current_step?.step_name ?? '', 64)}"`;
  return changed(context, driven, taken(context, driven, sent), typeof what === 'string' ? what : what(step));
}

/** `step start`: starts the current step; a crashed task's plan is applied first. */
export const startStep: Handler = async (context, call) => {
  const expect = expectedOf(call, call.operands[0]);
  const prompt = await textOf(context, call.text('promptFile'));
  const workingOn = call.text('workingOn');
  const driven = await taskToDrive(context, call);
  const { atlas, stored } = driven;
  const result = await atlas.startStep(stored.ref, { expect, ...defined({ workingOn, prompt }) });
  const started = taken(context, driven, result);
  return answerOfStart(context, driven, started);
};

/** What is said of a step that was started: what to do in it is printed whole. */
async function answerOfStart(context: CliContext, driven: Driven, started: Updated, ended?: string): Promise<Answer> {
  const { hook } = started;
  const name = oneLine(hook.current_step?.step_name ?? '', 64);
  const what =
    hook.state === 'step_running' ? `Step "${name}" is running.` : `Step "${name}": ${STATE_LABELS[hook.state]}.`;
  const toDo = nextOf(driven.atlas, started).markdown;
  const said = ended === undefined ? what : `${ended}\n${what}`;
  const answer = await changed(context, driven, started, said, { to_do: toDo });
  const offered = await offeredChecks(driven.atlas, started);
  const lines = offeredLines(offered).map((line) => `${line}\n`);
  const text = `${answer.text}\n${toDo}${lines.join('')}`;
  return { ...answer, text, data: { ...answer.data, offered_checks: offered } };
}

/** The answer of a command that ended a step; with `--start-next`, the next one is started first. */
export async function afterStep(
  context: CliContext,
  call: Call,
  driven: Driven,
  ended: Updated,
  what: string,
  more: object = {},
): Promise<Answer> {
  const ready = ended.hook.state === 'step_pending' && ended.hook.current_step !== undefined;
  if (!call.flag('startNext') || !ready) return changed(context, driven, ended, what, more);
  const started = await driven.atlas.startStep(ended.ref);
  if (started.ok) {
    const answer = await answerOfStart(context, driven, started.value, what);
    return { ...answer, data: { ...answer.data, ...more } };
  }
  const answer = await changed(context, driven, ended, what, more);
  return { ...answer, notes: [...(answer.notes ?? []), `The next step was not started: ${started.error.message}`] };
}

/** The summary that a command line gives, or names a file for. Refused where it is too long to be kept whole. */
export async function summaryOf(context: CliContext, call: Call): Promise<{ readonly summary?: string }> {
  const given = call.text('summary');
  const file = call.text('summaryFile');
  if (given !== undefined && file !== undefined)
    throw new AtlasError('usage', 'Give a summary by --summary or by --summary-file, not by both.');
  const summary = given ?? (await textOf(context, file));
  if (summary !== undefined && summary.length > MAX_SUMMARY_LENGTH) {
    const most = MAX_SUMMARY_LENGTH.toLocaleString('en');
    const message = `The summary has ${summary.length.toLocaleString('en')} characters. At most ${most} are kept.`;
    throw new AtlasError('usage', message, {
      hint: 'Put the details into a file of the repository, and name that file in a shorter summary.',
    });
  }
  return defined({ summary });
}

/** A file's text where one is named. */
async function textOf(context: CliContext, file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : context.readText(file, MAX_TEXT_BYTES);
}

/** `step note`: says what is being worked on. */
export const note: Handler = async (context, call) => {
  const expect = expectedOf(call);
  const prompt = await textOf(context, call.text('promptFile'));
  const workingOn = call.operands[0] ?? call.text('workingOn');
  const lastOutput = call.text('output');
  const files = call.list('file');
  const input: TaskInput = {
    type: 'note',
    ...defined({ workingOn, lastOutput, prompt }),
    // Whoever notes nothing says that it is there.
    ...(workingOn === undefined && lastOutput === undefined && files.length === 0 ? { stillWorking: true } : {}),
  };
  const driven = await taskToDrive(context, call, expect, 'progress');
  const worktree = worktreeOf(driven.stored.task);
  const touched = files.length === 0 ? {} : { filesTouched: files.map((file) => ofRepository(file, worktree)) };
  return sendTo(context, driven, { ...input, ...touched }, 'Noted.');
};

/** A file's path as a task records it. Refused where it leads out of the task's repository. */
function ofRepository(file: string, worktree: string | undefined): string {
  const inside = worktree === undefined ? file : insideWorktree(worktree, file);
  if (inside !== undefined) return inside;
  throw new AtlasError('unsafe_path', `${quoted(file)} is not a file of the task's repository.`, {
    hint: `Name it relative to ${oneLine(worktree ?? '', 300)}.`,
  });
}

/** `step output`: submits the step's output, which is then validated. */
export const output: Handler = async (context, call) => {
  const expect = expectedOf(call);
  const input: TaskInput = { type: 'step_output', ...defined({ output: await textOf(context, call.operands[0]) }) };
  return drive(context, call, expect, input, (step) => `Output of step ${step} submitted.`);
};

/** `step complete`: ends a step that declares no checks. */
export const complete: Handler = async (context, call) => {
  const expect = expectedOf(call, call.operands[0]);
  const summary = await summaryOf(context, call);
  const driven = await taskToDrive(context, call, expect);
  const { ref, hook } = driven.stored;
  const input: TaskInput = {
    type: 'step_complete',
    ...summary,
    ...defined({ nothingToDo: call.text('nothingToDo') }),
    expect,
    by: context.caller,
  };
  const ended = taken(context, driven, await driven.atlas.send(ref, input, { patient: true }));
  const name = oneLine(hook.current_step?.step_name ?? '', 64);
  return afterStep(context, call, driven, ended, `Step "${name}" completed.`);
};

/** `step ask`: asks the human; on a human's step, for their review. */
export const ask: Handler = async (context, call) => {
  const driven = await taskToDrive(context, call, expectedOf(call));
  const { hook, task } = driven.stored;
  const kind = isHumanStep(task.steps[hook.current_step?.step_index ?? -1]) ? 'review' : 'question';
  const input: TaskInput = { type: 'human_required', kind, message: call.operands[0] ?? '' };
  return sendTo(context, driven, input, 'The question was sent to the human. Stop here until they answer.');
};

/** `step fail`: says that the step can't be done. */
export const failStep: Handler = async (context, call) => {
  const input: TaskInput = { type: 'human_required', kind: 'step_failed', message: call.operands[0] ?? '' };
  const what = (step: string): string => `Step ${step} is reported as failed. A human decides what to do next.`;
  return drive(context, call, expectedOf(call), input, what);
};
