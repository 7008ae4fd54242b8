import { execFile } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { makeTemporaryFolder, removeTemporaryFolder } from '../system/files/temporaryFolder';

const run = promisify(execFile);

/** Both ends of a pipe. */
interface Pipe {
  readonly readable: Readable;
  /** To be given to a process and then closed. */
  readonly writeEnd: number;
}

/** The pipes for what a command writes. */
export interface CommandPipes {
  readonly stdout: Pipe;
  readonly stderr: Pipe;
}

function openPipe(path: string): Pipe {
  const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    // Once it can be read from, this doesn't wait; and a command's own end must block as any other.
    const writeEnd = openSync(path, constants.O_WRONLY);
    return { readable: new Socket({ fd: readEnd, readable: true, writable: false }), writeEnd };
  } catch (error) {
    closeSync(readEnd);
    throw error;
  }
}

/** Closes this process's copy of the ends that a command writes to; only then a stream can end. */
export function closeWriteEnds(pipes: CommandPipes | undefined): void {
  if (pipes === undefined) return;
  for (const { writeEnd } of [pipes.stdout, pipes.stderr]) closeSync(writeEnd);
}

/**
 * Pipes such as a shell makes. Node's own are sockets, which can't be opened by name: `echo … >/dev/stderr` works in a
 * terminal and would fail here. `undefined` where named pipes can't be made; then Node's have to do.
 */
export async function makePipes(): Promise<CommandPipes | undefined> {
  let folder: string | undefined;
  try {
    folder = makeTemporaryFolder('atlas-run-');
    const [out, err] = [join(folder, 'stdout'), join(folder, 'stderr')];
    await run('mkfifo', ['-m', '600', out, err], { timeout: 5000 });
    const stdout = openPipe(out);
    try {
      return { stdout, stderr: openPipe(err) };
    } catch (error) {
      closeSync(stdout.writeEnd);
      stdout.readable.destroy();
      throw error;
    }
  } catch {
    return undefined;
  } finally {
    // What is open stays open without its name.
    if (folder !== undefined) removeTemporaryFolder(folder);
  }
}
