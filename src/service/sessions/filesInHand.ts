import { isAbsolute, join, relative, sep } from 'node:path';
import { isInTurn, sessionState } from '../../core/session/sessionState';
import type { TreePath } from '../../core/snapshot/treePath';
import { SessionRecords } from '../../store/sessions/sessionRecords';
import type { ServicePorts } from '../ports';

/** Files of a worktree that a tool of an agent at work there names, and that has not ended as far as its host told. */
export function filesInHand(ports: ServicePorts, worktree: string): ReadonlySet<TreePath> {
  const found = new Set<TreePath>();
  // Where none was ever observed, there is nothing to read.
  if (ports.files.stat(join(ports.paths.root, 'observed')) === undefined) return found;
  for (const record of new SessionRecords(ports).all()) {
    if (record.worktree !== worktree || !isInTurn(record)) continue;
    const vitality = record.process === undefined ? undefined : ports.processes.vitality(record.process);
    if (sessionState(record, vitality) === 'interrupted') continue;
    for (const { input } of record.tools) {
      const path = input === undefined ? '' : isAbsolute(input) ? relative(worktree, input) : input;
      if (path !== '' && !path.startsWith('..')) found.add(Buffer.from(path.split(sep).join('/')).toString('latin1'));
    }
  }
  return found;
}
