import { statSync } from 'node:fs';
import type { Surroundings } from './context';
import { ERR, OUT } from './standardOutput';

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
      out: (text) => {
        OUT.write(text);
      },
      err: (text) => {
        ERR.write(text);
      },
      columns: OUT.columns,
      errColumns: ERR.columns,
      colors: OUT.isTerminal && !noColor,
    },
  };
}
