import { basename } from 'node:path';
import { AtlasError, type Result, fail, ok } from '../../../core/shared/errors';
import { oneLine } from '../../../core/shared/text';
import { parseDuration } from '../../../core/shared/time';
import type { SlotPlan } from '../../../core/worker/slotSteps';
import { removeTemporaryFolder } from '../../../system/files/temporaryFolder';
import { SlotWatch } from '../../../workers/slot/slotWatch';
import { type ProgramEnd, runProgram, temporaryFolder } from '../../../workers/slot/workProgram';
import type { RanWork } from '../../../workers/workers';
import { Cancellation } from '../../cancellation';
import type { Call } from '../../parse/call';
import type { CliContext } from '../../context';
import { type Answer, EXIT } from '../../render/output';
import { type OpenWorkers, openWorkers, unsharedNotes, workerOf } from './worker';
import { ownerIsGone, skippedNotes } from './workerLease';
import type { WorkerAnswer, WorkerRunData } from './workerSchemas';
import { ofPlan } from './workerText';

/** What a command line asks to be run. */
interface Wanted {
  readonly worker: string;
  readonly argv: readonly string[];
  readonly ownerIsGone: boolean;
  readonly timeoutMs: number | undefined;
}

function wantedOf(context: CliContext, call: Call): Result<Wanted> {
  const worker = workerOf(call);
  if (!worker.ok) return worker;
  const gone = ownerIsGone(context, call);
  if (!gone.ok) return gone;
  const limit = call.text('timeout');
  const timeout = limit === undefined ? ok(undefined) : parseDuration(limit);
  if (!timeout.ok) return timeout;
  if (timeout.value === 0) return fail('usage', 'The timeout must be longer than 0.');
  return ok({ worker: worker.value, argv: call.rest, ownerIsGone: gone.value, timeoutMs: timeout.value });
}

/** `worker run <worker> -- <command…>`: has a program do the work on a hook; one task, then it ends. */
export async function run(context: CliContext, call: Call): Promise<Result<Answer>> {
  const wanted = wantedOf(context, call);
  if (!wanted.ok) return wanted;
  const opened = await openWorkers(context);
  if (!opened.ok) return opened;
  const cancel = new Cancellation(context.cancelled);
  try {
    if (call.flag('wait')) return await waited(context, opened.value, wanted.value, cancel.signal);
    return await ran(context, opened.value, wanted.value, cancel.signal);
  } finally {
    cancel.dispose();
  }
}

/** How often a worker that waits asks the remote, in ms. */
const ASKING_MS = 30_000;

/** Waits for work, and does it. Work that another took meanwhile is waited out. */
async function waited(
  context: CliContext,
  opened: OpenWorkers,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<Result<Answer>> {
  let isTold = context.json || context.quiet;
  const remote = await opened.workers.sharing.remoteName();
  const isShared = remote.ok && remote.value !== undefined;
  const { commonDir } = opened.workers;
  const watch = new SlotWatch(commonDir, wanted.worker, opened.ports.log, isShared ? ASKING_MS : undefined);
  try {
    while (!signal.aborted) {
      watch.arm();
      // What other machines sling shows nowhere here until the remote is asked; one that can't be reached is asked again.
      if (isShared) await opened.workers.sharing.sync();
      const plan = await opened.workers.steps.plan(wanted.worker, wanted.ownerIsGone);
      if (!plan.ok && plan.error.code !== 'not_found') return plan;
      if (plan.ok && plan.value.action !== 'nothing') {
        const done = await ran(context, opened, wanted, signal);
        if (done.ok || done.error.code !== 'illegal_transition' || !(await wasTaken(opened, wanted))) return done;
      }
      if (!isTold) context.streams.err(`atlas: ${wanted.worker} is waiting for a task.\n`);
      isTold = true;
      await watch.sign(signal);
    }
  } finally {
    watch.close();
  }
  return fail('cancelled', `Stopped before ${wanted.worker} got a task.`);
}

/** Whether a claim was refused since another is at work now. */
async function wasTaken({ workers }: OpenWorkers, { worker }: Wanted): Promise<boolean> {
  const plan = await workers.steps.plan(worker);
  return plan.ok && plan.value.action === 'nothing';
}

async function ran(
  context: CliContext,
  opened: OpenWorkers,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<Result<Answer>> {
  if (signal.aborted) return fail('cancelled', 'Stopped before the task was started.');
  const folder = temporaryFolder();
  if (!folder.ok) return folder;
  try {
    return await ranIn(folder.value, context, opened, wanted, signal);
  } finally {
    removeTemporaryFolder(folder.value);
  }
}

async function ranIn(
  folder: string,
  context: CliContext,
  opened: OpenWorkers,
  { worker, argv, ownerIsGone: gone, timeoutMs }: Wanted,
  signal: AbortSignal,
): Promise<Result<Answer>> {
  const { workers, ports } = opened;
  const [program = ''] = argv;
  const end: { value?: ProgramEnd } = {};
  const done = await workers.run({ worker, owner: ports.processes.self(), ownerIsGone: gone }, async (work) => {
    if (!context.json && !context.quiet)
      context.streams.err(`atlas: ${worker}: ${work.action} ${work.lease.taskId} in ${oneLine(work.folder, 500)}\n`);
    const env = environmentOf(context, program);
    const how = { argv, cwd: context.folder, env, timeoutMs, signal, folder, onOutput: passing(context) };
    end.value = await runProgram(workers.commonDir, work, how, ports);
    return end.value.execution;
  });
  if (!done.ok) return done;
  const answer = ranAnswer(worker, program, done.value, end.value);
  if (!answer.ok) return answer;
  return ok({ ...answer.value, notes: [...(answer.value.notes ?? []), ...unsharedNotes(opened)] });
}

/** What a program under us is told by, as one that an agent may be. */
function environmentOf({ env }: CliContext, program: string): NodeJS.ProcessEnv {
  return { ...env, ATLAS_AGENT: basename(program) };
}

/** Passes on what a program prints, as it comes; beside a document, all of it goes to standard error. */
function passing({ json, streams }: CliContext): (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  return (stream, chunk) => {
    const text = decoders[stream].decode(chunk, { stream: true });
    if (stream === 'stdout' && !json) streams.out(text);
    else streams.err(text);
  };
}

function ranAnswer(
  worker: string,
  program: string,
  { state, result, skipped }: RanWork,
  end: ProgramEnd | undefined,
): Result<Answer> {
  const { outcome } = end ?? {};
  if (outcome?.ended === 'not_started')
    return fail('not_found', `${oneLine(program)} could not be started: ${outcome.problem ?? 'unknown error'}`, {
      hint: `${state.taskId} is still assigned to ${worker}.`,
    });
  const data: WorkerRunData = {
    worker,
    task_id: state.taskId,
    status: state.status,
    result: result ?? null,
    exit_code: outcome?.ended === 'exit' ? outcome.exitCode : null,
    signal: outcome?.signal ?? null,
    skipped: [...skipped],
  };
  const notes = skippedNotes(skipped);
  if (state.status === 'COMPLETE')
    return ok({ exit: EXIT.done, text: '', data, notes: [`${state.taskId} is COMPLETE.`, ...notes] });
  if (state.status === 'FAILED') {
    const error = new AtlasError(
      'work_failed',
      `${state.taskId} failed: ${result?.error?.message ?? 'no reason was given'}`,
    );
    const why = oneLine(`${result?.error?.code ?? 'failed'}: ${result?.error?.message ?? ''}`, 400);
    return ok({ exit: EXIT.failed, text: '', data, notes: [`${state.taskId} is FAILED. ${why}`, ...notes], error });
  }
  const message = `${state.taskId} was handed over: ${oneLine(state.resumePoint ?? '', 300)}`;
  const handed = [message, `To continue, run: atlas worker run ${worker} -- <command>`, ...notes];
  // Handed on by its worker, the run did what it was for; one that was ended from outside did not.
  if (outcome?.ended !== 'cancelled') return ok({ exit: EXIT.done, text: '', data, notes: handed });
  return ok({ exit: EXIT.failed, text: '', data, notes: handed, error: new AtlasError('cancelled', message) });
}

/** `worker recover <worker> [-- <command…>]`: says the plan, makes the folder again, and goes on where a program is named. */
export async function recover(context: CliContext, call: Call): Promise<Result<Answer>> {
  const wanted = wantedOf(context, call);
  if (!wanted.ok) return wanted;
  const opened = await openWorkers(context);
  if (!opened.ok) return opened;
  const { worker } = wanted.value;
  const restored = await opened.value.workers.steps.restore(worker);
  if (!restored.ok) return restored;
  const plan = await planOf(opened.value, wanted.value);
  if (!plan.ok) return plan;
  const again = restored.value.added ? [`Its folder was restored.`] : [];
  const isToDo = plan.value.action !== 'nothing';
  if (wanted.value.argv.length === 0 || !isToDo) {
    const data: WorkerAnswer<'worker recover'> = {
      worker,
      plan: plan.value,
      restored: restored.value.added,
      run: null,
    };
    const next = isToDo
      ? [
          `To continue, run: atlas worker run ${worker}${plan.value.action === 'ask' ? ' --owner-is-gone' : ''} -- <command>`,
        ]
      : [];
    const lines = [`${worker}: ${ofPlan(plan.value)}`, ...again, ...next];
    return ok({ exit: EXIT.done, text: lines.map((line) => `${line}\n`).join(''), wanted: true, data });
  }
  const cancel = new Cancellation(context.cancelled);
  try {
    const done = await ran(context, opened.value, wanted.value, cancel.signal);
    if (!done.ok) return done;
    const data = { worker, plan: plan.value, restored: restored.value.added, run: done.value.data };
    return ok({ ...done.value, data, notes: [...again, ...(done.value.notes ?? [])] });
  } finally {
    cancel.dispose();
  }
}

/** A hook that nothing hangs on needs nothing. */
async function planOf({ workers }: OpenWorkers, { worker, ownerIsGone: gone }: Wanted): Promise<Result<SlotPlan>> {
  const plan = await workers.steps.plan(worker, gone);
  if (plan.ok || plan.error.code !== 'not_found') return plan;
  return ok({ action: 'nothing', reason: 'No task is assigned to it.' });
}
