import { describe, expect, it } from 'vitest';
import { bySessionUrgency, isOver, needsUser } from '../../../src/core/session/sessionOrder';
import { type SessionRecord, newSession } from '../../../src/core/session/sessionRecord';
import type { SessionState } from '../../../src/core/session/sessionState';
import { sessionNodeId, sessionRows, sessionsOfWindow } from '../../../src/extension/sessions/outline';
import type { ObservedSession } from '../../../src/service/sessions/sessionService';

const AT = '2026-11-24T12:00:00.000Z';
const WAITING = { task: { state: 'waiting', since: AT, because: 'changed' } } as const;

function session(
  id: string,
  state: SessionState,
  more: Partial<SessionRecord> = {},
  shown: ObservedSession['shown'] = 'offered',
): ObservedSession {
  const ref = { host: 'codex', sessionId: id } as const;
  const record = { ...newSession(ref, AT, 'hook'), repository: '/r', worktree: '/r', ...more };
  return { ref, record, state, survivors: [], hookPath: undefined, shown };
}

const ids = (all: readonly ObservedSession[]): string[] => all.map(({ ref }) => ref.sessionId);
const below = (all: readonly ObservedSession[], node?: Parameters<typeof sessionRows>[1], page = 50): string[] =>
  sessionRows(all, node, () => page).map(sessionNodeId);

describe('sessions that wait for the user', () => {
  it('are those that ask, and those that were interrupted with something to go on with', () => {
    expect(needsUser(session('a', 'waiting_permission'))).toBe(true);
    expect(needsUser(session('a', 'waiting_answer'))).toBe(true);
    expect(needsUser(session('a', 'interrupted', WAITING))).toBe(true);
    // A question that was interrupted in its first minute.
    expect(needsUser(session('a', 'interrupted'))).toBe(false);
    for (const state of ['working', 'idle', 'ended'] as const) expect(needsUser(session('a', state))).toBe(false);
  });

  it('are not counted beside their task, without a terminal, once handed over or when they are only a line', () => {
    const bound = { bound: { workspace: 'w', id: 't' } };
    expect(needsUser(session('a', 'waiting_answer', bound))).toBe(false);
    expect(needsUser(session('a', 'interrupted', { ...WAITING, ...bound }))).toBe(false);
    expect(needsUser(session('a', 'waiting_permission', { marks: ['headless'] }))).toBe(false);
    expect(needsUser(session('a', 'interrupted', { task: { ...WAITING.task, state: 'closed' } }))).toBe(false);
    expect(needsUser(session('a', 'interrupted', WAITING, 'line'))).toBe(false);
  });

  it('come first, then by status, then the one that was seen last', () => {
    const all = [
      session('ended', 'ended'),
      session('idle', 'idle'),
      session('older', 'working', { seen_at: '2026-11-24T11:00:00.000Z' }),
      session('working', 'working'),
      session('question', 'interrupted'),
      session('asks', 'waiting_permission'),
      session('interrupted', 'interrupted', WAITING),
    ];
    expect(ids(all.sort(bySessionUrgency))).toEqual([
      ...['interrupted', 'asks', 'question', 'working', 'older', 'idle', 'ended'],
    ]);
  });
});

describe('the rows of the Sessions view', () => {
  it('are those of the window: its repositories with all their worktrees, and its folders', () => {
    const all = [
      session('own', 'idle'),
      session('other-worktree', 'idle', { worktree: '/elsewhere' }),
      session('other', 'idle', { repository: '/other', worktree: '/other' }),
      session('folder', 'idle', { repository: undefined, worktree: undefined, cwd: '/plain/deeper' }),
      session('nowhere', 'idle', { repository: undefined, worktree: undefined }),
    ];
    const places = [{ worktree: '/r', repository: { main: '/r' } }, { worktree: '/plain' }];
    expect(ids(sessionsOfWindow(all, places)).sort()).toEqual(['folder', 'other-worktree', 'own']);
  });

  it('stand below their repository, and below their worktree only where there are several', () => {
    const one = [session('a', 'working'), session('b', 'idle')];
    const repository = { kind: 'repository', repository: '/r' } as const;
    expect(below(one)).toEqual(['sessions:repository:/r']);
    expect(below(one, repository)).toEqual(['sessions:session:codex/a', 'sessions:session:codex/b']);
    const two = [...one, session('c', 'idle', { worktree: '/w' })];
    expect(below(two, repository)).toEqual(['sessions:worktree:/r', 'sessions:worktree:/w']);
    expect(below(two, { kind: 'worktree', repository: '/r', worktree: '/w' })).toEqual(['sessions:session:codex/c']);
  });

  it('are folded once they are over and ask for nothing, a page at a time', () => {
    const ended = Array.from({ length: 3 }, (_, index) => session(`e${index}`, 'ended'));
    const all = [session('left', 'ended', WAITING), session('line', 'interrupted', WAITING, 'line'), ...ended];
    expect(all.map(isOver)).toEqual([false, true, true, true, true]);
    const top = below(all, { kind: 'repository', repository: '/r' });
    expect(top).toEqual(['sessions:session:codex/left', 'sessions:over:/r']);
    const over = below(all, { kind: 'over', repository: '/r', worktree: '/r' }, 2);
    expect(over).toEqual(['sessions:session:codex/line', 'sessions:session:codex/e0', 'sessions:more:/r:2']);
  });
});
