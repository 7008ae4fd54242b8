import { uptime } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { AtlasError, ok } from '../../core/shared/errors';
import { type ProcessIdentity, processIdentitySchema } from '../../core/recovery/liveness';
import { refuse } from '../../core/snapshot/problem';
import { discardFile, ensureFolder, replaceFile } from '../../system/files/atomicFile';
import { jsonOf } from '../../system/files/readJson';
import { GenerationLock } from '../../system/locks/lock';
import type { Outcome, SnapshotPorts } from './snapshotPorts';

/** How often one looks whether those who use the database are done, in ms. */
const LOOK_EVERY_MS = 25;
const MAX_USER_BYTES = 64 * 1024;
const userSchema = z.looseObject({ process: processIdentitySchema });

/** Lets a lock go. */
export type Release = () => void;

/** A lock that one process holds at a time. One object each: it remembers what it could not let go on a full disk. */
export function newLock(ports: SnapshotPorts, folder: string): GenerationLock {
  return new GenerationLock(folder, ports, { what: 'the snapshot lock' });
}

/** Takes a lock; `locked` where it stays held for longer than the time given. */
export async function takeLock(lock: GenerationLock, timeoutMs: number): Promise<Outcome<Release>> {
  try {
    const held = await lock.acquire(timeoutMs);
    return ok(() => {
      held.release();
    });
  } catch (error) {
    if (!(error instanceof AtlasError) || error.code !== 'lock_timeout') throw error;
    return refuse('locked', error.message, { ...(error.hint === undefined ? {} : { hint: error.hint }), cause: error });
  }
}

/**
 * The lock of an object database. Captures and restores share it; removing objects takes it alone. Each user has a file
 * that names its process, made while nobody holds the lock alone, so that the file of a dead one counts for nothing.
 */
export class DatabaseLock {
  private readonly gate: GenerationLock;

  constructor(
    private readonly ports: SnapshotPorts,
    private readonly base: string,
  ) {
    this.gate = newLock(ports, join(base, 'locks'));
  }

  private get users(): string {
    return join(this.base, 'users');
  }

  /** Keeps others from removing objects. */
  async share(timeoutMs: number): Promise<Outcome<Release>> {
    const { files, ids, processes } = this.ports;
    const gate = await takeLock(this.gate, timeoutMs);
    if (!gate.ok) return gate;
    const path = join(this.users, `${ids.hex(8)}.json`);
    try {
      ensureFolder(files, this.users, 0o700);
      const text = `${JSON.stringify({ process: processes.self() })}\n`;
      replaceFile(files, ids, path, text, { durable: false, mode: 0o600 });
    } finally {
      gate.value();
    }
    return ok(() => {
      discardFile(files, path);
    });
  }

  /** Waits until nobody uses the database and keeps others from beginning to. */
  async exclude(timeoutMs: number): Promise<Outcome<Release>> {
    const deadline = performance.now() + timeoutMs;
    const gate = await takeLock(this.gate, timeoutMs);
    if (!gate.ok) return gate;
    try {
      ensureFolder(this.ports.files, this.users, 0o700);
      while (this.isUsed()) {
        if (performance.now() > deadline) {
          gate.value();
          return refuse('locked', 'Another process is using the snapshots.', { hint: 'Try again in a moment.' });
        }
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
    } catch (error) {
      gate.value();
      throw error;
    }
    return gate;
  }

  private isUsed(): boolean {
    const { files } = this.ports;
    return files.list(this.users).some((name) => {
      const path = join(this.users, name);
      if (!name.endsWith('.json') || !this.isGone(path)) return name.endsWith('.json');
      discardFile(files, path);
      return false;
    });
  }

  private isGone(path: string): boolean {
    const { files, processes, clock } = this.ports;
    const stat = files.stat(path);
    if (stat === undefined) return true;
    const user = this.userOf(path);
    // Power went before its content was on disk.
    if (user === undefined) return stat.mtimeMs < clock.now() - uptime() * 1000;
    const vitality = processes.vitality(user);
    return vitality === 'dead' || vitality === 'rebooted';
  }

  private userOf(path: string): ProcessIdentity | undefined {
    try {
      const text = Buffer.from(this.ports.files.read(path, MAX_USER_BYTES)).toString('utf8');
      const parsed = userSchema.safeParse(jsonOf(text));
      return parsed.success ? parsed.data.process : undefined;
    } catch {
      return undefined;
    }
  }
}
