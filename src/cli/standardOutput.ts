// eslint-disable-next-line no-restricted-imports -- what is said goes to standard output, which is no file of the store
import { fstatSync, writeSync } from 'node:fs';
import { codeOf } from '../system/files/fileErrors';

/** Standard output or standard error. */
class Output {
  private opened: NodeJS.WriteStream | undefined;
  /** A pipe, a socket or a file is written to as it is: to load what Node's stream needs takes longer than a short answer. */
  private readonly isPlain: boolean;

  constructor(
    private readonly descriptor: 1 | 2,
    private readonly open: () => NodeJS.WriteStream,
  ) {
    this.isPlain = process.platform !== 'win32' && isPlain(descriptor);
  }

  get isTerminal(): boolean {
    return !this.isPlain && this.stream().isTTY;
  }

  /** Terminals that don't know how wide they are say 0. */
  get columns(): number | undefined {
    if (!this.isTerminal) return undefined;
    const { columns } = this.stream();
    return columns > 0 ? Math.max(20, columns) : 80;
  }

  /** Whether nothing waits to be written. */
  get isWritten(): boolean {
    return this.opened === undefined || this.opened.writableLength === 0;
  }

  write(text: string): void {
    if (this.isPlain && this.opened === undefined) {
      const left = writeNow(this.descriptor, Buffer.from(text));
      // What can't be written at once waits in Node's stream, and so does what comes after it.
      if (left.length > 0) this.stream().write(left);
    } else this.stream().write(text);
  }

  private stream(): NodeJS.WriteStream {
    if (this.opened === undefined) {
      this.opened = this.open();
      // A reader that has seen enough (`atlas … | head`) is no failure of ours.
      this.opened.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EPIPE') throw error;
      });
    }
    return this.opened;
  }
}

function isPlain(descriptor: number): boolean {
  try {
    const stat = fstatSync(descriptor);
    return stat.isFIFO() || stat.isSocket() || stat.isFile();
  } catch {
    // It was closed by whoever started us; Node puts something else in its place.
    return false;
  }
}

/** Writes bytes; those that the other side can't take just now are left. */
function writeNow(descriptor: number, bytes: Buffer): Buffer {
  let left = bytes;
  while (left.length > 0) {
    try {
      left = left.subarray(writeSync(descriptor, left));
    } catch (error) {
      if (codeOf(error) === 'EAGAIN') return left;
      // A reader that has seen enough.
      if (codeOf(error) === 'EPIPE') return Buffer.alloc(0);
      throw error;
    }
  }
  return left;
}

/** Where answers go. */
export const OUT = new Output(1, () => process.stdout);
/** Where errors and notes go. */
export const ERR = new Output(2, () => process.stderr);

/** Whether nothing waits to be written to standard output or standard error. */
export function isAllWritten(): boolean {
  return OUT.isWritten && ERR.isWritten;
}
