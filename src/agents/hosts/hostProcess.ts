import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { ProcessIdentity } from '../../core/recovery/liveness';
import type { Processes } from '../../core/shared/ports';
import { runQuietly, systemProbe } from '../../system/processes';

/** A process as its child can look it up. */
interface ParentLook {
  readonly parent: number;
  /** The file name of its program. */
  readonly program: string;
}

/** What lies between an agent's process and the hook that it runs. */
const BETWEEN = new Set(['sh', 'bash', 'dash', 'zsh', 'fish', 'ksh', 'ash', 'busybox', 'env', 'timeout']);
const MOST_BETWEEN = 5;

/** See proc(5): the name in parentheses may hold anything. */
function linuxLook(pid: number): ParentLook | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const [open, close] = [stat.indexOf('('), stat.lastIndexOf(')')];
  return { program: stat.slice(open + 1, close), parent: Number(stat.slice(close + 2).split(' ')[1]) };
}

function commandLook(pid: number): ParentLook | undefined {
  const said = runQuietly('ps', ['-o', 'ppid=,comm=', '-p', String(pid)]);
  const [, parent, program] = /^\s*(\d+)\s+(.*)$/mu.exec(said) ?? [];
  return parent === undefined ? undefined : { parent: Number(parent), program: basename(program ?? '') };
}

/**
 * The process of the agent whose hook this process is: its first ancestor that is no shell. `undefined` where it can't
 * be told, as on Windows, where asking would take longer than a hook may.
 * @param look replaced in tests of other platforms; throws where a process is gone
 */
export function hostProcess(
  processes: Processes,
  incarnation: string,
  look: ((pid: number) => ParentLook | undefined) | undefined = lookOf(process.platform),
): ProcessIdentity | undefined {
  if (look === undefined) return undefined;
  try {
    let pid = process.ppid;
    for (let level = 0; pid > 1 && level < MOST_BETWEEN; level += 1) {
      const seen = look(pid);
      if (seen === undefined) return undefined;
      // A login shell's name begins with a dash.
      if (!BETWEEN.has(seen.program.replace(/^-/u, ''))) {
        const start = systemProbe().startTime(pid);
        return start === undefined ? undefined : { ...processes.self(), pid, start_time: start, incarnation };
      }
      pid = seen.parent;
    }
  } catch {
    // It ended meanwhile.
  }
  return undefined;
}

function lookOf(platform: NodeJS.Platform): ((pid: number) => ParentLook | undefined) | undefined {
  if (platform === 'win32') return undefined;
  return platform === 'linux' ? linuxLook : commandLook;
}
