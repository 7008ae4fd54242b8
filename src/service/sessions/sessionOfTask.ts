import { join } from 'node:path';
import { sessionSections } from '../../core/hookMarkdown/session';
import type { SessionSections } from '../../core/hookMarkdown/view';
import { toMs } from '../../core/shared/time';
import { sessionState, signOf } from '../../core/session/sessionState';
import type { SessionRecord } from '../../core/session/sessionRecord';
import type { TaskRef } from '../../core/task/taskRef';
import { SessionRecords } from '../../store/sessions/sessionRecords';
import type { ServicePorts } from '../ports';

/** The record of the session that is bound to a task, the newest one. */
function recordOf(ports: ServicePorts, ref: TaskRef): SessionRecord | undefined {
  // Where none was ever observed, there is nothing to read.
  if (ports.files.stat(join(ports.paths.root, 'observed')) === undefined) return undefined;
  return new SessionRecords(ports)
    .all()
    .filter(({ bound }) => bound?.workspace === ref.workspace && bound.id === ref.id)
    .sort((a, b) => toMs(b.seen_at) - toMs(a.seen_at))[0];
}

/** What the agent said last that is bound to a task; `undefined` where that isn't known. */
export function lastMessageOf(ports: ServicePorts, ref: TaskRef): string | undefined {
  return recordOf(ports, ref)?.message?.text;
}

/** What is known of the session that is bound to a task. What still runs of it isn't looked for. */
export function sessionOf(ports: ServicePorts, ref: TaskRef): SessionSections | undefined {
  const record = recordOf(ports, ref);
  if (record === undefined) return undefined;
  const vitality = record.process === undefined ? undefined : ports.processes.vitality(record.process, signOf(record));
  return sessionSections({ record, state: sessionState(record, vitality), survivors: [] });
}
