import * as z from 'zod/mini';
import { type Result, fail, ok } from '../../../core/shared/errors';
import type { ProcessIdentity } from '../../../core/recovery/liveness';
import { oneLine } from '../../../core/shared/text';
import { type HandoffReason, checkInput, slotResultSchema } from '../../../core/worker/slotContent';
import type { Lease } from '../../../core/worker/slotSteps';
import type { WorkerPorts } from '../../../workers/forgeFolder';
import { identityOf } from '../../../workers/slot/leftovers';
import type { EndedWork, ResultDraft } from '../../../workers/slot/workEnding';
import type { Call } from '../../parse/call';
import type { CliContext } from '../../context';
import { type Answer, EXIT } from '../../render/output';
import { leaseData, openWorkers, unsharedNotes, workerOf } from './worker';
import type { WorkerAnswer } from './workerSchemas';
import { objectOf } from './workerTasks';

const MAX_RESULT_BYTES = 16 * 1024 * 1024;

/** A worker that was started on one hook has no business with the work on another. */
function ownWorker({ env }: CliContext, call: Call): Result<string> {
  const worker = workerOf(call);
  const mine = env['FORGE_WORKER'] ?? '';
  if (!worker.ok || mine === '' || mine === worker.value) return worker;
  return fail(
    'illegal_transition',
    `This runs as worker ${oneLine(mine)}, but the task belongs to worker ${worker.value}.`,
    {
      hint: 'A worker can report only on its own task.',
    },
  );
}

/** The claim that a worker speaks for: all of it, since another task's numbers can be the same. Fails with `usage`. */
function leaseFrom({ env }: CliContext, call: Call, worker: string): Result<Lease> {
  const taskId = call.text('task') ?? env['FORGE_TASK'] ?? '';
  const claim = counterOf(call.text('claim') ?? env['FORGE_CLAIM']);
  const incarnation = counterOf(call.text('incarnation') ?? env['FORGE_INCARNATION']);
  if (taskId !== '' && claim !== undefined && incarnation !== undefined)
    return ok({ worker, taskId, claim, incarnation });
  return fail('usage', 'No claim was named, so a late report of a crashed worker could not be told apart.', {
    hint: 'Pass --task, --claim and --incarnation as printed by "atlas worker claim". Under "atlas worker run" they are set for you.',
  });
}

function counterOf(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,8}$/u.test(text) ? Number(text) : undefined;
}

/** Says with a human's word that whoever had work is gone. */
export function ownerIsGone(context: CliContext, call: Call): Result<boolean> {
  if (!call.flag('ownerIsGone')) return ok(false);
  const allowed = context.humanOnly("declare a worker's owner gone");
  return allowed.ok ? ok(true) : allowed;
}

/** `worker claim <worker>`: takes the work for a worker that runs itself. */
export async function claim(context: CliContext, call: Call): Promise<Result<Answer>> {
  const worker = ownWorker(context, call);
  if (!worker.ok) return worker;
  const gone = ownerIsGone(context, call);
  if (!gone.ok) return gone;
  const opened = await openWorkers(context);
  if (!opened.ok) return opened;
  const { workers, ports } = opened.value;
  const owner = ownerOf(call, ports);
  if (!owner.ok) return owner;
  const claimed = await workers.claim({ worker: worker.value, owner: owner.value, ownerIsGone: gone.value });
  if (!claimed.ok) return claimed;
  const { lease, folder, action, state, task, context: given } = claimed.value;
  const data: WorkerAnswer<'worker claim'> = {
    lease: leaseData(lease),
    folder,
    action,
    resume_point: state.resumePoint ?? null,
    task,
    context: given,
  };
  const flags = `--task ${lease.taskId} --claim ${lease.claim} --incarnation ${lease.incarnation}`;
  const text = [
    `${worker.value} claimed ${lease.taskId} (${action}). Folder: ${oneLine(folder, 500)}`,
    ...(state.resumePoint === undefined ? [] : [`Continue at: ${oneLine(state.resumePoint, 500)}`]),
    `When done, run: atlas worker complete ${worker.value} ${flags}`,
  ];
  return ok({ exit: EXIT.done, text: text.map((line) => `${line}\n`).join(''), wanted: true, data });
}

function ownerOf(call: Call, ports: WorkerPorts): Result<ProcessIdentity | undefined> {
  const given = call.text('pid');
  if (given === undefined) return ok(undefined);
  const pid = counterOf(given);
  const owner = pid === undefined ? undefined : identityOf(ports, pid);
  if (owner !== undefined && ports.processes.vitality(owner) === 'alive') return ok(owner);
  return fail('usage', `${JSON.stringify(oneLine(given, 20))} is not a running process on this machine.`, {
    hint: 'Name the process that does the work, such as --pid $$ in a script.',
  });
}

const draftSchema = z.looseObject({
  output: slotResultSchema.shape.output,
  error: slotResultSchema.shape.error,
  discoveredTasks: slotResultSchema.shape.discoveredTasks,
});

/** What `--result` holds. */
async function draftFrom(context: CliContext, call: Call): Promise<Result<ResultDraft>> {
  const file = call.text('result');
  if (file === undefined) return ok({});
  const text = await context.readText(file, MAX_RESULT_BYTES);
  if (!text.ok) return text;
  const object = objectOf(text.value, 'The result');
  if (!object.ok) return object;
  if ('evidence' in object.value || 'status' in object.value || 'taskId' in object.value)
    return fail('usage', "A complete result, with status, task and evidence, belongs in the worker's folder.", {
      hint: 'Write it to result.json there and omit --result, or pass only output, discoveredTasks and error.',
    });
  const draft = checkInput(draftSchema, object.value, 'a result');
  if (!draft.ok) return draft;
  return ok(Object.fromEntries(Object.entries(draft.value).filter(([, value]) => value !== undefined)) as ResultDraft);
}

/** `worker complete <worker>`: the work is done. */
export async function complete(context: CliContext, call: Call): Promise<Result<Answer>> {
  return ended(context, call, 'complete', (draft) => ok(draft));
}

/** `worker fail <worker>`: the work failed. */
export async function failWork(context: CliContext, call: Call): Promise<Result<Answer>> {
  const [code, message] = [call.text('code'), call.text('message')];
  return ended(context, call, 'fail', (draft) => {
    if (code === undefined && message === undefined && !call.flag('final')) return ok(draft);
    const { error } = draft;
    const told = code ?? error?.code ?? 'failed';
    const why = message ?? error?.message ?? '';
    return ok({ ...draft, error: { code: told, message: why, recoverable: !call.flag('final') } });
  });
}

async function ended(
  context: CliContext,
  call: Call,
  how: 'complete' | 'fail',
  complement: (draft: ResultDraft) => Result<ResultDraft>,
): Promise<Result<Answer>> {
  const worker = ownWorker(context, call);
  if (!worker.ok) return worker;
  const lease = leaseFrom(context, call, worker.value);
  if (!lease.ok) return lease;
  const read = await draftFrom(context, call);
  const draft = read.ok ? complement(read.value) : read;
  if (!draft.ok) return draft;
  const opened = await openWorkers(context);
  if (!opened.ok) return opened;
  const done = await opened.value.workers.steps.ending.end(lease.value, how, draft.value);
  if (!done.ok) return done;
  const answer = endedAnswer(worker.value, done.value);
  return ok({ ...answer, notes: [...(answer.notes ?? []), ...unsharedNotes(opened.value)] });
}

function endedAnswer(worker: string, { state, result, changed, skipped }: EndedWork): Answer {
  const data: WorkerAnswer<'worker complete'> = {
    worker,
    task_id: state.taskId,
    status: state.status,
    result,
    changed,
    skipped: [...skipped],
  };
  const text = `${state.taskId} ${changed ? 'is' : 'was'} ${state.status}${changed ? '' : ' already'}.\n`;
  return { exit: EXIT.done, text, data, notes: skippedNotes(skipped) };
}

/** What is told of files that can't be kept. */
export function skippedNotes(skipped: readonly string[]): string[] {
  if (skipped.length === 0) return [];
  return [`Not kept, because some systems can't store it: ${skipped.map((each) => oneLine(each, 100)).join(', ')}`];
}

/** `worker handoff <worker>`: gives the work to the next incarnation. */
export async function handoff(context: CliContext, call: Call): Promise<Result<Answer>> {
  const worker = ownWorker(context, call);
  if (!worker.ok) return worker;
  const lease = leaseFrom(context, call, worker.value);
  if (!lease.ok) return lease;
  const [reason, point] = [call.text('reason'), call.text('resumePoint')];
  if (reason === undefined || point === undefined)
    return fail('usage', 'A handoff needs a reason and a point to continue from.', {
      hint: 'Pass both: --reason context_limit --resume-point "<where to continue>"',
    });
  const opened = await openWorkers(context);
  if (!opened.ok) return opened;
  // The table lets nothing else through.
  const handed = await opened.value.workers.steps.handoff(lease.value, reason as HandoffReason, point);
  if (!handed.ok) return handed;
  const data: WorkerAnswer<'worker handoff'> = {
    lease: leaseData(lease.value),
    reason: reason as HandoffReason,
    resume_point: point,
  };
  const text = `${handed.value.taskId} was handed over. To continue it, run: atlas worker run ${worker.value} -- <command>\n`;
  return ok({ exit: EXIT.done, text, data, notes: unsharedNotes(opened.value) });
}
