import { createHash } from 'node:crypto';
// eslint-disable-next-line no-restricted-imports -- output comes in pieces into a file that counts only once its receipt is written through the port
import { closeSync, fsync, openSync, rmSync, writeSync } from 'node:fs';
import { finished, type Readable } from 'node:stream';
import { promisify } from 'node:util';

/** How much of each stream is kept, in bytes; all of it is hashed. */
export const MAX_KEPT_BYTES = 5 * 1024 * 1024;

/** What a stream brought. */
export interface StreamRecord {
  /** SHA-256 of everything that was written, in hex. */
  readonly sha256: string;
  readonly bytes: number;
  /** How much of it is in the kept file, in bytes: always its beginning. */
  readonly kept: number;
}

const syncFile = promisify(fsync);

/**
 * Hashes a stream whole and keeps its beginning in a file. Each chunk is dealt with before the next is read, so a
 * command writes no faster than this.
 */
export class OutputCapture {
  private readonly hash = createHash('sha256');
  private bytes = 0;
  private kept = 0;
  private full = false;
  private readonly fd: number;
  private stream: Readable | undefined;
  private listener: ((chunk: Uint8Array) => void) | undefined;
  private finish: () => void = () => undefined;
  /** Resolves when the stream has ended: when nobody holds its other end any more, or it was let go. */
  readonly ended = new Promise<void>((resolve) => (this.finish = resolve));

  /** Makes the file (0600), which must not be there yet; throws Node's file errors. */
  constructor(
    private readonly path: string,
    listener: ((chunk: Uint8Array) => void) | undefined,
    private readonly maxKept = MAX_KEPT_BYTES,
  ) {
    this.fd = openSync(path, 'wx', 0o600);
    this.listener = listener;
  }

  get received(): number {
    return this.bytes;
  }

  read(stream: Readable): void {
    this.stream = stream;
    stream.on('data', (chunk: Uint8Array) => this.take(chunk));
    // A stream that breaks has ended too: what came until then is what there is.
    finished(stream, { writable: false }, () => this.finish());
  }

  /** Stops reading what some process may still hold open. */
  letGo(): void {
    this.stream?.destroy();
    this.finish();
  }

  /** Closes the file, its content on disk. To be called once, after the stream ended. */
  async close(): Promise<StreamRecord> {
    try {
      await syncFile(this.fd);
    } catch {
      // The record stands without it: the hash is of what was written, not of what was kept.
    }
    closeSync(this.fd);
    return { sha256: this.hash.digest('hex'), bytes: this.bytes, kept: this.kept };
  }

  /** Closes the file and removes it: nothing is going to be written. */
  discard(): void {
    closeSync(this.fd);
    rmSync(this.path, { force: true });
  }

  private take(chunk: Uint8Array): void {
    this.hash.update(chunk);
    this.bytes += chunk.length;
    this.keep(chunk);
    try {
      this.listener?.(chunk);
    } catch {
      // A listener that fails is told nothing more; what is recorded doesn't depend on it.
      this.listener = undefined;
    }
  }

  private keep(chunk: Uint8Array): void {
    if (this.full) return;
    const end = Math.min(chunk.length, this.maxKept - this.kept);
    try {
      for (let at = 0; at < end;) {
        const written = writeSync(this.fd, chunk, at, end - at);
        at += written;
        this.kept += written;
      }
    } catch {
      // The disk is full, say. The file stays a beginning of the output, and `kept` tells how long.
      this.full = true;
    }
    if (this.kept >= this.maxKept) this.full = true;
  }
}
