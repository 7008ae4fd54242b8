import { basename } from 'node:path';
import { AtlasError, unwrap } from '../../../core/shared/errors';
import { oneLine } from '../../../core/shared/text';
import { parseDuration } from '../../../core/shared/time';
import type { SlotPlan } from '../../../core/worker/slotSteps';
import { removeTemporaryFolder } from '../../../system/files/temporaryFolder';
import { SlotWatch } from '../../../workers/slot/slotWatch';
import { type ProgramEnd, runProgram, temporaryFolder } from '../../../workers/slot/workProgram';
import type { RanWork } from '../../../workers/workers';
import { cancellable } from '../../cancellation';
import type { Call } from '../../parse/call';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import { type Answer, EXIT, passOn } from '../../render/output';
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

function wantedOf(context: CliContext, call: Call): Wanted {
  const worker = workerOf(call);
  const isGone = ownerIsGone(context, call);
  const limit = call.text('timeout');
  const timeoutMs = limit === undefined ? undefined : unwrap(parseDuration(limit));
  if (timeoutMs === 0) throw new AtlasError('usage', 'The timeout must be longer than 0.');
  return { worker, argv: call.rest, ownerIsGone: isGone, timeoutMs };
}

/** `worker run <worker> -- <command…>`: has a program do the work on a hook; one task, then it ends. */
export const run: Handler = async (context, call) => {
  const wanted = wantedOf(context, call);
  const opened = await openWorkers(context);
  const work = call.flag('wait') ? waited : ran;
  return cancellable(context.cancelled, async (signal) => work(context, opened, wanted, signal));
};

/** How often a worker that waits asks the remote, in ms. */
const ASKING_MS = 30_000;

/** Waits for work, and does it. Work that another took meanwhile is waited out. */
async function waited(context: CliContext, opened: OpenWorkers, wanted: Wanted, signal: AbortSignal): Promise<Answer> {
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
      if (!plan.ok && plan.error.code !== 'not_found') throw plan.error;
      if (plan.ok && plan.value.action !== 'nothing') {
        const done = await ran(context, opened, wanted, signal).catch(async (error: unknown) => {
          const isRefused = error instanceof AtlasError && error.code === 'illegal_transition';
          if (!isRefused || !(await wasTaken(opened, wanted))) throw error;
        });
        if (done !== undefined) return done;
      }
      if (!isTold) context.streams.err(`atlas: ${wanted.worker} is waiting for a task.\n`);
      isTold = true;
      await watch.sign(signal);
    }
  } finally {
    watch.close();
  }
  throw new AtlasError('cancelled', `Stopped before ${wanted.worker} got a task.`);
}

/** Whether a claim was refused since another is at work now. */
async function wasTaken({ workers }: OpenWorkers, { worker }: Wanted): Promise<boolean> {
  const plan = await workers.steps.plan(worker);
  return plan.ok && plan.value.action === 'nothing';
}

async function ran(context: CliContext, opened: OpenWorkers, wanted: Wanted, signal: AbortSignal): Promise<Answer> {
  if (signal.aborted) throw new AtlasError('cancelled', 'Stopped before the task was started.');
  const folder = unwrap(temporaryFolder());
  try {
    return await ranIn(folder, context, opened, wanted, signal);
  } finally {
    removeTemporaryFolder(folder);
  }
}

async function ranIn(
  folder: string,
  context: CliContext,
  opened: OpenWorkers,
  { worker, argv, ownerIsGone: gone, timeoutMs }: Wanted,
  signal: AbortSignal,
): Promise<Answer> {
  const { workers, ports } = opened;
  const [program = ''] = argv;
  const end: { value?: ProgramEnd } = {};
  const done = await workers.run({ worker, owner: ports.processes.self(), ownerIsGone: gone }, async (work) => {
    if (!context.json && !context.quiet)
      context.streams.err(`atlas: ${worker}: ${work.action} ${work.lease.taskId} in ${oneLine(work.folder, 500)}\n`);
    // One that an agent may be.
    const env = { ...context.env, ATLAS_AGENT: basename(program) };
    const { err, out } = context.streams;
    // Beside a document, all that it prints goes to standard error.
    const onOutput = passOn(context.json ? err : out, err);
    const how = { argv, cwd: context.folder, env, timeoutMs, signal, folder, onOutput };
    end.value = await runProgram(workers.commonDir, work, how, ports);
    return end.value.execution;
  });
  const answer = ranAnswer(worker, program, unwrap(done), end.value);
  return { ...answer, notes: [...(answer.notes ?? []), ...unsharedNotes(opened)] };
}

function ranAnswer(
  worker: string,
  program: string,
  { state, result, skipped }: RanWork,
  end: ProgramEnd | undefined,
): Answer {
  const { outcome } = end ?? {};
  if (outcome?.ended === 'not_started')
    throw new AtlasError(
      'not_found',
      `${oneLine(program)} could not be started: ${outcome.problem ?? 'unknown error'}`,
      {
        hint: `${state.taskId} is still assigned to ${worker}.`,
      },
    );
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
    return { exit: EXIT.done, text: '', data, notes: [`${state.taskId} is COMPLETE.`, ...notes] };
  if (state.status === 'FAILED') {
    const message = `${state.taskId} failed: ${result?.error?.message ?? 'no reason was given'}`;
    const error = new AtlasError('work_failed', message);
    const why = oneLine(`${result?.error?.code ?? 'failed'}: ${result?.error?.message ?? ''}`, 400);
    return { exit: EXIT.failed, text: '', data, notes: [`${state.taskId} is FAILED. ${why}`, ...notes], error };
  }
  const message = `${state.taskId} was handed over: ${oneLine(state.resumePoint ?? '', 300)}`;
  const handed = [message, `To continue, run: atlas worker run ${worker} -- <command>`, ...notes];
  // Handed on by its worker, the run did what it was for; one that was ended from outside did not.
  if (outcome?.ended !== 'cancelled') return { exit: EXIT.done, text: '', data, notes: handed };
  return { exit: EXIT.failed, text: '', data, notes: handed, error: new AtlasError('cancelled', message) };
}

/** `worker recover <worker> [-- <command…>]`: says the plan, makes the folder again, and goes on where a program is named. */
export const recover: Handler = async (context, call) => {
  const wanted = wantedOf(context, call);
  const opened = await openWorkers(context);
  const { worker } = wanted;
  const { added: restored } = unwrap(await opened.workers.steps.restore(worker));
  const plan = await planOf(opened, wanted);
  const again = restored ? [`Its folder was restored.`] : [];
  const isToDo = plan.action !== 'nothing';
  if (wanted.argv.length === 0 || !isToDo) {
    const data: WorkerAnswer<'worker recover'> = { worker, plan, restored, run: null };
    const gone = plan.action === 'ask' ? ' --owner-is-gone' : '';
    const next = `To continue, run: atlas worker run ${worker}${gone} -- <command>`;
    const lines = [`${worker}: ${ofPlan(plan)}`, ...again, ...(isToDo ? [next] : [])];
    return { exit: EXIT.done, text: lines.map((line) => `${line}\n`).join(''), wanted: true, data };
  }
  const done = await cancellable(context.cancelled, async (signal) => ran(context, opened, wanted, signal));
  return { ...done, data: { worker, plan, restored, run: done.data }, notes: [...again, ...(done.notes ?? [])] };
};

/** A hook that nothing hangs on needs nothing. */
async function planOf({ workers }: OpenWorkers, { worker, ownerIsGone: gone }: Wanted): Promise<SlotPlan> {
  const plan = await workers.steps.plan(worker, gone);
  if (plan.ok || plan.error.code !== 'not_found') return unwrap(plan);
  return { action: 'nothing', reason: 'No task is assigned to it.' };
}
