import * as z from 'zod/mini';
import { processIdentitySchema } from '../recovery/liveness';
import { SESSION_HOSTS, type SessionHost } from './sessionHost';

/** Where a fact is known from: what the host reported as it happened, what it wrote down, its process, or git and the files. */
export const FACT_SOURCES = ['hook', 'transcript', 'process', 'files'] as const;

/** One of them. */
export type FactSource = (typeof FACT_SOURCES)[number];

/** What a session does, as its host reports it. */
export const PHASES = ['working', 'waiting_permission', 'waiting_answer', 'idle', 'ended'] as const;

/** One of them. */
export type Phase = (typeof PHASES)[number];

/** Why a session never becomes a session task. */
export const SESSION_MARKS = ['ci', 'headless', 'subagent', 'run'] as const;

/** One of them. */
export type SessionMark = (typeof SESSION_MARKS)[number];

/** Limits of what is kept, in characters (code points) and entries. */
export const LIMITS = {
  text: 4000,
  command: 2000,
  item: 400,
  path: 1000,
  commands: 60,
  files: 1000,
  tools: 20,
  done: 50,
  items: 100,
  compactions: 5,
  dirty: 2000,
} as const;

/** The most that a session's record takes, in bytes. */
export const MAX_RECORD_BYTES = 256 * 1024;

const time = z.string();
const said = { at: time, source: z.enum(FACT_SOURCES) };
const text = z.object({ text: z.string(), ...said });
const count = z.int().check(z.gte(0));

const pendingTool = z.looseObject({
  ...said,
  id: z.string(),
  name: z.string(),
  /** What it was asked to do, in a line. */
  input: z.optional(z.string()),
  /** Whether the host asked the user for permission, and no answer is known. */
  permission: z.optional(z.boolean()),
});

const ranCommand = z.looseObject({
  ...said,
  id: z.string(),
  command: z.string(),
  ended_at: z.optional(time),
  exit_code: z.optional(z.int()),
  duration_ms: z.optional(z.number()),
  /** Where exit code and duration are known from. */
  end_source: z.optional(z.enum(FACT_SOURCES)),
  /** Set where the host told that it failed, but not how. */
  failed: z.optional(z.boolean()),
  /** Set where the user was asked, and nothing told since that it ran. */
  permission: z.optional(z.boolean()),
});

const namedFile = z.looseObject({ ...said, path: z.string(), tool: z.string() });

const base = z.looseObject({
  at: time,
  commit: z.optional(z.string()),
  /** What was uncommitted then, as far as it was looked at. */
  dirty: z.array(z.object({ path: z.string(), size: z.optional(z.number()), mtime_ms: z.optional(z.number()) })),
  /** Set where it was taken after the session began: what changed before is told by its time only. */
  late: z.optional(z.boolean()),
});

const changes = z.looseObject({
  at: time,
  files: z.array(z.object({ path: z.string(), change: z.enum(['modified', 'added', 'deleted']) })),
  total: count,
  /** Of them, how many are uncommitted. */
  uncommitted: count,
});

/** What is known of a session, as it is kept. Texts are redacted and cut before they come here. */
export const sessionRecordSchema = z.looseObject({
  schema_version: z.string(),
  host: z.enum(SESSION_HOSTS),
  session_id: z.string(),
  /** Where it works, and, where that is in a repository, its worktree and the repository's main worktree. */
  cwd: z.optional(z.string()),
  worktree: z.optional(z.string()),
  repository: z.optional(z.string()),
  started_at: time,
  /** The newest observation. */
  seen_at: time,
  start: z.optional(z.string()),
  marks: z.array(z.enum(SESSION_MARKS)),
  process: z.optional(processIdentitySchema),
  transcript: z.optional(z.string()),
  /** How far the transcript was read, in bytes. */
  read_to: z.optional(count),
  first_request: z.optional(text),
  latest_request: z.optional(text),
  tools: z.array(pendingTool),
  /** Ids of the tools that ended last: a transcript may tell later that they were asked for. */
  done: z.array(z.string()),
  commands: z.array(ranCommand),
  files: z.array(namedFile),
  changes: z.optional(changes),
  /** Set where git didn't say in time what changed: it is asked again. When the session's work had ended then, if it had. */
  recheck: z.optional(z.object({ tries: count, ended_at: z.optional(time) })),
  list: z.optional(
    z.object({ ...said, items: z.array(z.object({ id: z.string(), text: z.string(), status: z.string() })) }),
  ),
  message: z.optional(text),
  compactions: z.array(z.object({ ...said, trigger: z.optional(z.string()), summary: z.optional(z.string()) })),
  phase: z.enum(PHASES),
  phase_at: time,
  phase_source: z.enum(FACT_SOURCES),
  ending: z.optional(z.string()),
  base: z.optional(base),
  /** When its process was found dead, and whether that was in a turn. */
  died: z.optional(z.object({ at: time, in_turn: z.boolean() })),
  /** How many older ones were left out. */
  folded: z.object({ requests: count, commands: count, files: count, compactions: count, events: count }),
  /** Set once it is a session task. */
  task: z.optional(
    z.object({
      state: z.enum(['open', 'waiting', 'closed']),
      since: time,
      because: z.enum(['changed', 'interrupted']),
      /** Set once another agent took it over; a new request opens it again. */
      handed_over: z.optional(z.boolean()),
    }),
  ),
  /** The task that it works on, where it is bound to one. */
  bound: z.optional(z.object({ workspace: z.string(), id: z.string() })),
});

/** What is known of a session. */
export type SessionRecord = z.infer<typeof sessionRecordSchema>;

/** Which session is meant. */
export interface SessionRef {
  readonly host: SessionHost;
  readonly sessionId: string;
}

/** A session of which nothing is known yet but that it is there. */
export function newSession({ host, sessionId }: SessionRef, at: string, source: FactSource): SessionRecord {
  return {
    schema_version: '1.0',
    host,
    session_id: sessionId,
    started_at: at,
    seen_at: at,
    marks: [],
    tools: [],
    done: [],
    commands: [],
    files: [],
    compactions: [],
    phase: 'idle',
    phase_at: at,
    phase_source: source,
    folded: { requests: 0, commands: 0, files: 0, compactions: 0, events: 0 },
  };
}
