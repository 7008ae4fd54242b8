import * as z from 'zod/mini';
import { SESSION_HOSTS } from '../../../core/session/sessionHost';
import { SESSION_STATES } from '../../../core/session/sessionState';

/* What `--json` prints for the commands about sessions. */

const text = z.string();
const integer = z.int();
const maybe = <T extends z.core.$ZodType>(type: T) => z.nullable(type);

const session = z.strictObject({
  session_id: text,
  host: z.enum(SESSION_HOSTS),
  state: z.enum(SESSION_STATES),
  /** Where a session task stands; null for a session that is none. */
  task_state: maybe(z.enum(['open', 'waiting', 'closed'])),
  /** The task that it works on. */
  task_id: maybe(text),
  worktree: maybe(text),
  started_at: text,
  seen_at: text,
  request: maybe(text),
  files_changed: integer,
  hook_path: maybe(text),
});

/** The answers by their commands. */
export const SESSION_ANSWERS = {
  'sessions list': z.strictObject({ tracking: z.boolean(), sessions: z.array(session) }),
  'sessions show': z.strictObject({
    session,
    markdown: text,
    processes: z.array(z.strictObject({ pid: integer, command: text })),
  }),
  'sessions forget': z.strictObject({ forgotten: z.array(text) }),
  'sessions end-processes': z.strictObject({ session_id: text, ended: integer }),
  'sessions use-template': z.strictObject({ session_id: text, task_id: text, workspace_id: text }),
  'sessions refresh': z.strictObject({ sessions: integer }),
} as const;

/** What several answers hold. */
export const SESSION_SHARED = { 'session data': session };

/** What JSON says of a session. */
export type SessionData = z.infer<typeof session>;
