import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { messageOf } from '../../core/shared/errors';
import { LruCache } from '../../core/shared/lru';
import type { KeyFolder } from '../../core/shared/ports';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import { GoodSignatures, type SignedBy, openGoodSignatures } from '../../signing/goodSignatures';
import { isSigningKey } from '../../signing/keyManager';
import { replaceFile } from '../../system/files/atomicFile';
import type { ServicePorts } from '../ports';

/** What the MAC is made with. Who can read it can read the signing key, which lies beside it. */
const KEY_FILE = 'verdicts.key';
const KEY_BYTES = 32;
const MAX_KEY_BYTES = 256;
const OTHERS = 0o077;
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
    const good = this.tasks.get(refKey(ref));
    if (good?.isNew !== true) return;
    const { files, ids, paths } = this.ports;
    try {
      const key = this.key() ?? this.makeKey();
      if (key === undefined) return;
      replaceFile(files, ids, paths.verified(ref), good.sealed(key, this.read(ref, key)), { durable: false });
      good.wereKept();
    } catch (error) {
      this.ports.log.debug('Good signatures could not be kept.', { error: messageOf(error) });
    }
  }

  private read(ref: TaskRef, key: string | undefined): ReadonlyMap<string, SignedBy> {
    const text = key === undefined ? undefined : this.text(this.ports.paths.verified(ref), MAX_BYTES);
    return key === undefined || text === undefined ? new Map() : openGoodSignatures(text, key);
  }

  /** The key; none where others could have read it, so that it proves nothing. Who only reads narrows no permissions. */
  private key(): string | undefined {
    const path = join(this.keys.path, KEY_FILE);
    const mode = this.ports.files.stat(path)?.mode ?? 0;
    if (process.platform !== 'win32' && (mode & OTHERS) !== 0) return undefined;
    const key = this.text(path, MAX_KEY_BYTES)?.trim();
    return key?.length === KEY_BYTES * 2 ? key : undefined;
  }

  /** Made where receipts are signed, and nowhere else; never over another file. */
  private makeKey(): string | undefined {
    const { files } = this.ports;
    const isThere = (name: string): boolean => files.stat(join(this.keys.path, name)) !== undefined;
    if (isThere(KEY_FILE) || !files.list(this.keys.path).some((name) => isSigningKey(name))) return undefined;
    const made = this.keys.createSecret(KEY_FILE, `${randomBytes(KEY_BYTES).toString('hex')}\n`);
    return made.ok ? this.key() : undefined;
  }

  /** A file's text; `undefined` where it isn't a file, can't be read, or is far too large to be ours. */
  private text(path: string, maxBytes: number): string | undefined {
    const { files } = this.ports;
    if (files.stat(path)?.kind !== 'file') return undefined;
    try {
      return Buffer.from(files.read(path, maxBytes)).toString('latin1');
    } catch {
      return undefined;
    }
  }
}
