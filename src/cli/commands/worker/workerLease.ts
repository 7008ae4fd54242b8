import * as z from 'zod/mini';
import { AtlasError, unwrap } from '../../../core/shared/errors';
import type { ProcessIdentity } from '../../../core/recovery/liveness';
import { oneLine } from '../../../core/shared/text';
import { type HandoffReason, checkInput, slotResultSchema } from '../../../core/worker/slotContent';
import type { Lease } from '../../../core/worker/slotSteps';
import type { WorkerPorts } from '../../../workers/forgeFolder';
import { identityOf } from '../../../workers/slot/leftovers';
import type { ResultDraft } from '../../../workers/slot/workEnding';
import type { Call } from '../../parse/call';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import { type Answer, EXIT } from '../../render/output';
import { leaseData, openWorkers, unsharedNotes, workerOf } from './worker';
import type { WorkerAnswer } from './workerSchemas';
import { objectOf } from './workerTasks';

const MAX_RESULT_BYTES = 16 * 1024 * 1024;

/** A worker that was started on one hook has no business with the work on another. */
function ownWorker({ env }: CliContext, call: Call): string {
  const worker = workerOf(call);
  const mine = env['FORGE_WORKER'] ?? '';
  if (mine === '' || mine === worker) return worker;
  const message = `This runs as worker ${oneLine(mine)}, but the task belongs to worker ${worker}.`;
  throw new AtlasError('illegal_transition', message, { hint: 'A worker can report only on its own task.' });
}

/** The claim that a worker speaks for: all of it, since another task's numbers can be the same. Throws `usage`. */
function leaseFrom({ env }: CliContext, call: Call, worker: string): Lease {
  const taskId = call.text('task') ?? env['FORGE_TASK'] ?? '';
  const claim = counterOf(call.text('claim') ?? env['FORGE_CLAIM']);
  const incarnation = counterOf(call.text('incarnation') ?? env['FORGE_INCARNATION']);
  if (taskId !== '' && claim !== undefined && incarnation !== undefined) return { worker, taskId, claim, incarnation };
  throw new AtlasError('usage', 'No claim was named, so a late report of a crashed worker could not be told apart.', {
    hint: 'Pass --task, --claim and --incarnation as printed by "atlas worker claim". Under "atlas worker run" they are set for you.',
  });
}

function counterOf(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,8}$/u.test(text) ? Number(text) : undefined;
}

/** Says with a human's word that whoever had work is gone. */
export function ownerIsGone(context: CliContext, call: Call): boolean {
  const isGone = call.flag('ownerIsGone');
  if (isGone) context.humanOnly("declare a worker's owner gone");
  return isGone;
}

/** `worker claim <worker>`: takes the work for a worker that runs itself. */
export const claim: Handler = async (context, call) => {
  const worker = ownWorker(context, call);
  const isGone = ownerIsGone(context, call);
  const { workers, ports } = await openWorkers(context);
  const claimed = unwrap(await workers.claim({ worker, owner: ownerOf(call, ports), ownerIsGone: isGone }));
  const { lease, folder, action, state, task, context: given } = claimed;
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
    `${worker} claimed ${lease.taskId} (${action}). Folder: ${oneLine(folder, 500)}`,
    ...(state.resumePoint === undefined ? [] : [`Continue at: ${oneLine(state.resumePoint, 500)}`]),
    `When done, run: atlas worker complete ${worker} ${flags}`,
  ];
  return { exit: EXIT.done, text: text.map((line) => `${line}\n`).join(''), wanted: true, data };
};

function ownerOf(call: Call, ports: WorkerPorts): ProcessIdentity | undefined {
  const given = call.text('pid');
  if (given === undefined) return undefined;
  const pid = counterOf(given);
  const owner = pid === undefined ? undefined : identityOf(ports, pid);
  if (owner !== undefined && ports.processes.vitality(owner) === 'alive') return owner;
  throw new AtlasError('usage', `${JSON.stringify(oneLine(given, 20))} is not a running process on this machine.`, {
    hint: 'Name the process that does the work, such as --pid $$ in a script.',
  });
}

const draftSchema = z.looseObject({
  output: slotResultSchema.shape.output,
  error: slotResultSchema.shape.error,
  discoveredTasks: slotResultSchema.shape.discoveredTasks,
});

/** What `--result` holds. */
async function draftFrom(context: CliContext, call: Call): Promise<ResultDraft> {
  const file = call.text('result');
  if (file === undefined) return {};
  const object = objectOf(await context.readText(file, MAX_RESULT_BYTES), 'The result');
  if ('evidence' in object || 'status' in object || 'taskId' in object)
    throw new AtlasError(
      'usage',
      "A complete result, with status, task and evidence, belongs in the worker's folder.",
      {
        hint: 'Write it to result.json there and omit --result, or pass only output, discoveredTasks and error.',
      },
    );
  const draft = unwrap(checkInput(draftSchema, object, 'a result'));
  return Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== undefined));
}

/** `worker complete <worker>`: the work is done. */
export const complete: Handler = async (context, call) => ended(context, call, 'complete', (draft) => draft);

/** `worker fail <worker>`: the work failed. */
export const failWork: Handler = async (context, call) => {
  const [code, message] = [call.text('code'), call.text('message')];
  return ended(context, call, 'fail', (draft) => {
    if (code === undefined && message === undefined && !call.flag('final')) return draft;
    const { error } = draft;
    const told = code ?? error?.code ?? 'failed';
    const why = message ?? error?.message ?? '';
    return { ...draft, error: { code: told, message: why, recoverable: !call.flag('final') } };
  });
};

async function ended(
  context: CliContext,
  call: Call,
  how: 'complete' | 'fail',
  complement: (draft: ResultDraft) => ResultDraft,
): Promise<Answer> {
  const worker = ownWorker(context, call);
  const lease = leaseFrom(context, call, worker);
  const draft = complement(await draftFrom(context, call));
  const opened = await openWorkers(context);
  const done = unwrap(await opened.workers.steps.ending.end(lease, how, draft));
  const { state, result, changed, skipped } = done;
  const data: WorkerAnswer<'worker complete'> = {
    worker,
    task_id: state.taskId,
    status: state.status,
    result,
    changed,
    skipped: [...skipped],
  };
  const text = `${state.taskId} ${changed ? 'is' : 'was'} ${state.status}${changed ? '' : ' already'}.\n`;
  return { exit: EXIT.done, text, data, notes: [...skippedNotes(skipped), ...unsharedNotes(opened)] };
}

/** What is told of files that can't be kept. */
export function skippedNotes(skipped: readonly string[]): string[] {
  if (skipped.length === 0) return [];
  return [`Not kept, because some systems can't store it: ${skipped.map((each) => oneLine(each, 100)).join(', ')}`];
}

/** `worker handoff <worker>`: gives the work to the next incarnation. */
export const handoff: Handler = async (context, call) => {
  const worker = ownWorker(context, call);
  const lease = leaseFrom(context, call, worker);
  const [reason, point] = [call.text('reason'), call.text('resumePoint')];
  if (reason === undefined || point === undefined)
    throw new AtlasError('usage', 'A handoff needs a reason and a point to continue from.', {
      hint: 'Pass both: --reason context_limit --resume-point "<where to continue>"',
    });
  const opened = await openWorkers(context);
  // The table lets nothing else through.
  const why = reason as HandoffReason;
  const handed = unwrap(await opened.workers.steps.handoff(lease, why, point));
  const data: WorkerAnswer<'worker handoff'> = { lease: leaseData(lease), reason: why, resume_point: point };
  const text = `${handed.taskId} was handed over. To continue it, run: atlas worker run ${worker} -- <command>\n`;
  return { exit: EXIT.done, text, data, notes: unsharedNotes(opened) };
};
