import { join } from 'node:path';
import { type Result, fail, ok } from '../../core/shared/errors';
import { ensureFolder, replaceFile } from '../../system/files/atomicFile';
import { failureOf } from '../../system/files/fileErrors';
import { GenerationLock, type LockPorts } from '../../system/locks/lock';
import type { StorePaths } from '../paths';

const COUNTER = 'next-task-index';
const MAX_COUNTER_BYTES = 64;
/** BIP-32 has no higher index that isn't hardened. */
const LAST_INDEX = 0x7fff_ffff;

/** Numbers a store's tasks for their signing keys, each number once, whoever asks. */
export class TaskIndexes {
  private readonly lock: GenerationLock;

  constructor(private readonly ports: LockPorts & { readonly paths: StorePaths }) {
    this.lock = new GenerationLock(join(ports.paths.keys, 'locks'), ports);
  }

  /** The next number, which no other caller gets. Waits for the store's lock (`lock_timeout`). */
  async next(): Promise<Result<number>> {
    const { files, ids, paths } = this.ports;
    const path = join(paths.keys, COUNTER);
    try {
      ensureFolder(files, paths.keys, 0o700);
      const lock = await this.lock.acquire();
      try {
        const text = files.stat(path) === undefined ? '0' : Buffer.from(files.read(path, MAX_COUNTER_BYTES)).toString();
        const next = /^\d{1,10}\s*$/u.test(text) ? Number(text) : Number.NaN;
        if (!(next <= LAST_INDEX)) {
          return fail('damaged', `${path} does not contain a task number.`, {
            hint: 'Write a number into it that is at least the number of tasks with receipts.',
          });
        }
        replaceFile(files, ids, path, `${next + 1}\n`, { durable: true });
        return ok(next);
      } finally {
        lock.release();
      }
    } catch (error) {
      return failureOf('write_failed', `${path} could not be updated`, error);
    }
  }
}
