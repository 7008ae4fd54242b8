import { uptime } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { AtlasError } from '../../core/shared/errors';
import { type ProcessIdentity, processIdentitySchema } from '../../core/recovery/liveness';
import { toMs } from '../../core/shared/time';
import type { Clock, FileSystem, Ids, Processes } from '../../core/shared/ports';
import { NO_LINKS, ensureFolder } from '../files/atomicFile';
import { codeOf } from '../files/fileErrors';
import { jsonOf } from '../files/readJson';

/** How long a caller waits for one holder of the lock, in ms, unless it says otherwise. */
export const LOCK_TIMEOUT_MS = 5000;
/** Far longer than a change takes, in ms. Only a holder that keeps the lock for longer is worth the question who it is. */
const HOLDER_TRUSTED_MS = 1000;
/** While the lock goes from one to the next nobody is stuck: a caller waits so many times as long, within what hosts give a hook. */
const MOVING_TIMES = 4;
/** So many changes in a row are for who keeps what the one before left, and would have to read it again after another's. */
export const KEEPERS_IN_ROW = 4;

/** A waiter's file: when it began to wait (ms since the epoch), and a random part. */
const TICKET = /^wait\.(\d+)\.[0-9a-f]+$/u;
/** Longer than anybody waits, in ms. */
const TICKET_MS = 30_000;
const NAME = /^lock\.(\d+)$/u;
const KEEP_GENERATIONS = 24;
const REMOVE_EVERY = 24;
const MAX_LOCK_BYTES = 64 * 1024;
const RELEASED = 'released\n';

const holderSchema = z.looseObject({ process: processIdentitySchema, taken_at: z.string() });

/** What a lock's newest generation says. */
export type LockState =
  | { readonly kind: 'free'; readonly generation: number }
  | {
      readonly kind: 'held';
      readonly generation: number;
      readonly holder: ProcessIdentity | undefined;
      /** When it was taken, in ms; NaN where the file doesn't say. */
      readonly takenAt: number;
    };

/** A lock that this process holds. */
export interface HeldLock {
  readonly generation: number;
  /** Whether no higher generation was made, that is, nobody took this holder for dead. */
  isNewest(): boolean;
  release(): void;
}

/** What a lock needs from outside. */
export interface LockPorts {
  readonly files: FileSystem;
  readonly processes: Processes;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** What a lock is for. */
interface LockOptions {
  /** For messages. */
  readonly what?: string;
  /** So many changes one process makes in a row while others wait. */
  readonly inRow?: number | undefined;
}

/**
 * A lock between processes, made of numbered files. The holder of `lock.<n>` is named in it; the next one makes
 * `lock.<n+1>` by link(), which exactly one can, once `<n>` is released or its holder is provably dead. So breaking
 * a dead lock is taking the next number, and a live one can't be removed by mistake.
 */
export class GenerationLock {
  /** The generation that this process is done with, but could not say so in its file (a full disk). */
  private unreleased = 0;
  /** The newest generation that was this process's, and how many it had without another's in between. */
  private last = 0;
  private inRow = 0;

  constructor(
    private readonly folder: string,
    protected readonly ports: LockPorts,
    private readonly options: LockOptions = {},
  ) {}

  /**
   * Takes the lock, waiting in turn with others. Throws `lock_timeout` when one holder keeps it for longer than the time
   * that is given, or the queue moves for four times as long. Who has to wait says so by a file, and who comes later, or
   * had all its turns in a row, lets those go first; but nothing depends on a waiter: one that was killed only makes the
   * others look twice.
   */
  async acquire(timeoutMs: number = LOCK_TIMEOUT_MS): Promise<HeldLock> {
    ensureFolder(this.ports.files, this.folder);
    const isFree = this.mayGoOn() || this.waiters().length === 0;
    const held = isFree ? this.tryAcquire() : undefined;
    if (held !== undefined) return held;
    const { clock, ids } = this.ports;
    const ticket = `wait.${String(clock.now()).padStart(15, '0')}.${ids.hex(6)}`;
    this.announce(ticket);
    try {
      return await this.turn(ticket, timeoutMs);
    } finally {
      this.discard(join(this.folder, ticket));
    }
  }

  /**
   * Waits for the turn of a ticket. The first takes the lock when it sees it free; the others once they see it still
   * free, since the first looks in between, unless it is gone.
   */
  private async turn(ticket: string, timeoutMs: number): Promise<HeldLock> {
    const start = performance.now();
    let deadline = start + timeoutMs;
    let before = this.placeOf(ticket);
    let seen: LockState | undefined;
    for (;;) {
      const left = deadline - performance.now();
      if (left <= 0) throw this.timeout();
      await new Promise((resolve) => setTimeout(resolve, Math.min(left, delayOf(before))));
      before = this.placeOf(ticket);
      const state = this.inspect();
      const isStill = seen?.generation === state.generation;
      const isFree = this.isFree(state);
      if (isFree && (before === 0 || (isStill && seen?.kind === 'free'))) {
        const held = this.take(state.generation);
        if (held !== undefined) return held;
      }
      if (!isStill) deadline = Math.min(start + MOVING_TIMES * timeoutMs, performance.now() + timeoutMs);
      seen = isFree ? { kind: 'free', generation: state.generation } : state;
    }
  }

  /**
   * Whether this process goes first once more. What it left of a task it needs not read again, so that four changes in a
   * row cost half of what they would in turns; and those who wait do so little longer.
   */
  private mayGoOn(): boolean {
    return this.last > 0 && this.inRow < (this.options.inRow ?? 1) && this.generations().at(-1) === this.last;
  }

  /** Takes the lock if it is free now. */
  tryAcquire(): HeldLock | undefined {
    ensureFolder(this.ports.files, this.folder);
    const state = this.inspect();
    return this.isFree(state) ? this.take(state.generation) : undefined;
  }

  private isFree(state: LockState): boolean {
    return state.kind === 'free' || state.generation === this.unreleased || this.isDead(state);
  }

  /** Makes the generation after one that is free, unless somebody else does. */
  private take(free: number): HeldLock | undefined {
    const generation = free + 1;
    const path = this.pathOf(generation);
    if (!this.make(path)) return undefined;
    const held = this.hold(generation, path);
    try {
      // The list that the number came from may have been old; whoever has a higher one holds the lock.
      if (held.isNewest()) {
        this.inRow = free === this.last ? this.inRow + 1 : 1;
        this.last = generation;
        this.removeOld(generation);
        return held;
      }
    } catch (error) {
      // Nobody would release what nobody was given.
      held.release();
      throw error;
    }
    held.release();
    return undefined;
  }

  /** Who holds the lock now. */
  inspect(): LockState {
    for (;;) {
      const generation = this.generations().at(-1) ?? 0;
      if (generation === 0) return { kind: 'free', generation };
      try {
        const bytes = this.ports.files.read(this.pathOf(generation), MAX_LOCK_BYTES);
        return parseLock(generation, Buffer.from(bytes).toString('utf8'));
      } catch (error) {
        // Removed as an old generation since it was listed: a newer one is there.
        if (codeOf(error) !== 'ENOENT') throw error;
      }
    }
  }

  protected hold(generation: number, path: string): HeldLock {
    return {
      generation,
      isNewest: () => this.generations().at(-1) === generation,
      release: () => {
        this.unreleased = generation;
        this.ports.files.append(path, RELEASED);
        this.unreleased = 0;
      },
    };
  }

  /** A lock file that names nobody is from a machine that lost power before its content was on disk. */
  private isDead(state: Extract<LockState, { kind: 'held' }>): boolean {
    if (state.holder !== undefined) {
      const sign = { at: state.takenAt, trustedMs: HOLDER_TRUSTED_MS };
      const vitality = this.ports.processes.vitality(state.holder, sign);
      return vitality === 'dead' || vitality === 'rebooted';
    }
    const stat = this.ports.files.stat(this.pathOf(state.generation));
    return stat !== undefined && stat.mtimeMs < this.ports.clock.now() - uptime() * 1000;
  }

  /** Those who wait, the first first; a ticket far from now is from somebody who was killed, or from another clock. */
  private waiters(): string[] {
    const now = this.ports.clock.now();
    return this.ports.files
      .list(this.folder)
      .filter((name) => Math.abs(now - Number(TICKET.exec(name)?.[1] ?? NaN)) < TICKET_MS)
      .sort();
  }

  /** How many go before a ticket; none where the ticket could not be made. */
  private placeOf(ticket: string): number {
    return Math.max(0, this.waiters().indexOf(ticket));
  }

  /** Waiting works without it, only less fairly. */
  private announce(ticket: string): void {
    try {
      this.ports.files.write(join(this.folder, ticket), '', { exclusive: true });
    } catch {
      // The disk is full, or the folder can't be written: taking the lock will tell.
    }
  }

  protected make(path: string): boolean {
    const { files, ids, processes, clock } = this.ports;
    const content = { process: processes.self(), taken_at: new Date(clock.now()).toISOString() };
    const text = `${JSON.stringify(content)}\n`;
    const temporary = join(this.folder, `${ids.hex(6)}.tmp`);
    try {
      files.write(temporary, text, { exclusive: true });
      files.link(temporary, path);
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      if (!NO_LINKS.has(codeOf(error))) throw error;
      return this.makeWithoutLink(path, text);
    } finally {
      this.discard(temporary);
    }
  }

  /** For file systems without hard links: the file exists before it names its holder, which only delays others. */
  private makeWithoutLink(path: string, text: string): boolean {
    try {
      this.ports.files.write(path, text, { exclusive: true });
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    }
  }

  /** What can't be removed now is in nobody's way. */
  private discard(path: string): void {
    try {
      this.ports.files.unlink(path);
    } catch {
      // It may be gone already, or never have been made.
    }
  }

  /** Old generations, and the tickets of waiters who were killed. */
  private removeOld(newest: number): void {
    if (newest % REMOVE_EVERY !== 0) return;
    for (const generation of this.generations()) {
      if (generation > newest - KEEP_GENERATIONS) break;
      this.discard(this.pathOf(generation));
    }
    const waiting = new Set(this.waiters());
    for (const name of this.ports.files.list(this.folder)) {
      if (TICKET.test(name) && !waiting.has(name)) this.discard(join(this.folder, name));
    }
  }

  private generations(): number[] {
    const numbers = this.ports.files.list(this.folder).flatMap((name) => {
      const match = NAME.exec(name);
      return match === null ? [] : [Number(match[1])];
    });
    return numbers.sort((a, b) => a - b);
  }

  protected pathOf(generation: number): string {
    return join(this.folder, `lock.${generation}`);
  }

  private timeout(): AtlasError {
    const state = this.inspect();
    const holder = state.kind === 'held' ? state.holder : undefined;
    const who = holder === undefined ? 'another process' : `process ${holder.pid}`;
    const elsewhere = holder !== undefined && this.ports.processes.vitality(holder) === 'unknown';
    return new AtlasError(
      'lock_timeout',
      `Timed out waiting for ${this.options.what ?? "the task's lock"}: ${who} holds it (${this.folder}).`,
      {
        hint: elsewhere
          ? 'That process is on another machine or in another container and can\'t be checked from here. Run "Atlas: Run Doctor" to resolve this.'
          : 'Try again in a moment. If this persists, stop that process.',
      },
    );
  }
}

/** How long a waiter lets be before it looks (again), in ms: the first looks between any two looks of another. */
function delayOf(before: number): number {
  return Math.min(25, 1 + 3 * before) * (1 + Math.random());
}

function parseLock(generation: number, text: string): LockState {
  const [first = '', second] = text.split('\n', 2);
  if (second === RELEASED.trim()) return { kind: 'free', generation };
  const parsed = holderSchema.safeParse(jsonOf(first));
  if (!parsed.success) return { kind: 'held', generation, holder: undefined, takenAt: Number.NaN };
  return { kind: 'held', generation, holder: parsed.data.process, takenAt: toMs(parsed.data.taken_at) };
}
