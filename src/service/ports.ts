import type { GitReader, Logger } from '../core/shared/ports';
import { CommandGitReader } from '../git/read/gitReader';
import { NodeFileSystem } from '../system/files/nodeFileSystem';
import type { TaskRef } from '../core/task/taskRef';
import { StorePaths } from '../store/paths';
import type { StorePorts } from '../store/task/storePorts';
import { SystemProcesses } from '../system/processes';
import { systemClock, systemIds } from '../system/systemPorts';
import type { HeldCommand } from './snapshots/backgroundCaptures';

/** Everything that the use cases need from outside. */
export interface ServicePorts extends Omit<StorePorts, 'render' | 'prepare'> {
  readonly git: GitReader;
  /** Has files captured before a command that throws work away; settles once they are, or the command's time is up. */
  readonly heldCapture?: (ref: TaskRef, before: HeldCommand) => Promise<void>;
  /** The version of this program, for HOOK.md's footer. */
  readonly version: string;
}

/** The ports of this machine for a store. */
export function systemPorts(root: string, version: string, log: Logger): ServicePorts {
  const files = new NodeFileSystem();
  return {
    paths: new StorePaths(root),
    files,
    processes: new SystemProcesses(),
    clock: systemClock,
    ids: systemIds,
    git: new CommandGitReader({ files, ids: systemIds }),
    log,
    version,
  };
}

/** A log that keeps nothing. */
export const silentLog: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
