import type { SessionRecord } from '../../core/session/sessionRecord';
import { jsonOf } from '../../system/files/readJson';
import { checkTaskId, checkWorkspaceName } from '../../core/shared/ids';
import type { TaskRef } from '../../core/task/taskRef';

/** What stands in a report that a session was bound to a task. */
export function boundReport(sessionId: string, { workspace, id }: TaskRef): string {
  return JSON.stringify({ session_id: sessionId, atlas_task: { workspace, id } });
}

/** The task that a report binds its session to. */
export function boundIn(body: string): SessionRecord['bound'] {
  if (!body.includes('"atlas_task"')) return undefined;
  const value = jsonOf(body);
  const task = typeof value === 'object' && value !== null ? (value as { atlas_task?: unknown }).atlas_task : undefined;
  if (typeof task !== 'object' || task === null) return undefined;
  const { workspace, id } = task as { workspace?: unknown; id?: unknown };
  if (typeof workspace !== 'string' || typeof id !== 'string') return undefined;
  return checkWorkspaceName(workspace).ok && checkTaskId(id).ok ? { workspace, id } : undefined;
}
