import { AtlasError, unwrap } from '../../../core/shared/errors';
import type { SlotState } from '../../../core/worker/slotContent';
import type { Lease } from '../../../core/worker/slotSteps';
import { checkWorker } from '../../../core/worker/names';
import { oneLine, plainLines } from '../../../core/shared/text';
import type { WorkerPorts } from '../../../workers/forgeFolder';
import type { ForgeStatus, WorkerStatus } from '../../../workers/operations/workerStatus';
import { Workers } from '../../../workers/workers';
import type { Call } from '../../parse/call';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import { EXIT, toJson } from '../../render/output';
import { table } from '../../render/table';
import type { WorkerAnswer, WorkerData } from './workerSchemas';
import { problemData, unusableLines } from './branchText';
import { ORPHANED, STALE, nextStep, ofPlan } from './workerText';

/** The workers of the repository that a command is about. */
export interface OpenWorkers {
  readonly workers: Workers;
  readonly ports: WorkerPorts;
}

/** Opens the workers of the repository of the caller's folder; throws `no_repository`. */
export async function openWorkers(context: CliContext): Promise<OpenWorkers> {
  const { ports } = await context.atlas();
  return { workers: unwrap(Workers.open(context.folder, ports)), ports };
}

/** The workers and the ledger of the repository of the caller's folder. */
export async function statuses(context: CliContext): Promise<ForgeStatus> {
  return unwrap(await (await openWorkers(context)).workers.statuses.all());
}

/** What a caller should know where a change is not with the remote yet: it is recorded all the same. */
export function unsharedNotes({ workers: { sharing } }: OpenWorkers): string[] {
  const why = sharing.unshared;
  return why === undefined
    ? []
    : [`The change is recorded here but not shared yet. ${why.message}`, why.hint ?? ''].filter(Boolean);
}

/** The worker that the first operand names; throws `invalid_name`. */
export function workerOf(call: Call): string {
  return unwrap(checkWorker(call.operands[0] ?? ''));
}

/** How the named worker fares, and the branches that can't be used; throws `not_found`. */
async function named(
  context: CliContext,
  call: Call,
): Promise<{ status: WorkerStatus } & Pick<ForgeStatus, 'unusable'>> {
  const worker = workerOf(call);
  const all = await statuses(context);
  const status = all.workers.find((each) => each.worker === worker);
  if (status !== undefined) return { status, unusable: all.unusable };
  throw new AtlasError('not_found', `There is no worker ${worker}.`, {
    hint: 'A worker is created when a task is assigned to it: atlas worker sling <task> <worker>',
  });
}

/** `worker list`: all workers. */
export const list: Handler = async (context) => {
  const opened = await openWorkers(context);
  const { workers, unusable } = unwrap(await opened.workers.statuses.all());
  const data: WorkerAnswer<'worker list'> = { workers: workers.map(workerData), unusable: unusable.map(problemData) };
  const remote = workers.length > 0 ? undefined : await opened.workers.sharing.remoteName();
  const shared = remote?.ok === true ? remote.value : undefined;
  const notes = unusableLines(unusable);
  return { exit: EXIT.done, text: listText(context, workers, shared), wanted: true, data, notes };
};

function listText({ streams }: CliContext, workers: readonly WorkerStatus[], remote: string | undefined): string {
  if (workers.length === 0 && remote !== undefined)
    return `No workers here yet. To fetch those of ${oneLine(remote, 100)}, run: atlas worker sync\n`;
  if (workers.length === 0) return 'No workers yet. Assign a task to create one: atlas worker sling <task> <worker>\n';
  return table(
    [{ flexible: 'WORKER' }, 'STATUS', { flexible: 'TASK' }, 'NEXT'],
    workers.map((each) => [each.worker, statusWord(each), each.state?.taskId ?? '', nextWord(each)]),
    streams.columns,
  );
}

function statusWord({ state, damage }: WorkerStatus): string {
  return damage === undefined ? (state?.status ?? 'free') : 'damaged';
}

function nextWord({ plan, stale, orphaned, elsewhere }: WorkerStatus): string {
  const words = [elsewhere ? 'elsewhere' : plan?.action === 'nothing' ? undefined : plan?.action, stale, ...orphaned];
  return words.flatMap((word) => word?.replaceAll('_', ' ') ?? []).join(', ');
}

/** `worker status <worker>`: where the work on its hook stands. */
export const status: Handler = async (context, call) => {
  const { status: seen, unusable } = await named(context, call);
  const data: WorkerAnswer<'worker status'> = { worker: workerData(seen) };
  return { exit: EXIT.done, text: statusText(seen), wanted: true, data, notes: unusableLines(unusable) };
};

function statusText(found: WorkerStatus): string {
  const { worker, folder, state, task, plan, damage, stale, orphaned } = found;
  const lines = [`Worker:   ${worker}`, `Folder:   ${oneLine(folder, 500)}`];
  if (state === undefined) lines.push(`Status:   ${damage === undefined ? 'free: no task is assigned' : 'damaged'}`);
  else
    lines.push(`Status:   ${state.status} (since ${state.updatedAt})`, `Task:     ${state.taskId} ${claimText(state)}`);
  if (task?.timeout !== undefined) lines.push(`Deadline: ${task.timeout}`);
  if (state?.handoffReason !== undefined) lines.push(`Handoff:  ${state.handoffReason}`);
  if (state?.resumePoint !== undefined) lines.push(`Resume:   ${oneLine(state.resumePoint, 500)}`);
  if (plan !== undefined) lines.push(`Plan:     ${ofPlan(plan)}`);
  if (damage !== undefined)
    lines.push(`Damage:   ${oneLine(damage.message, 500)}`, `          ${oneLine(damage.hint ?? '', 500)}`);
  if (stale !== undefined) lines.push(`Stale:    ${STALE[stale]}`);
  if (found.elsewhere && state !== undefined) lines.push('Clone:    claimed in another clone');
  for (const each of orphaned) lines.push(`Orphaned: ${ORPHANED[each]}`);
  const next = nextStep(found);
  if (next !== undefined) lines.push(`Next:     ${next}`);
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

function claimText({ claim, incarnation, attempts }: SlotState): string {
  return `(claim ${claim}, incarnation ${incarnation}, attempts ${attempts})`;
}

/** `worker show <worker>`: all that is on its hook. */
export const show: Handler = async (context, call) => {
  const { status: found } = await named(context, call);
  const { task, context: given, result } = found;
  const data: WorkerAnswer<'worker show'> = {
    worker: workerData(found),
    task: task ?? null,
    context: given ?? null,
    result: result ?? null,
    input_hash: result?.evidence.inputHash ?? null,
    output_hash: result?.evidence.outputHash ?? null,
  };
  const parts = [statusText(found)];
  for (const [name, content] of [['context.json', given] as const, ['result.json', result] as const])
    if (content !== undefined) parts.push(`${name}:\n${plainLines(toJson(content)).replaceAll(/^(?=.)/gmu, '  ')}`);
  return { exit: EXIT.done, text: parts.join('\n'), wanted: true, data };
};

/** `worker clear <worker>`: empties a hook whose work is over. */
export const clear: Handler = async (context, call) => {
  const worker = workerOf(call);
  const opened = await openWorkers(context);
  unwrap(await opened.workers.steps.clear(worker));
  const data: WorkerAnswer<'worker clear'> = { worker };
  const text = `Cleared ${worker}. Its branch keeps the history.\n`;
  return { exit: EXIT.done, text, data, notes: unsharedNotes(opened) };
};

/** What JSON says of a worker. */
function workerData({ state, task, damage, ...found }: WorkerStatus): WorkerData {
  return {
    worker: found.worker,
    folder: found.folder,
    commit: found.commit ?? null,
    status: state?.status ?? null,
    task_id: state?.taskId ?? null,
    type: task?.type ?? null,
    claim: state?.claim ?? null,
    incarnation: state?.incarnation ?? null,
    attempts: state?.attempts ?? null,
    updated_at: state?.updatedAt ?? null,
    timeout: task?.timeout ?? null,
    handoff_reason: state?.handoffReason ?? null,
    resume_point: state?.resumePoint ?? null,
    plan: found.plan ?? null,
    stale: found.stale ?? null,
    orphaned: [...found.orphaned],
    elsewhere: found.elsewhere,
    damage: damage === undefined ? null : { code: damage.code, message: damage.message },
  };
}

/** What JSON says of a lease. */
export function leaseData({ worker, taskId, claim, incarnation }: Lease): WorkerAnswer<'worker claim'>['lease'] {
  return { worker, task_id: taskId, claim, incarnation };
}
