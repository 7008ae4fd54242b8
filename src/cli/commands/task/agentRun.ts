import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { basename } from 'node:path';
import spawn from 'cross-spawn';
import { AtlasError, messageOf } from '../../../core/shared/errors';
import { STATE_LABELS } from '../../../core/task/labels';
import { isTerminal } from '../../../core/task/taskRecord';
import { oneLine } from '../../../core/shared/text';
import { type AgentEnd, type AgentExit, AgentPresence } from '../../../service/sessions/agentPresence';
import { synopsisOf } from '../../../service/tasks/advice';
import { refKey } from '../../../core/task/taskRef';
import { childEnvironment } from '../../../validation/commandEnvironment';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import { EXIT } from '../../render/output';
import type { AnswerData } from '../schemas';
import { type Driven, describeState, taken, taskData, taskToDrive } from './taskAnswer';

/** `run -- <agent>`: an agent on the task, watched until it ends. Exits as the agent did. */
export const runAgent: Handler = async (context, call) => {
  const [program, ...args] = call.rest;
  if (program === undefined)
    throw new AtlasError('usage', 'No agent was named.', {
      hint: 'Name its command after --, for example: atlas run -- claude',
    });
  const { atlas, stored, notes: found } = await makeReady(context, await taskToDrive(context, call));
  for (const note of found) context.streams.err(`atlas: ${oneLine(note, 500)}\n`);
  const presence = new AgentPresence(atlas, stored.ref);
  if (presence.isTaken()) {
    throw new AtlasError('illegal_transition', `Another agent is already working on task ${stored.ref.id}.`, {
      hint: 'Wait until it exits, or continue in its terminal.',
    });
  }
  const { config } = await atlas.configs.forTask(stored.task);
  const env = {
    ...childEnvironment(context.env),
    ATLAS_HOME: context.root,
    ATLAS_TASK: refKey(stored.ref),
    ATLAS_AGENT: basename(program),
    ATLAS_SYNOPSIS: synopsisOf(atlas.ports, stored),
  };
  // Before the agent starts: its own first command, and whoever looks then, finds it at work.
  presence.start(config.checkpointIntervalMs);
  const exit = await runChild([program, ...args], env, context.json).catch((error: unknown) => {
    presence.withdraw();
    throw new AtlasError('not_found', `${oneLine(program)} could not be started: ${messageOf(error)}`);
  });
  const ended = await presence.end(exit);
  const task = ended.task ?? stored;
  const data: AnswerData<'run'> = {
    task: taskData(atlas, task),
    exit_code: exit.code ?? null,
    signal: exit.signal ?? null,
    meant: ended.meant,
  };
  const notes = [`${MEANT[ended.meant]} State: ${describeState(task)}.`];
  return { exit: exitCode(exit), text: '', data, notes };
};

/** A task that is over takes no agent; one that crashed is recovered first, by its plan. */
async function makeReady(context: CliContext, driven: Driven): Promise<Driven> {
  const { atlas, stored } = driven;
  if (isTerminal(stored.hook.state)) {
    const message = `Task ${stored.ref.id} has ended (${STATE_LABELS[stored.hook.state]}).`;
    throw new AtlasError('illegal_transition', message, { hint: 'Start a new task.' });
  }
  if (stored.hook.state !== 'recovering') return driven;
  const resumed = taken(context, driven, await atlas.resume(stored.ref, context.caller));
  const note = `Recovered: ${STATE_LABELS[stored.hook.state]} → ${STATE_LABELS[resumed.hook.state]}.`;
  return { ...driven, stored: resumed, notes: [...driven.notes, note] };
}

/** Signals that are passed on; Ctrl+C reaches the agent by itself, since it has the same terminal. */
const PASSED_ON = ['SIGTERM', 'SIGHUP'] as const;

async function runChild(
  [program = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  json: boolean,
): Promise<AgentExit> {
  return new Promise((resolve, reject) => {
    const agent: { child?: ChildProcess } = {};
    const passOn = (signal: NodeJS.Signals): void => void agent.child?.kill(signal);
    const stay = (): void => undefined;
    // Before the agent starts: whoever sees that it runs may end it at once.
    for (const signal of PASSED_ON) process.on(signal, passOn);
    process.on('SIGINT', stay);
    const child = spawn(program, args, { stdio: ['inherit', json ? process.stderr : 'inherit', 'inherit'], env });
    agent.child = child;
    const release = (): void => {
      for (const signal of PASSED_ON) process.off(signal, passOn);
      process.off('SIGINT', stay);
    };
    child.on('error', (error: NodeJS.ErrnoException) => {
      // A signal that could not be passed on: the agent lives.
      if (error.syscall === 'kill') return;
      release();
      reject(error);
    });
    child.on('exit', (code, signal) => {
      release();
      resolve({ ...(code === null ? {} : { code }), ...(signal === null ? {} : { signal }) });
    });
  });
}

const MEANT: Readonly<Record<AgentEnd, string>> = {
  nothing_open: 'The agent exited.',
  crashed: 'The agent crashed. To continue, run: atlas resume.',
  human_asked:
    'The agent exited before its step was complete. To continue, run: atlas resume. To send the step back, run: atlas reject.',
};

/** As shells say it: 128 and the signal's number where a signal ended it. */
function exitCode({ code, signal }: AgentExit): number {
  if (code !== undefined) return code;
  const number = signal === undefined ? undefined : constants.signals[signal as NodeJS.Signals];
  return number === undefined ? EXIT.failed : 128 + number;
}
