import { isAbsolute } from 'node:path';
import { type AtlasErrorCode, type Result, messageOf, ok } from '../../core/shared/errors';
import type { Repository } from '../../core/shared/ports';
import type { TaskRef } from '../../core/task/taskRef';
import { codeOf, fileError } from '../../system/files/fileErrors';
import { GenerationLock, type HeldLock } from '../../system/locks/lock';
import { type KeptEvent, Spool, type SpoolEvent } from '../../git/hooks/spool';
import type { WorkspaceStore } from '../../store/workspace/workspaces';
import type { GitCheckpoints } from '../checkpoints/gitCheckpoints';
import type { ServicePorts } from '../ports';
import { orWarn } from '../../system/orWarn';

export type { KeptEvent } from '../../git/hooks/spool';

/** What a drain did. */
export interface Drained {
  /** Events that were dealt with: turned into checkpoints, or nobody's. */
  readonly events: number;
  /** The task of each checkpoint that was made. */
  readonly checkpoints: readonly TaskRef[];
  /** Events that could not be turned, and why. */
  readonly kept: readonly KeptEvent[];
  /** Events that are still there: something was busy, or it was aborted. They are looked at the next time. */
  readonly left: number;
}

const POLL_MS = 100;
/** How long a hook may take to write its few bytes before they count as all that there will be. */
const HALF_MS = 3000;
/** A push that takes longer is seen with the next event, or when a window opens. */
const MAX_PUSH_MS = 15 * 60_000;
/** How long a push is given where nobody knows which process it is. */
const UNKNOWN_PUSH_MS = 30_000;

/** Failures that pass: the event stays where it is. */
const PASSING = new Set<AtlasErrorCode>(['lock_timeout', 'write_failed', 'recorded_not_written', 'git_failed']);

interface Round {
  events: number;
  readonly checkpoints: TaskRef[];
  readonly kept: KeptEvent[];
  /** Events that this drain leaves alone. */
  readonly left: Set<string>;
  /** When an event was seen first that has to wait, by a clock that is never set. */
  readonly seen: Map<string, number>;
}

/** Turns what git hooks wrote into checkpoints. */
export class SpoolService {
  private readonly spool: Spool;
  private readonly lock: GenerationLock;
  private running = false;

  constructor(
    private readonly ports: ServicePorts,
    private readonly git: GitCheckpoints,
    private readonly workspaces: WorkspaceStore,
  ) {
    this.spool = new Spool(ports);
    this.lock = new GenerationLock(this.spool.locks, ports);
  }

  /**
   * Deals with all events that wait, and waits for pushes that are under way. One process at a time: where another
   * one is at it, this returns at once, and that one sees what is there now.
   */
  async drain(options: { readonly signal?: AbortSignal } = {}): Promise<Result<Drained>> {
    const round: Round = { events: 0, checkpoints: [], kept: [], left: new Set(), seen: new Map() };
    if (this.running || !this.spool.exists) return ok(this.resultOf(round));
    this.running = true;
    try {
      await this.drainAll(round, options.signal);
      return ok(this.resultOf(round));
    } catch (error) {
      return { ok: false, error: fileError('write_failed', 'The git hook events could not be processed', error) };
    } finally {
      this.running = false;
    }
  }

  private resultOf({ events, checkpoints, kept, left }: Round): Drained {
    return { events, checkpoints, kept, left: left.size };
  }

  /**
   * A hook writes its event first and then asks whether somebody drains. So whoever ends takes back its claim and
   * releases the lock before it looks a last time, and whoever didn't get the lock takes back the claim that the hook
   * made for it before it tries a last time: one of them sees the event.
   */
  private async drainAll(round: Round, signal: AbortSignal | undefined): Promise<void> {
    for (;;) {
      let held = this.lock.tryAcquire();
      if (held === undefined) {
        this.spool.disown();
        held = this.lock.tryAcquire();
      }
      if (held === undefined) return;
      try {
        this.spool.claim();
        this.spool.sweep();
        await this.work(round, signal, held);
      } finally {
        try {
          this.spool.unclaim();
        } finally {
          const lock = held;
          orWarn(this.ports.log, 'The lock of the spool could not be released.', () => lock.release());
        }
      }
      const rest = this.spool.list();
      if (signal?.aborted === true) for (const name of rest) round.left.add(name);
      if (rest.every((name) => round.left.has(name))) return;
    }
  }

  private async work(round: Round, signal: AbortSignal | undefined, held: HeldLock): Promise<void> {
    while (signal?.aborted !== true) {
      const names = this.spool.list().filter((name) => !round.left.has(name));
      if (names.length === 0) return;
      const ready = names.flatMap((name) => this.readyEvent(name, round) ?? []);
      if (ready.length > 0) await this.turn(ready, round);
      else await pause(POLL_MS, signal);
      // Another process may have taken this one for dead; a hook may have named the process that it started in vain.
      if (!held.isNewest()) return;
      this.spool.claim();
    }
  }

  /** The event of a file, once it is time for it. */
  private readyEvent(name: string, round: Round): SpoolEvent | undefined {
    const file = this.spool.read(name);
    switch (file.kind) {
      case 'gone':
        return undefined;
      case 'half':
        if (waited(name, round) >= HALF_MS) this.keep(round, name, 'It was not written completely.');
        return undefined;
      case 'bad':
        this.keep(round, name, file.reason);
        return undefined;
      case 'event':
        return this.isUnderWay(file.event, round) ? undefined : file.event;
    }
  }

  /** Before the push has ended nothing is to be seen of it. */
  private isUnderWay({ name, trigger, parent }: SpoolEvent, round: Round): boolean {
    if (trigger !== 'pre-push') return false;
    const since = waited(name, round);
    return parent === 0 ? since < UNKNOWN_PUSH_MS : since < MAX_PUSH_MS && this.spool.lives(parent);
  }

  /** Looks once at each repository that some events come from. */
  private async turn(events: readonly SpoolEvent[], round: Round): Promise<void> {
    const groups = new Map<string, { repository: Repository; events: SpoolEvent[] }>();
    for (const event of events) {
      const repository = await this.repositoryOf(event, round);
      if (repository === undefined) continue;
      const group = groups.get(repository.commonDir) ?? { repository, events: [] };
      group.events.push(event);
      groups.set(repository.commonDir, group);
    }
    for (const group of groups.values()) {
      const problem = this.problemOf(group.repository);
      if (problem === undefined) await this.scan(group.repository, group.events, round);
      else for (const event of group.events) this.keep(round, event.name, problem, event);
    }
  }

  private async repositoryOf(event: SpoolEvent, round: Round): Promise<Repository | undefined> {
    const folder = nativeFolder(event.folder, process.platform);
    const problem = this.folderProblem(folder);
    const repository = problem === undefined ? await this.ports.git.locate(folder) : undefined;
    if (repository === undefined) this.keep(round, event.name, problem ?? `${folder} is not in a repository.`, event);
    return repository;
  }

  private folderProblem(folder: string): string | undefined {
    if (!isAbsolute(folder)) return `${folder} is not an absolute path.`;
    try {
      const kind = this.ports.files.stat(this.ports.files.realPath(folder))?.kind;
      return kind === 'folder' ? undefined : `${folder} is not a folder.`;
    } catch (error) {
      const gone = codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';
      return gone ? `${folder} no longer exists.` : `${folder} could not be read: ${messageOf(error)}`;
    }
  }

  /** Where no workspace is found, a damaged one could be it. */
  private problemOf(repository: Repository): string | undefined {
    if (this.workspaces.find(repository.main) !== undefined) return undefined;
    for (const name of this.workspaces.names()) {
      const read = this.workspaces.read(name);
      if (!read.ok && read.error.code !== 'not_found') return read.error.message;
    }
    return undefined;
  }

  private async scan(repository: Repository, events: readonly SpoolEvent[], round: Round): Promise<void> {
    const made = await this.git.scan(repository);
    if (made.ok) {
      round.checkpoints.push(...made.value);
      for (const { name } of events) this.removeDone(name, round);
      return;
    }
    this.ports.log.warn('A git hook event could not be processed.', { error: made.error.message });
    for (const event of events) {
      if (PASSING.has(made.error.code)) round.left.add(event.name);
      else this.keep(round, event.name, made.error.message, event);
    }
  }

  private removeDone(name: string, round: Round): void {
    round.events += 1;
    const isGone = orWarn(this.ports.log, 'A git hook event could not be removed.', () => this.spool.remove(name));
    // Looked at again the next time, which makes no second checkpoint.
    if (!isGone) round.left.add(name);
  }

  private keep(round: Round, name: string, reason: string, event?: SpoolEvent): void {
    const isKept = orWarn(this.ports.log, 'A git hook event could not be set aside.', () => {
      round.kept.push(this.spool.keep(name, reason, event));
    });
    if (!isKept) round.left.add(name);
  }

  /** The events that could not be turned, the oldest first. */
  kept(): readonly KeptEvent[] {
    return this.spool.kept();
  }

  /** Forgets them; returns how many there were. */
  discardKept(): number {
    return this.spool.discardKept();
  }

  /** How many events wait to be dealt with. */
  pending(): number {
    return this.spool.list().length;
  }

  /** Whether a window is open, which sees commits without git hooks. */
  windowIsOpen(): boolean {
    return this.spool.hasWindow();
  }

  /** Says that this process is a window, which drains by itself: hooks then start nothing. */
  announceWindow(): void {
    // Where it can't, hooks start a process of their own, which is slower and right as well.
    orWarn(this.ports.log, 'The window could not be announced to git hooks.', () => {
      this.spool.announce();
      this.spool.sweep();
    });
  }

  /** Takes {@link announceWindow} back; synchronous, since a closing window waits for nothing. */
  withdrawWindow(): void {
    orWarn(this.ports.log, 'The window could not be withdrawn from git hooks.', () => this.spool.withdraw());
  }
}

/** How long an event has been seen waiting, ms. */
function waited(name: string, { seen }: Round): number {
  const now = performance.now();
  const since = seen.get(name) ?? now;
  seen.set(name, since);
  return now - since;
}

/** Git for Windows' sh says `/c/Users` for `C:/Users`. */
export function nativeFolder(folder: string, platform: NodeJS.Platform): string {
  return platform === 'win32' ? folder.replace(/^\/([A-Za-z])(?=\/|$)/u, '$1:') : folder;
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
  });
}
