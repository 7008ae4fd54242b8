import { join } from 'node:path';
import { AgentSessions, endSession } from './agentSessions';
import { NOTHING, type Reaction } from '../hosts/hostReply';
import type { HostName, LifecycleEvent } from '../hosts/hosts';
import type { LifecycleContext } from './lifecycleContext';
import { preCompact } from './preCompact';
import { beforeDiscard, markFiles, turnStart } from './restorePoints';
import { sessionStart } from './sessionStart';
import { stop } from './stop';
import { SessionOwners } from '../../store/sessions/sessionOwners';
import { SUBAGENT_REVIEW } from './subagentReview';

type React = (occasion: LifecycleContext, host: HostName | undefined) => Promise<Reaction>;

const REACTIONS: Readonly<Record<LifecycleEvent, React>> = {
  'session-start': sessionStart,
  stop,
  'pre-compact': preCompact,
  'subagent-stop': async () => Promise.resolve({ text: SUBAGENT_REVIEW, blocks: false }),
  'session-end': ended(false),
  'stop-failure': ended(true),
  'turn-start': turnStart,
  'before-discard': beforeDiscard,
};

/** How an agent ended: what it worked on is looked at. Nobody reads an answer any more. */
function ended(failed: boolean): React {
  return async (occasion) => {
    const { sessionId, ending } = occasion.called.input;
    const { workspace } = await occasion.where();
    if (occasion.check !== undefined || sessionId === undefined || workspace === undefined) return NOTHING;
    const refs = occasion.atlas.catalog.open(workspace);
    await endSession(await occasion.atlas.drive(), refs, { sessionId, ending, failed });
    return NOTHING;
  };
}

/** Notes that a session is there, with the process that runs it, or that it gave a sign of life. */
async function notice(occasion: LifecycleContext, host: HostName | undefined): Promise<void> {
  const { event, input, env } = occasion.called;
  const { sessionId } = input;
  if (occasion.check !== undefined || sessionId === undefined) return;
  try {
    const { ports } = occasion.atlas;
    await observed(occasion, host);
    if (event === 'session-start') {
      // Under `atlas run`, that process watches the agent.
      if ((env['ATLAS_AGENT'] ?? '') === '') new AgentSessions(ports).begin(host, sessionId);
      return;
    }
    const { task } = await occasion.task();
    if (task === undefined) return;
    new SessionOwners(ports).sign(task.ref, sessionId);
    if (event === 'stop') await markFiles(occasion, task, 'turn_ended');
  } catch (error) {
    occasion.problem('The session could not be recorded', error);
  }
}

/** Takes in what hosts reported, where sessions are observed: when one starts or stops, somebody looks. */
async function observed(occasion: LifecycleContext, host: HostName | undefined): Promise<void> {
  const { event, input } = occasion.called;
  const { sessionId } = input;
  if ((event !== 'session-start' && event !== 'stop') || host === undefined || sessionId === undefined) return;
  const { ports } = occasion.atlas;
  // Without the folder, sessions were never observed.
  if (ports.files.stat(join(ports.paths.root, 'observed')) === undefined) return;
  const { trackedSessions } = await import('../sessions/trackedSessions');
  const own = { host, sessionId };
  const service = trackedSessions(occasion.atlas, occasion.called.env);
  if (event === 'session-start') service.spool.put(host, occasion.called.written, occasion.now);
  const sessions = await service.refresh(own);
  occasion.session = { others: sessions.filter(({ ref }) => ref.host !== host || ref.sessionId !== sessionId) };
}

/** Reacts to an event. Never throws: what goes wrong is added to the occasion's problems, and nobody is kept. */
export async function reactTo(occasion: LifecycleContext, host: HostName | undefined): Promise<Reaction> {
  try {
    await notice(occasion, host);
    return await REACTIONS[occasion.called.event](occasion, host);
  } catch (error) {
    occasion.problem(`"${occasion.called.event}" could not be answered`, error);
    return NOTHING;
  }
}
