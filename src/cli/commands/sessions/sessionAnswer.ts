import type { ObservedSession } from '../../../service/sessions/sessionService';
import type { SessionData } from './sessionSchemas';

/** What JSON says of a session. */
export function sessionData({ ref, record, state, hookPath }: ObservedSession): SessionData {
  return {
    session_id: ref.sessionId,
    host: ref.host,
    state,
    task_state: record.task?.state ?? null,
    task_id: record.bound?.id ?? null,
    worktree: record.worktree ?? null,
    started_at: record.started_at,
    seen_at: record.seen_at,
    request: record.first_request?.text ?? null,
    files_changed: record.changes?.total ?? 0,
    hook_path: hookPath ?? null,
  };
}
