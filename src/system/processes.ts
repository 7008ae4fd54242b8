import type { ExecFileSyncOptionsWithStringEncoding } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import type { ProcessIdentity, Vitality } from '../core/recovery/liveness';
import type { LifeSign, Processes } from '../core/shared/ports';
import { codeOf } from './files/fileErrors';

/** What the operating system says about processes; differs by platform, and is replaced in tests. */
export interface ProcessProbe {
  readonly machineId: string;
  /** Changes with every start of the machine; empty where start times are absolute and tell the same. */
  readonly bootId: string;
  /** The namespace that process ids are counted in; empty where there is one only. */
  readonly pidNamespace: string;
  exists(pid: number): boolean;
  /** Whether asking for a start time runs a program. */
  readonly runsProgram: boolean;
  /** The start time of a process in the platform's own unit; `undefined` if it can't be had. */
  startTime(pid: number): string | undefined;
  /** Whether the process that has an id now is the one that recorded its start, by both start times. */
  sameStart(now: string, recorded: string): boolean;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}

/** For machines without an id of their own: something that stays the same and isn't shared. */
function fallbackMachineId(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map((item) => item.mac));
  const stable = [...new Set(addresses)].filter((mac) => mac !== '00:00:00:00:00:00').sort();
  return createHash('sha256')
    .update(`${hostname()}|${stable.join(',')}`)
    .digest('hex')
    .slice(0, 32);
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** Field 22 of /proc/<pid>/stat, in clock ticks since boot; a zombie counts as gone. See proc(5). */
function linuxStartTime(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

function linuxProbe(): ProcessProbe {
  let namespace = '';
  try {
    namespace = readlinkSync('/proc/self/ns/pid');
  } catch {
    // A kernel without namespaces has one.
  }
  const machineId = readText('/etc/machine-id');
  return {
    machineId: machineId === '' ? fallbackMachineId() : machineId,
    bootId: readText('/proc/sys/kernel/random/boot_id'),
    pidNamespace: namespace,
    exists: (pid) => exists(pid) && linuxStartTime(pid) !== undefined,
    runsProgram: false,
    startTime: linuxStartTime,
    sameStart: (now, recorded) => now === recorded,
  };
}

/** Start times by a system command are whole seconds, and our own is computed from the uptime. */
const START_TOLERANCE_MS = 3000;
/** Asking costs a process, so an answer serves a waiter's next tries too. */
const ANSWER_FRESH_MS = 2000;

function commandProbe(ask: (pid: number) => number): ProcessProbe {
  const answers = new Map<number, { at: number; value: string | undefined }>();
  return {
    machineId: fallbackMachineId(),
    bootId: '',
    pidNamespace: '',
    exists,
    runsProgram: true,
    startTime: (pid) => {
      if (pid === process.pid) return String(Math.round(Date.now() - process.uptime() * 1000));
      const known = answers.get(pid);
      if (known !== undefined && Date.now() - known.at < ANSWER_FRESH_MS) return known.value;
      let value: string | undefined;
      try {
        const ms = ask(pid);
        value = Number.isNaN(ms) ? undefined : String(ms);
      } catch {
        // The process ended meanwhile, or the command isn't there: then it can't be said.
      }
      answers.set(pid, { at: Date.now(), value });
      return value;
    },
    // A process names its start once it runs, which on a busy machine is seconds after the system's. Whatever has its
    // id and started no later is that process; only one that started afterwards is another.
    sameStart: (now, recorded) => Number(now) <= Number(recorded) + START_TOLERANCE_MS,
  };
}

const QUIET: ExecFileSyncOptionsWithStringEncoding = {
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'ignore'],
  timeout: 5000,
  windowsHide: true,
};

/** What a system command prints; throws where it fails. The module that starts it is loaded only where there is no /proc to read. */
export function runQuietly(program: string, args: readonly string[], env?: NodeJS.ProcessEnv): string {
  const { execFileSync } = process.getBuiltinModule('node:child_process');
  return execFileSync(program, args, env === undefined ? QUIET : { ...QUIET, env });
}

/** What this machine's operating system says about processes. */
export function systemProbe(platform: NodeJS.Platform = process.platform): ProcessProbe {
  if (platform === 'linux') return linuxProbe();
  if (platform === 'win32') {
    const script = (pid: number): string =>
      `([DateTimeOffset](Get-Process -Id ${pid}).StartTime).ToUnixTimeMilliseconds()`;
    return commandProbe((pid) => {
      const said = runQuietly('powershell.exe', ['-NoProfile', '-NonInteractive', '-Command', script(pid)]).trim();
      // Nothing, as a restricted PowerShell says, is no time: taken for 0, it would call dead who lives.
      return said === '' ? Number.NaN : Number(said);
    });
  }
  return commandProbe((pid) =>
    Date.parse(runQuietly('ps', ['-o', 'lstart=', '-p', String(pid)], { ...process.env, LC_ALL: 'C' })),
  );
}

/** A time to come is from a clock that was moved. */
function isTrusted({ at, trustedMs }: LifeSign): boolean {
  const age = Date.now() - at;
  return age >= 0 && age < trustedMs;
}

/** Names this process and tells whether another lives. Only what is provably dead is called dead. */
export class SystemProcesses implements Processes {
  private readonly identity: ProcessIdentity;

  constructor(private readonly probe: ProcessProbe = systemProbe()) {
    this.identity = {
      machine_id: probe.machineId,
      boot_id: probe.bootId,
      pid_namespace: probe.pidNamespace,
      pid: process.pid,
      start_time: probe.startTime(process.pid) ?? '',
      incarnation: randomBytes(8).toString('hex'),
    };
  }

  self(): ProcessIdentity {
    return this.identity;
  }

  vitality(other: ProcessIdentity, sign?: LifeSign): Vitality {
    const { probe } = this;
    if (other.machine_id !== probe.machineId) return 'unknown';
    if (other.boot_id !== probe.bootId) return 'rebooted';
    if (other.pid_namespace !== probe.pidNamespace) return 'unknown';
    if (!probe.exists(other.pid)) return 'dead';
    if (probe.runsProgram && sign !== undefined && isTrusted(sign)) return 'alive';
    const start = probe.startTime(other.pid);
    if (start === undefined) return probe.exists(other.pid) ? 'unknown' : 'dead';
    return other.start_time === '' || probe.sameStart(start, other.start_time) ? 'alive' : 'dead';
  }
}
