import { readFileSync, readdirSync } from 'node:fs';

/** In the environment of a program, and of all that it starts: which run they belong to. */
export const RUN_MARK = 'ATLAS_PLATFORM_RUN';

/**
 * Ends the processes of a run, which may outlive the one that started them.
 * @param spared names of programs that serve every run, whoever started them
 */
export function endMarked(run: string, spared?: RegExp): void {
  for (const pid of markedIn(run)) if (spared?.test(commOf(pid)) !== true) killProcess(pid);
}

/** Kills a process, unless it has ended. */
export function killProcess(pid: string): void {
  try {
    process.kill(Number(pid), 'SIGKILL');
  } catch {
    // Gone meanwhile.
  }
}

/** The name of a process's program, of 15 characters at most; empty where it has ended. */
export function commOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}

/** What the processes of a run, and programs that serve every run, are doing, a line each: to tell what stands still. */
export function describeMarked(run: string, servers: RegExp): string {
  const marked = new Set(markedIn(run));
  const lines = processes().flatMap((pid) => {
    try {
      const comm = commOf(pid);
      if (!marked.has(pid) && !servers.test(comm)) return [];
      // Its state, its parent and the processor time that it took, in hundredths of a second (proc_pid_stat(5)).
      const [state, parent, ...rest] = readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /su, '')
        .split(' ');
      const time = Number(rest[9]) + Number(rest[10]);
      const threads = readdirSync(`/proc/${pid}/task`).map((each) => waitsFor(`/proc/${pid}/task/${each}`));
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').slice(0, 150);
      return [`${pid} (of ${parent}) ${comm}, ${state}, ${time}, threads: ${threads.join(' ')}: ${command}`];
    } catch {
      return [];
    }
  });
  return lines.join('\n');
}

function waitsFor(thread: string): string {
  try {
    return readFileSync(`${thread}/wchan`, 'utf8');
  } catch {
    return '?';
  }
}

function processes(): string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/u.test(name));
}

function markedIn(run: string): string[] {
  return processesWith(`${RUN_MARK}=${run}`);
}

/** The processes that have a variable in their environment, `name=value`. */
export function processesWith(variable: string): string[] {
  return processes().filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(variable);
    } catch {
      // Another user's, or gone meanwhile.
      return false;
    }
  });
}
