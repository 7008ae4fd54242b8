import { defined } from '../../../core/shared/defined';
import { openEvents } from '../../../core/task/taskActions';
import { AgentSessions } from '../../../agents/lifecycle/agentSessions';
import { AtlasError, type Result, explain, ok, unwrap } from '../../../core/shared/errors';
import type { Expected } from '../../../core/transition/events';
import { CAUSE_LABELS, STATE_LABELS } from '../../../core/task/labels';
import { isTerminal } from '../../../core/task/taskRecord';
import { waitKind } from '../../../core/task/waiting';
import type { TaskEventType } from '../../../core/transition/states';
import { oneLine } from '../../../core/shared/text';
import { type Advice, adviceOf } from '../../../service/tasks/advice';
import type { Atlas } from '../../../service/atlas';
import { tellInterruption } from '../../../service/recovery/tellInterruption';
import { chooseTask } from '../../../service/tasks/taskChoice';
import type { TaskRef } from '../../../core/task/taskRef';
import type { StoredTask, Updated } from '../../../core/task/storedTask';
import type { Call } from '../../parse/call';
import type { CliContext } from '../../context';
import { type Answer, EXIT } from '../../render/output';
import type { AnswerData, TaskData } from '../schemas';
import { fields } from '../../render/table';

/** A task that a command works on, with what its caller should know. */
export interface Chosen {
  readonly stored: StoredTask;
  readonly notes: readonly string[];
}

/** A task that is only shown; of one of a newer version of Atlas, what this one understands. */
export interface Shown extends Chosen {
  /** Why it is only shown: nothing is fixed, recorded or advised. */
  readonly newer?: AtlasError;
}

/** What a task needs to be meant where none is named. */
type Needs = NonNullable<Parameters<typeof chooseTask>[3]>;

/** Finds the task to be read. What an interrupted writer left is fixed first, where that can be done. */
export async function taskToRead(context: CliContext, call: Call, has?: Needs): Promise<Chosen> {
  const shown = await taskToShow(context, call, has);
  if (shown.newer !== undefined) throw shown.newer;
  return shown;
}

/** As `taskToRead`, for what only shows the task. */
export async function taskToShow(context: CliContext, call: Call, has?: Needs): Promise<Shown> {
  const atlas = await context.atlas();
  const chosen = unwrap(await chooseTask(atlas, wishOf(context, call), 'read', has));
  const notes = chosen.note === undefined ? [] : [chosen.note];
  const newer = newerTask(atlas, chosen.ref);
  if (newer !== undefined) return { ...newer, notes: [...notes, ...newer.notes] };
  const read = atlas.catalog.read(chosen.ref);
  const unfinished = read.ok && read.value.hook.state === 'step_pending' && read.value.hook.current_step === undefined;
  if (read.ok && !read.value.suspect && !unfinished) return { stored: read.value, notes };
  const fixed = await repair(await context.drive(), chosen.ref, unfinished);
  // A store that can't be written to is still shown.
  if (!fixed.ok && read.ok) return { stored: read.value, notes: [...notes, fixed.error.message] };
  const { stored, notes: findings } = unwrap(fixed);
  return { stored, notes: [...notes, ...findings] };
}

/**
 * Finds the task for whoever wakes up and asks where it stands. An interruption is recorded first, so that every other
 * surface says the same.
 */
export async function taskToTell(context: CliContext, call: Call): Promise<Shown> {
  const chosen = await taskToShow(context, call);
  if (chosen.newer !== undefined) return chosen;
  const told = await tellInterruption(await context.atlas(), chosen.stored);
  if (told.ok) return { ...chosen, stored: told.value };
  // A store that can't be written to is still shown.
  return { ...chosen, notes: [...chosen.notes, `The interruption could not be recorded: ${told.error.message}`] };
}

function newerTask(atlas: Pick<Atlas, 'catalog'>, ref: TaskRef): Shown | undefined {
  const read = atlas.catalog.read(ref);
  if (read.ok || read.error.code !== 'too_new') return undefined;
  const known = atlas.catalog.readNewer(ref);
  // What is so new that it can't be understood is refused for that, not for its form.
  return known.ok ? { stored: known.value, notes: [explain(read.error)], newer: read.error } : undefined;
}

/** Brings a task's files in line; with `finish`, ends a task that has no step left, which a crash kept from ending. */
async function repair(atlas: Atlas, ref: TaskRef, finish = false): Promise<Result<Chosen>> {
  const read = atlas.catalog.read(ref);
  if (read.ok && !read.value.suspect && !finish) return ok({ stored: read.value, notes: [] });
  const fixed = await atlas.reconcile(ref);
  if (!fixed.ok) return fixed;
  const notes = fixed.value.findings.map(({ message }) => message);
  const stored = finish ? await atlas.send(ref, { type: 'finish' }) : fixed;
  return stored.ok ? ok({ stored: stored.value, notes }) : stored;
}

/** A task that is about to be changed. */
export interface Driven extends Chosen {
  readonly atlas: Atlas;
  readonly expect: Expected;
}

/**
 * Finds the task to be changed, and looks for a crash first. A caller that names the step and attempt that run is a
 * sign of life of that attempt, so its own silence until now is no crash. So is one that only records progress, unless
 * something says that it is another session's.
 */
export async function taskToDrive(
  context: CliContext,
  call: Call,
  expect: Expected = {},
  records: 'work' | 'progress' = 'work',
): Promise<Driven> {
  const atlas = await context.drive();
  const chosen = unwrap(await chooseTask(atlas.reader, wishOf(context, call), 'write'));
  const { stored, notes } = unwrap(await repair(atlas, chosen.ref));
  const diagnosis = await atlas.recovery.diagnose(stored);
  const step = stored.hook.current_step;
  if (diagnosis.kind !== 'crashed') return { atlas, stored, notes, expect };
  const { step: name = step?.step_name, attempt = step?.attempt } = expect;
  const meant = step !== undefined && name === step.step_name && attempt === step.attempt;
  const named = expect.step !== undefined && expect.attempt !== undefined;
  const alive = named || (records === 'progress' && new AgentSessions(atlas.ports).mayWorkOn(context.env, stored));
  if (meant && alive && diagnosis.type === 'timeout') return { atlas, stored, notes, expect };
  const detected = unwrap(await atlas.recovery.detect(stored));
  const reason = detected.task.hook.recovery?.reason ?? '';
  const crash = `The task was interrupted (${CAUSE_LABELS[diagnosis.cause]}). ${reason}`;
  return { atlas, stored: detected.task, notes: detected.recorded ? [...notes, crash] : notes, expect };
}

/** By what a command line names its task. */
function wishOf(context: CliContext, call: Call): Parameters<typeof chooseTask>[1] {
  return {
    task: call.text('task'),
    workspace: call.text('workspace'),
    surrounding: context.env['ATLAS_TASK'] === '' ? undefined : context.env['ATLAS_TASK'],
    folder: context.folder,
  };
}

/**
 * The step and attempt that a caller names; throws `usage`.
 * @param operand the step where it is named without `--step`
 */
export function expectedOf(call: Call, operand?: string): Expected {
  const step = operand ?? call.text('step');
  if (call.text('step') !== undefined && step !== call.text('step'))
    throw new AtlasError('usage', 'Two steps are named.', { hint: 'Name the step once, with or without --step.' });
  const given = call.text('attempt');
  if (given !== undefined && !/^[1-9]\d{0,6}$/u.test(given)) {
    const message = `--attempt must be a whole number of at least 1, not ${JSON.stringify(oneLine(given, 40))}.`;
    throw new AtlasError('usage', message, { hint: 'HOOK.md shows the current attempt.' });
  }
  return defined({ step, attempt: given === undefined ? undefined : Number(given) });
}

/** What JSON says of a task, in every command's answer. */
export function taskData(atlas: Pick<Atlas, 'ports'>, { ref, hook, task }: StoredTask): TaskData {
  const step = hook.current_step;
  return {
    workspace_id: ref.workspace,
    task_id: ref.id,
    description: task.description,
    template_id: task.template_id,
    state: hook.state,
    step:
      step === undefined
        ? null
        : {
            name: step.step_name,
            index: step.step_index,
            total: task.steps.length,
            attempt: step.attempt,
            max_attempts: step.max_attempts,
            working_on: step.working_on ?? null,
          },
    updated_at: hook.updated_at,
    hook_path: atlas.ports.paths.markdown(ref),
  };
}

/** What JSON says of tasks that can't be read. */
export function unreadableData(
  unreadable: ReturnType<Atlas['catalog']['unreadable']>,
): AnswerData<'status'>['unreadable_tasks'] {
  return unreadable.map(({ ref, error }) => ({ task_id: ref.id, code: error.code, message: error.message }));
}

/** What to do now, as HOOK.md says it. */
export function nextOf(atlas: Pick<Atlas, 'ports'>, stored: StoredTask): Advice {
  return adviceOf(atlas.ports, stored);
}

/** What JSON says of what to do now. */
export function nextData({ heading, command }: Advice): {
  readonly next: string;
  readonly next_command: string | null;
} {
  return { next: heading, next_command: command ?? null };
}

/** `Running (implement, step 3 of 7, attempt 2 of 3)`. */
export function describeState({ hook, task }: StoredTask): string {
  const step = hook.current_step;
  if (step === undefined) return STATE_LABELS[hook.state];
  const place = `step ${step.step_index + 1} of ${task.steps.length}`;
  return `${STATE_LABELS[hook.state]} (${oneLine(step.step_name, 64)}, ${place}, attempt ${step.attempt} of ${step.max_attempts})`;
}

/** The answer of a command that changed a task: what happened, where the task stands, what is next. */
export async function changed(
  context: CliContext,
  { atlas, notes }: Driven,
  after: Updated,
  what: string,
  more: object = {},
): Promise<Answer> {
  const takeover = new AgentSessions(atlas.ports).drives(context.env, after);
  const noted = takeover === undefined ? undefined : await atlas.observe(after, takeover);
  const updated = noted?.ok === true ? { ...noted.value, changed: after.changed, findings: after.findings } : after;
  const next = nextOf(atlas, updated);
  const text = `${what}\n${fields(
    [
      ['Task', `${updated.ref.id}  ${oneLine(updated.task.description, 80)}`],
      ['State', describeState(updated)],
      ['Next', isTerminal(updated.hook.state) ? undefined : next.heading],
      [updated.hook.state === 'step_running' ? 'When Done' : 'Run', next.command],
      ['HOOK.md', atlas.ports.paths.markdown(updated.ref)],
    ],
    context.streams.columns,
  )}`;
  return {
    exit: EXIT.done,
    text,
    data: { task: taskData(atlas, updated), changed: updated.changed, ...nextData(next), ...more },
    notes: [...notes, ...updated.findings.map(({ message }) => message)],
  };
}

/** How what a task takes now is typed; what is a human's is left to people, and what ends a task is never suggested. */
const COMMAND_OF: Partial<Readonly<Record<TaskEventType, string>>> = {
  start_step: 'atlas step start',
  note: 'atlas step note',
  checkpoint: 'atlas checkpoint',
  step_output: 'atlas validate',
  step_complete: 'atlas step complete',
  validation_command: 'atlas validate',
  human_required: 'atlas step ask',
  human_approve: 'atlas approve',
  human_reject: 'atlas reject',
  human_resume: 'atlas resume',
  retry_step: 'atlas resume',
};

/** What a task became; a refusal is thrown in the words of the command line. */
export function taken<T>(context: CliContext, chosen: Chosen, result: Result<T>): T {
  if (result.ok) return result.value;
  throw refusal(context, chosen, result.error);
}

/** A refusal in the words of the command line: which commands the task takes now. */
function refusal(context: CliContext, { stored, notes }: Chosen, refused: AtlasError): AtlasError {
  const error = withNotes(refused, notes);
  if (error.code !== 'illegal_transition' || isTerminal(stored.hook.state)) return error;
  const events = openEvents(stored.hook, stored.task, context.caller);
  const isAsked = waitKind(stored.hook) === 'question';
  const known = isAsked ? { ...COMMAND_OF, human_resume: 'atlas answer' } : COMMAND_OF;
  const commands = [...new Set(events.flatMap((event) => known[event] ?? []))];
  if (commands.length === 0) return error;
  return new AtlasError(error.code, error.message, {
    cause: error,
    hint: `You can run: ${commands.join(', ')}.`,
  });
}

/** What was found on the way, a crash say, is why the task takes something else now. */
function withNotes(error: AtlasError, notes: readonly string[]): AtlasError {
  if (notes.length === 0) return error;
  const hint = error.hint === undefined ? {} : { hint: error.hint };
  return new AtlasError(error.code, [error.message, ...notes].join('\n'), { cause: error, ...hint });
}
