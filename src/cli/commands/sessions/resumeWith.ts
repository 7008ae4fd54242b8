import { constants } from 'node:os';
import spawn from 'cross-spawn';
import { RESUME_AGENTS, handOverText, resumeCommand } from '../../../agents/sessions/handOver';
import { trackedSessions } from '../../../agents/sessions/trackedSessions';
import { AtlasError } from '../../../core/shared/errors';
import { HOST_TITLES } from '../../../core/session/sessionHost';
import { oneLine } from '../../../core/shared/text';
import { worktreeOf } from '../../../core/task/task';
import type { ObservedSession, SessionService } from '../../../service/sessions/sessionService';
import { childEnvironment } from '../../../validation/commandEnvironment';
import type { Call } from '../../parse/call';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import type { AnswerData } from '../schemas';
import { taskToDrive } from '../task/taskAnswer';
import { namedSession } from './sessions';

/** What is handed over, and where. */
interface Work {
  readonly text: string;
  readonly folder: string;
  readonly session: ObservedSession | undefined;
}

/** `resume --with <agent>`: starts an agent where the work lies, with what is known of it. Exits as the agent does. */
export const resumeWith: Handler = async (context, call) => {
  const agent = RESUME_AGENTS.find((each) => each === call.text('with'));
  if (agent === undefined)
    throw new AtlasError('usage', 'No agent was named.', { hint: `Name one: --with ${RESUME_AGENTS.join('|')}` });
  const service = trackedSessions(await context.atlas(), context.env);
  const work = await workOf(context, call, service);
  if (work.session !== undefined) await askBeside(context, call, service, work.session);
  const headless = call.flag('headless') || !context.stdin.isTTY;
  const own = work.session?.ref.host === agent ? work.session.ref.sessionId : undefined;
  const [program = '', ...args] = resumeCommand(agent, work.text, { headless, more: call.rest, session: own });
  const env = { ...childEnvironment(context.env), ATLAS_HOME: context.root };
  const exit = await ran(program, args, { cwd: work.folder, env, json: context.json });
  if (exit === 0 && work.session !== undefined) await service.handedOver(work.session.ref);
  const data: AnswerData<'resume'> = { with: agent, session_id: work.session?.ref.sessionId ?? null, exit_code: exit };
  return { exit, text: '', data, notes: [`${HOST_TITLES[agent]} exited with code ${exit}.`] };
};

/** The session that is meant: the one named, else the newest that was interrupted or waits here, else the open task. */
async function workOf(context: CliContext, call: Call, service: SessionService): Promise<Work> {
  const sessions = await service.refresh();
  const atlas = await context.atlas();
  const { repository } = await atlas.locate(context.folder);
  const id = call.text('session');
  const offered = sessions.filter(({ record, state, shown }) => {
    const isHere = record.repository !== undefined && record.repository === repository?.main;
    return isHere && shown === 'offered' && (state === 'interrupted' || record.task?.state === 'waiting');
  });
  const isTaskMeant = id === undefined && call.text('task') !== undefined;
  const session = id === undefined ? offered[0] : namedSession(sessions, id);
  if (session !== undefined && !isTaskMeant) {
    const folder = session.record.worktree ?? session.record.cwd ?? context.folder;
    return { text: handOverText(await service.markdown(session)), folder, session };
  }
  const { atlas: driving, stored } = await taskToDrive(context, call);
  const markdown = await driving.hookMarkdown(stored);
  return { text: handOverText(markdown), folder: worktreeOf(stored.task) ?? context.folder, session: undefined };
}

/** Two that change the same files disturb each other: somebody has to want that. */
async function askBeside(
  context: CliContext,
  call: Call,
  service: SessionService,
  session: ObservedSession,
): Promise<void> {
  const left = await service.survivors(session);
  const isAlive = session.state !== 'interrupted' && session.state !== 'ended';
  if (left.length === 0 && !isAlive) return;
  const named = left.map(({ pid, command }) => `${oneLine(command, 100)} (process ${pid})`).join(', ');
  const what = isAlive ? 'The session is still open.' : `The dead session left running: ${named}.`;
  const end = isAlive ? '' : ` To end it first, run: atlas sessions end-processes ${session.ref.sessionId}.`;
  const sure = await context.confirm(`${what}${end} Start beside it?`, call.flag('yes'));
  if (!sure) throw new AtlasError('cancelled', 'No agent was started.');
}

async function ran(
  program: string,
  args: readonly string[],
  { cwd, env, json }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly json: boolean },
): Promise<number> {
  return new Promise((resolve, reject) => {
    // Ctrl+C reaches the agent by itself, since it has the same terminal.
    const stay = (): void => undefined;
    process.on('SIGINT', stay);
    const child = spawn(program, args, { cwd, env, stdio: ['inherit', json ? process.stderr : 'inherit', 'inherit'] });
    child.on('error', (error) => {
      process.off('SIGINT', stay);
      reject(
        new AtlasError('not_found', `${oneLine(program)} could not be started: ${error.message}`, {
          hint: 'Install it, or put it on the PATH.',
        }),
      );
    });
    child.on('exit', (code, signal) => {
      process.off('SIGINT', stay);
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}
