import type { SessionEvent } from '../../core/session/sessionEvent';
import type { SessionHost } from '../../core/session/sessionHost';
import type { SessionMark, SessionRecord } from '../../core/session/sessionRecord';

/** What stands beside a spooled event: who wrote it, and where it was said. */
export interface SpoolEnvelope {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly marks: readonly SessionMark[];
  /** The host's process. */
  readonly process?: { readonly pid: number; readonly startTime: string };
}

/** What a host's report comes to: a session and what happened in it. */
export interface Observed {
  readonly sessionId: string;
  /** Whose session it is, where another host ran the hook. */
  readonly host?: SessionHost;
  readonly events: readonly SessionEvent[];
}

/** What was read of a transcript. */
export interface TranscriptRead {
  /** The oldest first. */
  readonly events: readonly SessionEvent[];
  /** How far it was read, in bytes from its beginning. */
  readonly readTo: number;
}

/** A session that was found by what its host leaves, without hooks. */
export interface FoundSession {
  readonly sessionId: string;
  readonly events: readonly SessionEvent[];
  readonly process?: { readonly pid: number; readonly startTime?: string };
}

/** A host of agents, as far as its sessions can be observed. Nothing here throws; what can't be read says nothing. */
export interface ObservedHost {
  readonly host: SessionHost;
  /** What a spooled report says; `undefined` where it is none of this host's. */
  readonly reported: (body: string, envelope: SpoolEnvelope) => Observed | undefined;
  /** Reads what a transcript says that wasn't read yet, from its end in pieces. Only with the user's consent. */
  readonly readTranscript?: (record: SessionRecord) => Promise<TranscriptRead | undefined>;
  /** The sessions that run or ran lately, by what the host leaves on disk. Only with the user's consent. */
  readonly find?: () => Promise<readonly FoundSession[]>;
}
