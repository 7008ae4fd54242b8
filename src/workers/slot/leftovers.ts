import { join } from 'node:path';
import { type Result, fail, ok } from '../../core/shared/errors';
import { type ProcessIdentity, processIdentitySchema } from '../../core/recovery/liveness';
import { isOver } from '../../core/worker/slotContent';
import type { Lease } from '../../core/worker/slotSteps';
import { ensureFolder, removeFile, replaceFile } from '../../system/files/atomicFile';
import { sha256 } from '../../store/task/recordFile';
import { systemProbe } from '../../system/processes';
import { type ProcessTable, processTable } from '../../validation/processTable';
import { ProcessTree } from '../../validation/processTree';
import type { WorkerPorts } from '../forgeFolder';
import { orWarn } from '../../system/orWarn';
import { readJson } from '../../system/files/readJson';

/** By which the processes of a run are known, also those that other commands of ours started for it. */
export const RUN_VARIABLE = 'FORGE_RUN';

const MAX_RECORD_BYTES = 4096;
/** From SIGTERM to SIGKILL, in ms. */
const GRACE_MS = 2000;
const GONE_MS = 1000;

/** What marks the processes of one incarnation of a worker; the same for whoever looks for them later. */
export function runMarker(commonDir: string, { worker, taskId, claim, incarnation }: Lease): string {
  return `forge-${sha256(JSON.stringify([commonDir, worker, taskId, claim, incarnation])).slice(0, 40)}`;
}

/** Records the program of a run while it lives: not every system shows what a process was started with. */
export class RunRecord {
  private readonly path: string;

  constructor(
    commonDir: string,
    marker: string,
    private readonly ports: WorkerPorts,
  ) {
    // Below git's own folder, where nothing is checked out or cleaned.
    this.path = join(commonDir, 'atlas', 'runs', `${marker}.json`);
  }

  write(pid: number): void {
    const { files, ids, log } = this.ports;
    orWarn(log, "The worker's program could not be recorded.", () => {
      ensureFolder(files, join(this.path, '..'));
      const text = `${JSON.stringify(identityOf(this.ports, pid, true))}\n`;
      replaceFile(files, ids, this.path, Buffer.from(text), { durable: false });
    });
  }

  /** The process, where it was recorded and the record is sound. */
  read(): ProcessIdentity | undefined {
    const recorded = readJson(this.ports.files, this.path, MAX_RECORD_BYTES, processIdentitySchema);
    // 1 and below are no program of ours, and a signal to their group would reach everybody's.
    return recorded !== undefined && recorded.pid > 1 ? recorded : undefined;
  }

  remove(): void {
    const { files, log } = this.ports;
    orWarn(log, "The record of a worker's program could not be deleted.", () => removeFile(files, this.path));
  }
}

/**
 * Names another process of this machine.
 * @param isNew it was started just now, so that the clock tells when where asking the system would take a process of its own
 */
export function identityOf({ processes }: WorkerPorts, pid: number, isNew = false): ProcessIdentity {
  const byClock = isNew && process.platform !== 'linux';
  const start = byClock ? String(Date.now()) : systemProbe().startTime(pid);
  return { ...processes.self(), pid, start_time: start ?? '', incarnation: '' };
}

/**
 * Ends what a dead run left behind, so that its work is never done twice at once. Fails with `illegal_transition` where something of it
 * lives on. Where the system doesn't show what processes were started with, what outlived the program itself is not found.
 */
export async function endLeftovers(
  commonDir: string,
  lease: Lease,
  ports: WorkerPorts,
  { platform = process.platform, table = processTable(platform) } = {},
): Promise<Result<void>> {
  const marker = runMarker(commonDir, lease);
  const record = new RunRecord(commonDir, marker, ports);
  const program = record.read();
  const lives = (): boolean => program !== undefined && ports.processes.vitality(program) === 'alive';
  if (platform === 'win32') {
    if (lives()) return stillThere(lease.worker, String(program?.pid));
  } else {
    // No process and no group has this id: without a leader that lives, only the mark tells whose a process is.
    const root = { pid: lives() ? (program?.pid ?? -1) : -1, alive: lives };
    const tree = new ProcessTree(root, marker, byRun(table));
    if (!(await tree.gone(0))) {
      await tree.end(GRACE_MS);
      if (!(await tree.gone(GONE_MS)))
        return stillThere(lease.worker, program === undefined ? '' : String(program.pid));
    }
  }
  record.remove();
  return ok(undefined);
}

function byRun(table: ProcessTable): ProcessTable {
  return {
    look: async () => table.look(),
    lives: (seen) => table.lives(seen),
    carries: (seen, _variable, value) => table.carries(seen, RUN_VARIABLE, value),
  };
}

function stillThere(worker: string, pid: string): Result<never> {
  const named = pid === '' ? '' : ` (process ${pid})`;
  return fail(
    'illegal_transition',
    `A program of ${worker} is still running${named}, so the task can't be restarted.`,
    {
      hint: 'Stop that program, then try again.',
    },
  );
}

/** Whether a hook's state says that somebody worked who may have left processes behind. */
export function mayHaveLeft(state: Lease & { readonly status: Parameters<typeof isOver>[0] }): boolean {
  return !isOver(state.status) && state.incarnation > 0;
}
