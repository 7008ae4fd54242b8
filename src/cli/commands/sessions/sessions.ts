import { sessionTitle } from '../../../core/hookMarkdown/sessionHook';
import { AtlasError, unwrap } from '../../../core/shared/errors';
import { HOST_TITLES } from '../../../core/session/sessionHost';
import { SESSION_STATE_LABELS } from '../../../core/session/sessionState';
import { count, oneLine } from '../../../core/shared/text';
import { roughAge, toMs } from '../../../core/shared/time';
import { trackedSessions } from '../../../agents/sessions/trackedSessions';
import type { ObservedSession, SessionService } from '../../../service/sessions/sessionService';
import { endProcesses } from '../../../service/sessions/survivors';
import type { Call } from '../../parse/call';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import { EXIT } from '../../render/output';
import { table } from '../../render/table';
import type { AnswerData } from '../schemas';
import { sessionData } from './sessionAnswer';

/** What observes sessions, after a look at what hosts reported. */
async function looked(context: CliContext): Promise<{ service: SessionService; sessions: readonly ObservedSession[] }> {
  const service = trackedSessions(await context.atlas(), context.env);
  return { service, sessions: await service.refresh() };
}

/** `sessions list`: each session of the repository, the newest first. */
export const listSessions: Handler = async (context, call) => {
  const { service, sessions } = await looked(context);
  const atlas = await context.atlas();
  const { repository } = await atlas.locate(context.folder);
  const own = call.flag('all') ? sessions : sessions.filter(({ record }) => record.repository === repository?.main);
  const { track } = await service.config();
  const now = atlas.ports.clock.now();
  const rows = own.map(({ ref, record, state }) => [
    HOST_TITLES[ref.host],
    SESSION_STATE_LABELS[state],
    roughAge(toMs(record.seen_at), now),
    count(record.changes?.total ?? 0, 'file'),
    sessionTitle({ record }, 60),
    ref.sessionId,
  ]);
  const head = ['HOST', 'STATUS', 'LAST SEEN', 'CHANGED', 'REQUEST', 'ID'];
  const text = rows.length === 0 ? 'No sessions yet.\n' : table(head, rows, context.streams.columns);
  const data: AnswerData<'sessions list'> = { tracking: track === true, sessions: own.map(sessionData) };
  return { exit: EXIT.done, text, wanted: true, data, notes: observingNotes(track) };
};

/** Why there may be no news. */
function observingNotes(track: boolean | undefined): string[] {
  if (track === undefined)
    return ['Correct config.yaml to see what was reported since: its settings could not be read.'];
  return track ? [] : ['Sessions are not observed. To turn that on, run: atlas lifecycle install --host <host>'];
}

/** The one session that an id, or its beginning, names; throws `not_found` or `usage`. */
export function namedSession(sessions: readonly ObservedSession[], id: string): ObservedSession {
  const found = sessions.filter(({ ref }) => ref.sessionId.startsWith(id));
  const exact = found.find(({ ref }) => ref.sessionId === id);
  const [first] = found;
  if (first === undefined || id === '')
    throw new AtlasError('not_found', `There is no session ${oneLine(id)}.`, {
      hint: 'Run: atlas sessions list --all',
    });
  if (found.length > 1 && exact === undefined)
    throw new AtlasError('usage', `${found.length} sessions begin with ${oneLine(id)}.`, {
      hint: 'Name more of the ID.',
    });
  return exact ?? first;
}

/** `sessions show`: HOOK.md of a session, as it would be now. */
export const showSession: Handler = async (context, call) => {
  const { service, sessions } = await looked(context);
  const session = namedSession(sessions, call.operands[0] ?? '');
  const markdown = await service.markdown(session);
  const processes = (await service.survivors(session)).map(({ pid, command }) => ({ pid, command }));
  const data: AnswerData<'sessions show'> = { session: sessionData(session), markdown, processes };
  return { exit: EXIT.done, text: markdown, wanted: true, data };
};

/** `sessions forget`: everything that is kept of a session is deleted. */
export const forgetSession: Handler = async (context, call) => {
  context.humanOnly('delete what is known of a session');
  const { service, sessions } = await looked(context);
  const chosen = forgotten(sessions, call);
  const what = call.flag('all') ? `all ${count(chosen.length, 'session')}` : `the session "${titleOf(chosen[0])}"`;
  if (!(await context.confirm(`Delete everything that is kept about ${what}?`, call.flag('yes'))))
    throw new AtlasError('cancelled', 'Nothing was deleted.');
  for (const { ref } of chosen) await service.forget(ref);
  const data: AnswerData<'sessions forget'> = { forgotten: chosen.map(({ ref }) => ref.sessionId) };
  return { exit: EXIT.done, text: `Deleted ${count(chosen.length, 'session')}.\n`, data };
};

function forgotten(sessions: readonly ObservedSession[], call: Call): readonly ObservedSession[] {
  const id = call.operands[0];
  if (call.flag('all') === (id !== undefined))
    throw new AtlasError('usage', 'Name one session, or give --all.', { hint: 'Run: atlas sessions list --all' });
  return id === undefined ? sessions : [namedSession(sessions, id)];
}

function titleOf(session: ObservedSession | undefined): string {
  return session === undefined ? '' : sessionTitle(session, 60);
}

/** `sessions end-processes`: ends what a dead session left, after it was shown. */
export const endSessionProcesses: Handler = async (context, call) => {
  context.humanOnly("end a session's processes");
  const { service, sessions } = await looked(context);
  const session = namedSession(sessions, call.operands[0] ?? '');
  if (session.state !== 'interrupted' && session.state !== 'ended')
    throw new AtlasError('illegal_transition', `This session is not over: ${SESSION_STATE_LABELS[session.state]}.`, {
      hint: 'End it in its own terminal.',
    });
  const left = await service.survivors(session);
  const data = (ended: number): AnswerData<'sessions end-processes'> => ({ session_id: session.ref.sessionId, ended });
  if (left.length === 0) return { exit: EXIT.done, text: 'Nothing of this session still runs.\n', data: data(0) };
  const named = left.map(({ pid, command }) => `${pid}: ${oneLine(command, 200)}`).join('\n');
  if (!(await context.confirm(`${named}\nEnd ${left.length === 1 ? 'it' : 'these'}?`, call.flag('yes'))))
    throw new AtlasError('cancelled', 'Nothing was ended.');
  const ended = await endProcesses(session.record);
  return { exit: EXIT.done, text: `Ended ${count(ended, 'process', 'processes')}.\n`, data: data(ended) };
};

/** `sessions use-template`: a task that goes on with what a session began. */
export const useTemplate: Handler = async (context, call) => {
  const { service, sessions } = await looked(context);
  const session = namedSession(sessions, call.operands[0] ?? '');
  const { worktree } = session.record;
  if (worktree === undefined)
    throw new AtlasError('no_repository', 'This session worked outside any repository.', {
      hint: 'Start a task in the folder instead: atlas start',
    });
  const atlas = await context.drive();
  const started = unwrap(
    await atlas.startTask({ title: sessionTitle(session), template: call.operands[1] ?? '', folder: worktree }),
  );
  await service.bind(session.ref, started.ref);
  const written = unwrap(await atlas.regenerate(started.ref));
  const data: AnswerData<'sessions use-template'> = {
    session_id: session.ref.sessionId,
    task_id: written.ref.id,
    workspace_id: written.ref.workspace,
  };
  return { exit: EXIT.done, text: `Started task ${written.ref.id} from the session.\n`, data };
};

/** `sessions refresh`: takes in what waits; says nothing to people. */
export const refreshSessions: Handler = async (context) => {
  const { sessions } = await looked(context);
  const data: AnswerData<'sessions refresh'> = { sessions: sessions.length };
  return { exit: EXIT.done, text: '', data };
};
