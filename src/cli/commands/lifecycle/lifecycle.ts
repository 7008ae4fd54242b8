import { EventLog, type LogEntry } from '../../../agents/lifecycle/eventLog';
import { MAX_INPUT_BYTES, parseHostInput } from '../../../agents/hosts/hostInput';
import { replyTo } from '../../../agents/hosts/hostReply';
import { HOST_NAMES, type HostName, type LifecycleEvent } from '../../../agents/hosts/hosts';
import { LifecycleContext } from '../../../agents/lifecycle/lifecycleContext';
import { reactTo } from '../../../agents/lifecycle/react';
import { defined } from '../../../core/shared/defined';
import { AtlasError } from '../../../core/shared/errors';
import { oneLine } from '../../../core/shared/text';
import { toTimestamp } from '../../../core/shared/time';
import type { Call } from '../../parse/call';
import type { Handler } from '../../parse/commandLine';
import { configNotice } from '../task/configNotice';
import type { Answer } from '../../render/output';
import type { AnswerData } from '../schemas';

/** How long a host's input is waited for, in ms: one that writes nothing and keeps the pipe open must not stop an agent. */
const INPUT_WAIT_MS = 2000;

/** `lifecycle <event>`: answers a host's hook. It never fails: an agent is kept by nothing but an intended block. */
export function lifecycleEvent(event: LifecycleEvent): Handler {
  return async (context, call) => {
    const written = await readInput(context.stdin);
    const { input, problem } =
      'problem' in written ? { input: {}, problem: written.problem } : parseHostInput(written.text);
    const { env, folder } = context;
    if (context.folderProblem !== undefined) return nothing(event, context.folderProblem);
    const occasion = new LifecycleContext(await context.atlas(), {
      event,
      input,
      written: 'text' in written ? written.text : '',
      env,
      folder,
    });
    if (problem !== undefined) occasion.problem(problem);
    const host = hostOf(call, input.writtenBy);
    const reaction = await reactTo(occasion, host);
    const reply = replyTo(host, event, reaction);
    await configNotice(context, occasion.folder());
    await log(occasion, host, reply.exit);
    const notes = occasion.problems;
    const data: AnswerData<LifecycleAnswer> = {
      event,
      host: host ?? null,
      blocks: reaction.blocks,
      text: reaction.text,
      exit_code: reply.exit,
    };
    const answer: Answer = { exit: reply.exit, text: reply.out, wanted: true, data, notes };
    if (reply.exit === 0) return answer;
    if (!context.json) context.streams.err(reply.err);
    return { ...answer, error: new AtlasError('stop_blocked', 'The agent has work left to do.') };
  };
}

/** The answer where nothing can be said: the agent goes on. */
function nothing(event: LifecycleEvent, why: string): Answer {
  const data: AnswerData<LifecycleAnswer> = { event, host: null, blocks: false, text: '', exit_code: 0 };
  return { exit: 0, text: '', wanted: true, data, notes: [why] };
}

/** The commands whose answers these are. */
type LifecycleAnswer = `lifecycle ${LifecycleEvent}`;

function hostOf(call: Call, writtenBy: HostName | undefined): HostName | undefined {
  const named = HOST_NAMES.find((name) => name === call.text('host'));
  return named === 'claude' && writtenBy !== undefined ? writtenBy : named;
}

/** Everything on standard input up to the first whole JSON document, or what is wrong with it. */
async function readInput(stdin: NodeJS.ReadStream): Promise<{ text: string } | { problem: string }> {
  if (stdin.isTTY) return { text: '' };
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (result: { text: string } | { problem: string }): void => {
      clearTimeout(timer);
      stdin.off('data', take);
      // An open pipe would keep this process alive.
      stdin.destroy();
      resolve(result);
    };
    const text = (): string => Buffer.concat(chunks).toString('utf8');
    const take = (chunk: Buffer | string): void => {
      const bytes = Buffer.from(chunk);
      size += bytes.length;
      if (size > MAX_INPUT_BYTES) {
        settle({ problem: `The host's input is larger than ${MAX_INPUT_BYTES} bytes and was not read.` });
        return;
      }
      chunks.push(bytes);
      if (isWhole(text())) settle({ text: text() });
    };
    const timer = setTimeout(() => {
      settle(size === 0 ? { text: '' } : { problem: "The host's input did not end and was not read." });
    }, INPUT_WAIT_MS);
    stdin.on('data', take);
    stdin.on('end', () => {
      settle({ text: text() });
    });
    stdin.on('error', (error) => {
      settle({ problem: `The host's input could not be read: ${oneLine(error.message)}` });
    });
  });
}

/** Whether nothing more need be waited for. Only a text that can end there is parsed. */
function isWhole(text: string): boolean {
  if (!text.trimEnd().endsWith('}')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** A hook that can't be logged has still done its work. */
async function log(occasion: LifecycleContext, host: HostName | undefined, exit: number): Promise<void> {
  const { atlas, called, problems } = occasion;
  try {
    const { workspace, worktree } = await occasion.where();
    const { task } = await occasion.task();
    const step = task?.hook.current_step;
    const cause = called.input.source ?? called.input.trigger ?? called.input.ending;
    const entry: LogEntry = {
      at: toTimestamp(atlas.ports.clock.now()),
      event: called.event,
      ...defined({ host, session_id: called.input.sessionId }),
      folder: worktree,
      ...defined({ workspace }),
      ...(task === undefined ? {} : { task: task.ref.id }),
      ...(step === undefined ? {} : { step: step.step_name, attempt: step.attempt }),
      ...(cause === undefined ? {} : { cause: oneLine(cause, 200) }),
      exit,
      ...defined({ check: occasion.check }),
      ...(problems.length === 0 ? {} : { problems: [...problems].slice(0, 5) }),
    };
    new EventLog(atlas.ports.files, atlas.ports.paths).append(entry);
  } catch (error) {
    occasion.problem('This call could not be logged', error);
  }
}
