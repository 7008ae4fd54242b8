import { randomBytes } from 'node:crypto';
import { messageOf } from '../../core/shared/errors';
import { LruCache } from '../../core/shared/lru';
import type { KeyFolder } from '../../core/shared/ports';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import { GoodSignatures, type SignedBy, openGoodSignatures } from '../../signing/goodSignatures';
import { replaceFile } from '../../system/files/atomicFile';
import type { ServicePorts } from '../ports';

/** What the MAC is made with. Whoever can read it can read the signing key, which lies beside it. */
const KEY_FILE = 'verdicts.key';
const KEY_BYTES = 32;
/** Larger than what is kept of a task ever is. */
const MAX_BYTES = 1024 * 1024;
/** Of how many tasks it is kept in memory. */
const KEPT_TASKS = 256;

/**
 * `verified` beside a task's receipts: the signatures that were found good, for the next process, so that `atlas` needn't
 * load the curve to say what it said before. Nothing depends on it: where it can't be read or was changed, all is verified.
 */
export class SignatureMemory {
  private readonly tasks = new LruCache<GoodSignatures>(KEPT_TASKS);

  constructor(
    private readonly ports: Pick<ServicePorts, 'paths' | 'files' | 'ids' | 'log'>,
    private readonly keys: KeyFolder,
  ) {}

  /** What is remembered of a task, read when it is first asked for. */
  of(ref: TaskRef): GoodSignatures {
    const name = refKey(ref);
    const known = this.tasks.get(name) ?? new GoodSignatures(this.read(ref, this.key()));
    this.tasks.set(name, known);
    return known;
  }

  /** Keeps what was found since the last time. */
  keep(ref: TaskRef): void {
    const good = this.of(ref);
    if (!good.isNew) return;
    try {
      const key = this.key() ?? this.makeKey();
      if (key === undefined) return;
      const text = good.seal(key, this.read(ref, key));
      const { files, ids, paths } = this.ports;
      replaceFile(files, ids, paths.verified(ref), text, { durable: false });
    } catch (error) {
      this.ports.log.debug('Good signatures could not be kept.', { error: messageOf(error) });
    }
  }

  private read(ref: TaskRef, key: string | undefined): ReadonlyMap<string, SignedBy> {
    const { files, paths } = this.ports;
    const path = paths.verified(ref);
    if (key === undefined || files.stat(path)?.kind !== 'file') return new Map();
    try {
      return openGoodSignatures(Buffer.from(files.read(path, MAX_BYTES)).toString('latin1'), key);
    } catch {
      // Unreadable, or far too large to be ours.
      return new Map();
    }
  }

  private key(): string | undefined {
    const text = this.keys.readSecret(KEY_FILE);
    const key = text.ok ? text.value?.trim() : undefined;
    return key !== undefined && key.length === KEY_BYTES * 2 ? key : undefined;
  }

  private makeKey(): string | undefined {
    const made = this.keys.createSecret(KEY_FILE, `${randomBytes(KEY_BYTES).toString('hex')}\n`);
    return made.ok ? this.key() : undefined;
  }
}
