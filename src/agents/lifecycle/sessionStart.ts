import { join } from 'node:path';
import { declaredCommands } from '../../core/task/task';
import { isTerminal } from '../../core/task/taskRecord';
import type { StoredTask } from '../../core/task/storedTask';
import { shownSession } from './agentSessions';
import { MAX_AGENT_TEXT, cutAtHeading, cutAtLine, embedded, section } from '../../core/shared/agentText';
import { sessionLines } from '../../core/hookMarkdown/sessionHook';
import { roughAge, toMs } from '../../core/shared/time';
import { pathText } from '../../core/hookMarkdown/escape';
import { showsTheSame, worktreeNow } from '../../service/checkpoints/worktreeState';
import { adviceOf, synopsisOf } from '../../service/tasks/advice';
import { tellInterruption } from '../../service/recovery/tellInterruption';
import { type Reaction, printedLength } from '../hosts/hostReply';
import { type HostName, toolOf } from '../hosts/hosts';
import { readMemory, recentJournals } from './memory';
import type { LifecycleContext } from './lifecycleContext';
import { markFiles } from './restorePoints';
import type { OutsideText } from './outsideFile';

/** The most characters of the task's section; the memory gets what all the others leave. */
const MAX_RECOVERY = 4000;
const MAX_REMINDER = 2500;
/** Less of MEMORY.md than this says nothing. */
const LEAST_MEMORY = 200;
/** Between two sections. */
const GAP = '\n\n';

/**
 * `session-start`: where the task stands, what is remembered, what waits and, after a compaction, what it means, in this
 * order. What doesn't fit is cut from the memory first.
 */
export async function sessionStart(occasion: LifecycleContext, host: HostName | undefined): Promise<Reaction> {
  const first = [await recovery(occasion), await earlierSession(occasion)];
  const compacted = occasion.called.input.source === 'compact';
  const last = [await journals(occasion), await waiting(occasion, host), compacted ? await reminder(occasion) : ''];
  const place = await occasion.memory();
  const memory = readMemory(occasion.atlas.ports.files, place, (why) => occasion.problem(why));
  const file = pathText(place.shown === place.folder ? join(place.folder, 'MEMORY.md') : `${place.shown}/MEMORY.md`);
  const text = (room: number): string => {
    const sections = [...first, room < LEAST_MEMORY ? '' : longTermMemory(memory, room, file), ...last];
    return sections.filter((each) => each !== '').join(GAP);
  };
  let room = MAX_AGENT_TEXT;
  for (;;) {
    const tried = text(room);
    const excess = printedLength(host, tried) - MAX_AGENT_TEXT;
    if (excess <= 0 || room < LEAST_MEMORY) return { text: tried, blocks: false };
    room = Math.min(room, tried.length) - excess;
  }
}

async function recovery(occasion: LifecycleContext): Promise<string> {
  const { task: found, note } = await occasion.task();
  if (found === undefined) return '';
  const told = await tellInterruption(occasion.atlas, found);
  if (!told.ok) occasion.problem('The interruption could not be recorded', told.error);
  const task = await looked(occasion, told.ok ? told.value : found);
  const { sessionId } = occasion.called.input;
  await markFiles(occasion, task, 'session_started', declaredCommands(task.task).length > 0 ? sessionId : undefined);
  const { ports } = occasion.atlas;
  const rest = `[Truncated. The rest is in ${pathText(ports.paths.markdown(task.ref))}]`;
  const parts = [synopsisOf(ports, task), note ?? '', adviceOf(ports, task).markdown.trim()];
  const text = parts.filter((part) => part !== '').join('\n\n');
  return section('atlas-recovery', cutAtLine(embedded(text), MAX_RECOVERY, rest));
}

/** A task with what its worktree shows now: whoever starts reads the file, not what a command adds to it. */
async function looked(occasion: LifecycleContext, task: StoredTask): Promise<StoredTask> {
  if (occasion.check !== undefined || isTerminal(task.hook.state)) return task;
  const now = await worktreeNow(occasion.atlas, task);
  if (now === undefined || showsTheSame(now, task.hook.worktree_state)) return task;
  const { sessionId } = occasion.called.input;
  const session = sessionId === undefined ? {} : { session: shownSession(sessionId) };
  const seen = await (await occasion.atlas.drive()).observe(task, session, now);
  if (!seen.ok) occasion.problem('What changed in the worktree could not be recorded', seen.error);
  return seen.ok ? seen.value : task;
}

/** Two lines on the newest session here that was interrupted or left changes behind: an offer, never an order. */
async function earlierSession(occasion: LifecycleContext): Promise<string> {
  const { session } = occasion;
  if (session === undefined) return '';
  try {
    const { worktree } = await occasion.where();
    const found = session.others.find(
      ({ record, state, shown }) =>
        record.worktree === worktree &&
        shown === 'offered' &&
        record.task?.state === 'waiting' &&
        (state === 'interrupted' || state === 'ended'),
    );
    if (found?.hookPath === undefined) return '';
    const age = roughAge(toMs(found.record.seen_at), occasion.now);
    return section('earlier-session', embedded(sessionLines(found, age, found.hookPath)));
  } catch (error) {
    occasion.problem('Earlier sessions could not be read', error);
    return '';
  }
}

async function reminder(occasion: LifecycleContext): Promise<string> {
  return section('system-reminder', (await occasion.prompts()).compact(MAX_REMINDER));
}

function longTermMemory(memory: OutsideText | undefined, room: number, file: string): string {
  const text = embedded(memory?.text ?? '').trim();
  return text === '' ? '' : section('long-term-memory', cutAtHeading(text, room, file, memory?.more));
}

async function journals(occasion: LifecycleContext): Promise<string> {
  const lines = recentJournals(occasion.atlas.ports.files, await occasion.memory(), occasion.now, (why) =>
    occasion.problem(why),
  );
  return lines.length === 0 ? '' : section('recent-journals', lines.join('\n'));
}

async function waiting(occasion: LifecycleContext, host: HostName | undefined): Promise<string> {
  try {
    const pending = (await occasion.inbox())?.pending ?? 0;
    if (pending === 0) return '';
    const use = `Use ${toolOf(host, 'get_next_task')}() to process them.`;
    return section(
      'inbox-status',
      `You have ${pending} pending task(s). ${use}\nWithout that tool, run: atlas inbox next`,
    );
  } catch (error) {
    occasion.problem('The agent queue could not be read', error);
    return '';
  }
}
