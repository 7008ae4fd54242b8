import { defined } from '../../../core/shared/defined';
import { type Result, ok } from '../../../core/shared/errors';
import type { Expected, TaskInput } from '../../../core/transition/events';
import { STATE_LABELS } from '../../../core/task/labels';
import { isHumanStep } from '../../../core/task/task';
import { oneLine } from '../../../core/shared/text';
import type { Call } from '../../parse/call';
import type { CliContext } from '../../context';
import type { Answer } from '../../render/output';
import { type Driven, changed, expectedOf, nextOf, refusal, taskToDrive } from './taskAnswer';

/** The most of an output or prompt that is read, in bytes; what is kept of it is much less. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024;

/** Sends one event to the task that is meant. */
export async function drive(
  context: CliContext,
  call: Call,
  expect: Expected,
  make: (driven: Driven) => TaskInput,
  what: (driven: Driven) => string,
): Promise<Result<Answer>> {
  const driven = await taskToDrive(context, call, expect);
  if (!driven.ok) return driven;
  const { atlas, stored } = driven.value;
  const sent = await atlas.send(stored.ref, { ...make(driven.value), expect, by: context.caller }, { patient: true });
  if (!sent.ok) return { ok: false, error: refusal(context, driven.value, sent.error) };
  return ok(changed(context, driven.value, sent.value, what(driven.value)));
}

function nameOf({ stored }: Driven): string {
  return `"${oneLine(stored.hook.current_step?.step_name ?? '', 64)}"`;
}

/** `step start`: starts the current step; a crashed task's plan is applied first. */
export async function startStep(context: CliContext, call: Call): Promise<Result<Answer>> {
  const expect = expectedOf(call, call.operands[0]);
  if (!expect.ok) return expect;
  const prompt = await textOf(context, call.text('promptFile'));
  if (!prompt.ok) return prompt;
  const workingOn = call.text('workingOn');
  const driven = await taskToDrive(context, call);
  if (!driven.ok) return driven;
  const { atlas, stored } = driven.value;
  const started = await atlas.startStep(stored.ref, {
    expect: expect.value,
    ...defined({ workingOn, prompt: prompt.value }),
  });
  if (!started.ok) return { ok: false, error: refusal(context, driven.value, started.error) };
  const { hook } = started.value;
  const name = oneLine(hook.current_step?.step_name ?? '', 64);
  const what =
    hook.state === 'step_running' ? `Step "${name}" is running.` : `Step "${name}": ${STATE_LABELS[hook.state]}.`;
  const toDo = nextOf(atlas, started.value).markdown;
  const answer = changed(context, driven.value, started.value, what, { to_do: toDo });
  return ok({ ...answer, text: `${answer.text}\n${toDo}` });
}

/** A file's text where one is named. */
async function textOf(context: CliContext, file: string | undefined): Promise<Result<string | undefined>> {
  return file === undefined ? ok(undefined) : context.readText(file, MAX_TEXT_BYTES);
}

/** `step note`: says what is being worked on. */
export async function note(context: CliContext, call: Call): Promise<Result<Answer>> {
  const expect = expectedOf(call);
  if (!expect.ok) return expect;
  const prompt = await textOf(context, call.text('promptFile'));
  if (!prompt.ok) return prompt;
  const workingOn = call.operands[0] ?? call.text('workingOn');
  const lastOutput = call.text('output');
  const files = call.list('file');
  const input: TaskInput = {
    type: 'note',
    ...defined({ workingOn, lastOutput, prompt: prompt.value }),
    ...(files.length === 0 ? {} : { filesTouched: files }),
    // Whoever notes nothing says that it is there.
    ...(workingOn === undefined && lastOutput === undefined && files.length === 0 ? { stillWorking: true } : {}),
  };
  return drive(
    context,
    call,
    expect.value,
    () => input,
    () => 'Noted.',
  );
}

/** `step output`: submits the step's output, which is then validated. */
export async function output(context: CliContext, call: Call): Promise<Result<Answer>> {
  const expect = expectedOf(call);
  if (!expect.ok) return expect;
  const text = await textOf(context, call.operands[0]);
  if (!text.ok) return text;
  const input: TaskInput = { type: 'step_output', ...defined({ output: text.value }) };
  return drive(
    context,
    call,
    expect.value,
    () => input,
    (driven) => `Output of step ${nameOf(driven)} submitted.`,
  );
}

/** `step complete`: ends a step that declares no checks. */
export async function complete(context: CliContext, call: Call): Promise<Result<Answer>> {
  const expect = expectedOf(call, call.operands[0]);
  if (!expect.ok) return expect;
  const text = await textOf(context, call.text('outputFile'));
  if (!text.ok) return text;
  const input: TaskInput = { type: 'step_complete', ...defined({ output: text.value }) };
  return drive(
    context,
    call,
    expect.value,
    () => input,
    (driven) => `Step ${nameOf(driven)} completed.`,
  );
}

/** Hands the step to the human, with what the agent has to say. */
async function handOver(
  context: CliContext,
  call: Call,
  kindOf: (driven: Driven) => 'review' | 'question' | 'step_failed',
  what: (driven: Driven) => string,
): Promise<Result<Answer>> {
  const expect = expectedOf(call);
  if (!expect.ok) return expect;
  const message = call.operands[0] ?? '';
  return drive(
    context,
    call,
    expect.value,
    (driven) => ({ type: 'human_required', kind: kindOf(driven), message }),
    what,
  );
}

/** `step ask`: asks the human; on a human's step, for their review. */
export async function ask(context: CliContext, call: Call): Promise<Result<Answer>> {
  const kindOf = ({ stored: { hook, task } }: Driven): 'review' | 'question' => {
    const step = task.steps[hook.current_step?.step_index ?? -1];
    return isHumanStep(step) ? 'review' : 'question';
  };
  return handOver(context, call, kindOf, () => 'The question was sent to the human. Stop here until they answer.');
}

/** `step fail`: says that the step can't be done. */
export async function failStep(context: CliContext, call: Call): Promise<Result<Answer>> {
  return handOver(
    context,
    call,
    () => 'step_failed',
    (driven) => `Step ${nameOf(driven)} is reported as failed. A human decides what to do next.`,
  );
}
