import { statSync } from 'node:fs';
import type { Surroundings } from './context';

/** Terminals that don't know how wide they are say 0. */
function columnsOf({ isTTY, columns }: NodeJS.WriteStream): number | undefined {
  if (!isTTY) return undefined;
  return columns > 0 ? Math.max(20, columns) : 80;
}

/** A path that is no text reaches us with marks in it, and could then be another folder's. */
function currentFolder(): Pick<Surroundings, 'folder' | 'folderProblem'> {
  const folder = process.cwd();
  if (!folder.includes('\ufffd') || isSame('.', folder)) return { folder };
  return { folder, folderProblem: `The path of this folder is not valid UTF-8: ${folder}` };
}

function isSame(path: string, other: string): boolean {
  try {
    const [a, b] = [statSync(path), statSync(other)];
    return a.ino === b.ino && a.dev === b.dev;
  } catch {
    return false;
  }
}

/**
 * What this process was started with.
 * @param program the file of the `atlas` command
 */
export function processSurroundings(program: string): Surroundings {
  // A reader that has seen enough (`atlas … | head`) is no failure of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  // See https://no-color.org: any value that isn't empty says no.
  const noColor = (process.env['NO_COLOR'] ?? '') !== '' || process.env['TERM'] === 'dumb';
  return {
    env: process.env,
    ...currentFolder(),
    // To open it takes as long as a short command's answer, and most ask for nothing.
    get stdin() {
      return process.stdin;
    },
    program,
    streams: {
      out: (text) => process.stdout.write(text),
      err: (text) => process.stderr.write(text),
      columns: columnsOf(process.stdout),
      errColumns: columnsOf(process.stderr),
      colors: process.stdout.isTTY && !noColor,
    },
  };
}
