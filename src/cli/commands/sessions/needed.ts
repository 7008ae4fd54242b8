import { join } from 'node:path';
import { sessionTitle } from '../../../core/hookMarkdown/sessionHook';
import { HOST_TITLES } from '../../../core/session/sessionHost';
import { bySessionUrgency, needsUser } from '../../../core/session/sessionOrder';
import { SESSION_STATE_LABELS } from '../../../core/session/sessionState';
import { messageOf } from '../../../core/shared/errors';
import { roughAge, toMs } from '../../../core/shared/time';
import type { ObservedSession } from '../../../service/sessions/sessionService';
import type { CliContext } from '../../context';

const MAX_TITLE = 120;

/**
 * The sessions of the repository that wait for the user or were interrupted, the most urgent first; not the one that asks.
 * Where nothing was ever observed, nothing is looked at.
 */
export async function sessionsInNeed(context: CliContext): Promise<readonly ObservedSession[]> {
  const atlas = await context.atlas();
  const { files, paths, log } = atlas.ports;
  if (['observed', 'sessions'].every((name) => files.stat(join(paths.root, name)) === undefined)) return [];
  try {
    const { repository } = await atlas.locate(context.folder);
    if (repository === undefined) return [];
    const [{ trackedSessions }, { callingSession }] = await Promise.all([
      import('../../../agents/sessions/trackedSessions'),
      import('../../../agents/lifecycle/agentSessions'),
    ]);
    const sessions = await trackedSessions(atlas, context.env).refresh();
    const own = callingSession(context.env);
    return sessions
      .filter((each) => each.record.repository === repository.main && each.ref.sessionId !== own && needsUser(each))
      .sort(bySessionUrgency);
  } catch (error) {
    log.warn('Sessions could not be looked at.', { error: messageOf(error) });
    return [];
  }
}

/** What a person is told of them, in a line; `undefined` where there are none. */
export function needLine(sessions: readonly ObservedSession[], now: number): string | undefined {
  const [first, ...more] = sessions;
  if (first === undefined) return undefined;
  const others = more.length === 0 ? '' : `, and ${more.length} more: atlas sessions list`;
  return `${told(first, now)}${others}`;
}

/** What an agent is told of them, in at most two lines: records, and nothing to do now. */
export function needRecord(sessions: readonly ObservedSession[], now: number): string | undefined {
  const [first, ...more] = sessions;
  if (first === undefined) return undefined;
  const others = more.length === 0 ? '' : ` And ${more.length} more: atlas sessions list`;
  return [
    `Another session here needs the user, not you: ${told(first, now)}.${others}`,
    `To read what is known of it, run: atlas sessions show ${first.ref.sessionId}`,
  ].join('\n');
}

function told({ ref, record, state }: ObservedSession, now: number): string {
  const since = state === 'interrupted' ? (record.died?.at ?? record.phase_at) : record.phase_at;
  const title = sessionTitle({ record }, MAX_TITLE);
  return `${HOST_TITLES[ref.host]}, ${SESSION_STATE_LABELS[state]} (${roughAge(toMs(since), now)}): "${title}"`;
}
