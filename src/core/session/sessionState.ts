import { SIGN_TRUSTED_MS, type Vitality } from '../recovery/liveness';
import type { LifeSign } from '../shared/ports';
import { toMs } from '../shared/time';
import type { SessionMark, SessionRecord } from './sessionRecord';

/** What a session does now. */
export const SESSION_STATES = [
  'working',
  'waiting_permission',
  'waiting_answer',
  'idle',
  'interrupted',
  'ended',
] as const;

/** One of them. */
export type SessionState = (typeof SESSION_STATES)[number];

/** How each is called everywhere. */
export const SESSION_STATE_LABELS: Readonly<Record<SessionState, string>> = {
  working: 'Working',
  waiting_permission: 'Waiting for permission',
  waiting_answer: 'Waiting for input',
  idle: 'Idle',
  interrupted: 'Interrupted',
  ended: 'Ended',
};

/** The last sign of life of a session's process: what it reported. */
export function signOf({ seen_at: seen }: SessionRecord): LifeSign {
  return { at: toMs(seen), trustedMs: SIGN_TRUSTED_MS };
}

/** Whether a turn was under way by the last that the host told. */
export function isInTurn({ phase }: SessionRecord): boolean {
  return phase === 'working' || phase === 'waiting_permission' || phase === 'waiting_answer';
}

/**
 * What a session does. Only a process that is provably gone ends one that didn't say so, and only in a turn does that
 * interrupt it: a session that is idle, asleep or slow is never called dead.
 */
export function sessionState(record: SessionRecord, vitality: Vitality | undefined): SessionState {
  if (record.phase === 'ended') return 'ended';
  const isGone = record.died !== undefined || vitality === 'dead' || vitality === 'rebooted';
  if (isGone) return (record.died?.in_turn ?? isInTurn(record)) ? 'interrupted' : 'ended';
  switch (record.phase) {
    case 'working':
    case 'waiting_permission':
    case 'waiting_answer':
    case 'idle':
      return record.phase;
  }
}

/** The tool that was asked for last without an end. */
export interface LastTool {
  readonly name: string;
  readonly input: string | undefined;
  readonly at: string;
  readonly source: SessionRecord['phase_source'];
  /** Whether it was running: no permission was pending, and the host wasn't idle. */
  readonly ran: boolean;
}

/** The tool that was asked for last without an end; whether it ran is said only where nothing speaks against it. */
export function lastTool(record: SessionRecord): LastTool | undefined {
  const tool = [...record.tools].sort((a, b) => toMs(a.at) - toMs(b.at)).at(-1);
  if (tool === undefined) return undefined;
  const ran = tool.permission !== true && record.phase === 'working';
  return { name: tool.name, input: tool.input, at: tool.at, source: tool.source, ran };
}

/** A turn that is interrupted in its first minute was a question. */
export const WORTH_KEEPING_MS = 60_000;

/** What is known beside the record when it is asked whether a session becomes a session task. */
export interface Circumstances {
  readonly state: SessionState;
  /** The home folder of the user. */
  readonly home: string;
  /** Whether sessions without a terminal count too: the setting `sessions.headless`. */
  readonly headless: boolean;
}

/** Whether a session can ever become a session task. */
export function mayBecomeTask(record: SessionRecord, { home, headless }: Omit<Circumstances, 'state'>): boolean {
  const against = (mark: SessionMark): boolean => !(mark === 'headless' && headless);
  if (record.worktree === undefined || record.worktree === home) return false;
  return record.bound === undefined && !record.marks.some(against);
}

/** Why a session becomes a session task now; `undefined` where it doesn't. */
export function becomesTask(
  record: SessionRecord,
  circumstances: Circumstances,
): NonNullable<SessionRecord['task']>['because'] | undefined {
  if (record.task !== undefined || !mayBecomeTask(record, circumstances)) return undefined;
  if ((record.changes?.total ?? 0) > 0) return 'changed';
  if (circumstances.state !== 'interrupted') return undefined;
  const began = toMs(record.latest_request?.at ?? record.started_at);
  return toMs(record.seen_at) - began >= WORTH_KEEPING_MS ? 'interrupted' : undefined;
}

/** Where a session task stands: closed once its session ended and nothing of it is uncommitted. */
export function taskState(record: SessionRecord, state: SessionState): NonNullable<SessionRecord['task']>['state'] {
  if (state !== 'ended' && state !== 'interrupted') return 'open';
  if (record.task?.handed_over === true) return 'closed';
  if (state === 'interrupted') return 'waiting';
  return (record.changes?.uncommitted ?? 0) > 0 ? 'waiting' : 'closed';
}

const DAY_MS = 86_400_000;
/** Closed session tasks are kept this long (ms). */
export const CLOSED_KEPT_MS = 7 * DAY_MS;
/** Waiting ones are offered this long (ms), then folded to a line. */
export const WAITING_OFFERED_MS = 14 * DAY_MS;

/** What becomes of a session that is over: offered, told in a line, or removed. */
export function retention(record: SessionRecord, state: SessionState, now: number): 'offered' | 'line' | 'removed' {
  if (state !== 'ended' && state !== 'interrupted') return 'offered';
  const age = now - toMs(record.task?.since ?? record.seen_at);
  if (record.task?.state === 'waiting') return age > WAITING_OFFERED_MS ? 'line' : 'offered';
  return age > CLOSED_KEPT_MS ? 'removed' : 'offered';
}
