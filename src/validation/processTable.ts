import { readFileSync, readdirSync } from 'node:fs';
import { runProgram } from '../system/runProgram';

/** A process as a look at the system saw it. Zombies are not seen: they have ended. */
export interface SeenProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** The session's id; equal to the group where the system doesn't tell it. */
  readonly session: number;
  /** When it began, in the system's own unit; a process with the same id and another start is another process. */
  readonly start: string;
}

/** What a POSIX system says about its processes. */
export interface ProcessTable {
  look(): Promise<readonly SeenProcess[]>;
  /** Whether this very process, and not another with its id, lives; asked right before it is sent a signal. */
  lives(seen: SeenProcess): boolean;
  /** Whether the process was started with a variable of this value; false where that can't be seen. */
  carries(seen: SeenProcess, variable: string, value: string): boolean;
}

/** See proc(5): the name in parentheses may hold anything, so the fields are counted from its end. */
function linuxProcess(pid: number): SeenProcess | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  const [state, parent, group, session, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [threads, start] = [Number(rest[13]), rest[15]];
  // The first thread may have ended before the others: then it's a zombie that still runs.
  if (start === undefined || state === 'X' || (state === 'Z' && threads < 2)) return undefined;
  return { pid, parent: Number(parent), group: Number(group), session: Number(session), start };
}

function linuxPids(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    // Not mounted: then only the group can be reached, by way of its leader.
    return [];
  }
}

function linuxTable(): ProcessTable {
  return {
    look: () => {
      const seen = linuxPids().map((pid) => linuxProcess(pid));
      return Promise.resolve(seen.filter((each) => each !== undefined));
    },
    lives: (seen) => linuxProcess(seen.pid)?.start === seen.start,
    carries: ({ pid }, variable, value) => {
      try {
        return `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}\0`.includes(`\0${variable}=${value}\0`);
      } catch {
        return false;
      }
    },
  };
}

const ROW = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S.*?)\s*$/;

/** Asks `ps`, which macOS and the BSDs have; start times are whole seconds there. */
function psTable(): ProcessTable {
  const look = async (): Promise<SeenProcess[]> => {
    const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
    const limits = { timeoutMs: 5000, maxBytes: 64 * 1024 * 1024 };
    const args = ['-A', '-o', 'pid=,ppid=,pgid=,stat=,lstart='];
    const ended = await runProgram('ps', args, { env, encoding: 'utf8', ...limits });
    return ended.how === 'exited' ? ended.stdout.split('\n').flatMap(rowOf) : [];
  };
  // The look that named it was a moment ago; a closer one there is not.
  return { look, lives: () => true, carries: () => false };
}

function rowOf(line: string): SeenProcess[] {
  const [, pid, parent, group, state = '', start = ''] = ROW.exec(line) ?? [];
  if (pid === undefined || state.startsWith('Z')) return [];
  return [{ pid: Number(pid), parent: Number(parent), group: Number(group), session: Number(group), start }];
}

/** The processes of this machine. */
export function processTable(platform: NodeJS.Platform = process.platform): ProcessTable {
  return platform === 'linux' ? linuxTable() : psTable();
}
