import { readFileSync } from 'node:fs';
import type { Survivor } from '../../core/hookMarkdown/session';
import { keptLine } from '../../core/session/observe';
import type { SessionHost } from '../../core/session/sessionHost';
import type { SessionRecord } from '../../core/session/sessionRecord';
import { type SeenProcess, processTable } from '../../validation/processTable';

/** By which variable of its environment a process tells which session started it. */
const CARRIED: Readonly<
  Partial<Record<SessionHost, (record: SessionRecord) => readonly [string, string] | undefined>>
> = {
  claude: ({ session_id: id }) => ['CLAUDE_CODE_SESSION_ID', id],
  codex: ({ session_id: id }) => ['CODEX_THREAD_ID', id],
  opencode: ({ process: host }) => (host === undefined ? undefined : ['OPENCODE_PID', String(host.pid)]),
};

const MAX_COMMAND = 300;

/** A process that a dead session left, and what it takes to be sure that it is still the same one. */
export interface LeftProcess extends Survivor {
  readonly seen: SeenProcess;
}

/** The names of these variables. */
const NAMES = new Set(['CLAUDE_CODE_SESSION_ID', 'CODEX_THREAD_ID', 'OPENCODE_PID']);

/** What dead sessions left running. The system is asked once, whatever the number of sessions. */
export class LeftProcesses {
  private seen: Promise<ReadonlyMap<string, readonly SeenProcess[]>> | undefined;

  /**
   * The processes of a session that still run although it is dead, the oldest first. None where the system doesn't tell a
   * process's environment (macOS, Windows): nothing is guessed.
   */
  async of(record: SessionRecord): Promise<LeftProcess[]> {
    const carried = CARRIED[record.host]?.(record);
    if (carried === undefined || process.platform !== 'linux') return [];
    this.seen ??= carriers();
    const own = (await this.seen).get(carried.join('=')) ?? [];
    const pids = new Set(own.map(({ pid }) => pid));
    // Of a shell and what it runs, the shell is named.
    return own
      .filter(({ parent }) => !pids.has(parent))
      .map((each) => ({ pid: each.pid, command: commandLine(each.pid), seen: each }));
  }
}

/** The processes by what of these variables they were started with. */
async function carriers(): Promise<ReadonlyMap<string, readonly SeenProcess[]>> {
  const found = new Map<string, SeenProcess[]>();
  for (const each of await processTable().look()) {
    if (each.pid === process.pid) continue;
    for (const variable of environmentOf(each.pid)) {
      if (!NAMES.has(variable.split('=')[0] ?? '')) continue;
      found.set(variable, [...(found.get(variable) ?? []), each]);
    }
  }
  return found;
}

function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
  } catch {
    // Another user's, or gone.
    return [];
  }
}

function commandLine(pid: number): string {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      .split('\0')
      .filter((word) => word !== '');
    const line = words.join(' ');
    // Claude Code's shell reads a snapshot of its settings first.
    return keptLine(/ eval '(.*)' < \/dev\/null/su.exec(line)?.[1] ?? line, MAX_COMMAND);
  } catch {
    return `process ${pid}`;
  }
}

/** Ends processes that a dead session left, with what they started; returns how many were asked to end. */
export async function endProcesses(record: SessionRecord): Promise<number> {
  const carried = CARRIED[record.host]?.(record);
  if (carried === undefined) return 0;
  const table = processTable();
  const all = (await table.look()).filter((each) => each.pid !== process.pid && table.carries(each, ...carried));
  let ended = 0;
  for (const each of all) {
    // Another process may have its id by now.
    if (!table.lives(each)) continue;
    try {
      process.kill(each.pid, 'SIGTERM');
      ended += 1;
    } catch {
      // It has ended by itself.
    }
  }
  return ended;
}
