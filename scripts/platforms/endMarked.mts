import { readFileSync, readdirSync } from 'node:fs';

/** In the environment of a program, and of all that it starts: which run they belong to. */
export const RUN_MARK = 'ATLAS_PLATFORM_RUN';

/**
 * Ends the processes of a run, which may outlive the one that started them.
 * @param spared names of programs that serve every run, whoever started them
 */
export function endMarked(run: string, spared?: RegExp): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (spared?.test(readFileSync(`/proc/${pid}/comm`, 'utf8')) === true) continue;
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
      if (environment.includes(`${RUN_MARK}=${run}`)) process.kill(Number(pid), 'SIGKILL');
    } catch {
      // Another user's, or gone meanwhile.
    }
  }
}
