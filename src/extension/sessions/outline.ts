import { bySessionUrgency, isOver } from '../../core/session/sessionOrder';
import type { SessionRef } from '../../core/session/sessionRecord';
import type { ObservedSession } from '../../service/sessions/sessionService';
import { insideWorktree } from '../../system/files/worktreePath';

/** What a row of the Sessions view stands for. Commands get these as arguments, and check them again. */
export type SessionNode =
  | { readonly kind: 'repository'; readonly repository: string }
  | { readonly kind: 'worktree'; readonly repository: string; readonly worktree: string }
  | ({ readonly kind: 'session' } & SessionRef)
  | { readonly kind: 'over'; readonly repository: string; readonly worktree: string }
  | { readonly kind: 'more'; readonly worktree: string; readonly shown: number; readonly left: number };

/** A stable id of a row, so that it stays open and selected over a refresh. */
export function sessionNodeId(node: SessionNode): string {
  switch (node.kind) {
    case 'repository':
      return `sessions:repository:${node.repository}`;
    case 'worktree':
    case 'over':
      return `sessions:${node.kind}:${node.worktree}`;
    case 'session':
      return `sessions:session:${node.host}/${node.sessionId}`;
    case 'more':
      return `sessions:more:${node.worktree}:${node.shown}`;
  }
}

/** A folder of a window: its worktree, and the main worktree of its repository. */
export interface WindowPlace {
  readonly worktree: string;
  readonly repository?: { readonly main: string } | undefined;
}

/** Where a session belongs: its repository's main worktree, or the folder outside any in which it works. */
export function repositoryOf({ record }: Pick<ObservedSession, 'record'>): string {
  return record.repository ?? worktreeOf({ record });
}

/** The worktree of a session, or the folder outside any in which it works. */
export function worktreeOf({ record }: Pick<ObservedSession, 'record'>): string {
  return record.worktree ?? record.cwd ?? '';
}

/** The sessions of a window's repositories and folders, the most urgent first. */
export function sessionsOfWindow(
  sessions: readonly ObservedSession[],
  places: readonly WindowPlace[],
): ObservedSession[] {
  const isOwn = (session: ObservedSession): boolean => {
    const folder = worktreeOf(session);
    return places.some(
      ({ worktree, repository }) =>
        (repository !== undefined && repository.main === session.record.repository) ||
        worktree === folder ||
        (folder !== '' && insideWorktree(worktree, folder) !== undefined),
    );
  };
  return sessions.filter(isOwn).sort(bySessionUrgency);
}

/** The rows below one, or those at the top, of sessions in their order. */
export function sessionRows(
  sessions: readonly ObservedSession[],
  node: SessionNode | undefined,
  shownOf: (worktree: string) => number,
): SessionNode[] {
  switch (node?.kind) {
    case undefined:
      return distinct(sessions.map(repositoryOf)).map((repository) => ({ kind: 'repository', repository }));
    case 'repository': {
      const { repository } = node;
      const own = sessions.filter((session) => repositoryOf(session) === repository);
      const worktrees = distinct(own.map(worktreeOf));
      // A repository with one worktree needs no row for it.
      if (worktrees.length === 1) return belowWorktree(own, repository, worktrees[0] ?? '');
      return worktrees.map((worktree) => ({ kind: 'worktree', repository, worktree }));
    }
    case 'worktree':
      return belowWorktree(sessions, node.repository, node.worktree);
    case 'over': {
      const { repository, worktree } = node;
      const rows = inWorktree(sessions, repository, worktree).filter(isOver).map(rowOf);
      const shown = shownOf(worktree);
      const left = rows.length - shown;
      return left <= 0 ? rows : [...rows.slice(0, shown), { kind: 'more', worktree, shown, left }];
    }
    case 'session':
    case 'more':
      return [];
  }
}

function belowWorktree(sessions: readonly ObservedSession[], repository: string, worktree: string): SessionNode[] {
  const own = inWorktree(sessions, repository, worktree);
  const open = own.filter((session) => !isOver(session)).map(rowOf);
  return open.length === own.length ? open : [...open, { kind: 'over', repository, worktree }];
}

/** The sessions of one worktree. */
export function inWorktree(
  sessions: readonly ObservedSession[],
  repository: string,
  worktree: string,
): ObservedSession[] {
  return sessions.filter((session) => repositoryOf(session) === repository && worktreeOf(session) === worktree);
}

function rowOf({ ref }: ObservedSession): SessionNode {
  return { kind: 'session', host: ref.host, sessionId: ref.sessionId };
}

function distinct(all: readonly string[]): string[] {
  return [...new Set(all)];
}
