import { join } from 'node:path';
import { isInTurn, sessionState, signOf } from '../../core/session/sessionState';
import type { TreePath } from '../../core/snapshot/treePath';
import { SessionRecords } from '../../store/sessions/sessionRecords';
import { insideWorktree } from '../../system/files/worktreePath';
import type { ServicePorts } from '../ports';

/** Files of a worktree that a tool of an agent at work there names, and that has not ended as far as its host told. */
export function filesInHand(ports: ServicePorts, worktree: string): ReadonlySet<TreePath> {
  const found = new Set<TreePath>();
  // Where none was ever observed, there is nothing to read.
  if (ports.files.stat(join(ports.paths.root, 'observed')) === undefined) return found;
  for (const record of new SessionRecords(ports).all()) {
    if (record.worktree !== worktree || !isInTurn(record)) continue;
    const vitality =
      record.process === undefined ? undefined : ports.processes.vitality(record.process, signOf(record));
    if (sessionState(record, vitality) === 'interrupted') continue;
    for (const { input } of record.tools) {
      const path = input === undefined ? undefined : insideWorktree(worktree, input);
      if (path !== undefined) found.add(Buffer.from(path).toString('latin1'));
    }
  }
  return found;
}
