import { AtlasError, type Result, fail, messageOf, ok } from '../../core/shared/errors';
import {
  type InboxDraft,
  type InboxItem,
  type InboxOwner,
  cancel,
  checkDraft,
  checkSession,
  checkSummary,
  chooseNext,
  claim,
  complete,
  expire,
  isLost,
  newItem,
  notYours,
  ownership,
  wakeOf,
} from '../../core/inbox/inbox';
import type { EndedItem, FinishedItems, InboxFinding, ReadItems } from '../../core/inbox/inboxAnswers';
import { InboxFiles, type InboxNumbers } from '../../store/inbox/inboxFiles';
import { type TakenWakes, WakeFiles } from '../../store/inbox/wakeFiles';
import { ensureFolder } from '../../system/files/atomicFile';
import { failureOf, fileError } from '../../system/files/fileErrors';
import { GenerationLock, type HeldLock, LOCK_TIMEOUT_MS } from '../../system/locks/lock';
import { type Pieces, atOnce, inSlices } from '../../system/slices';
import type { ServicePorts } from '../ports';
import { orWarn } from '../../system/orWarn';
import { keptIn } from '../../core/shared/keptIn';

/** More open items than this are not added: somebody adds without end. */
const MAX_OPEN = 10_000;
/** As many finished items as a list holds unless more are asked for. */
const LISTED = 100;

/** So long (ms) a list is read before others have their turn. */
const SLICE_MS = 8;

interface ListOptions {
  readonly finished?: number;
}

/** The items of an inbox. */
export interface InboxList {
  /** Neither done nor cancelled, by number; those whose claim is lost are pending. */
  readonly open: readonly InboxItem[];
  /** Done or cancelled, the newest first. */
  readonly finished: readonly InboxItem[];
  /** How many are finished in all. */
  readonly finishedTotal: number;
  /** What lies there and can't be used. */
  readonly findings: readonly InboxFinding[];
}

/** What a caller gets to do. */
export interface NextItem {
  /** `undefined` where nothing is pending. */
  readonly item: InboxItem | undefined;
  /** Whether it was the caller's already, and is not finished. */
  readonly own: boolean;
  readonly findings: readonly InboxFinding[];
}

/**
 * What sessions of a workspace are asked to do: the use cases of command, window and agents' tools. One change at a time per inbox, across
 * processes; see docs/agents.md. A workspace has to be there; one whose inbox nobody used yet has an empty one.
 */
export class Inbox {
  private readonly inbox: InboxFiles;
  private readonly wakes: WakeFiles;
  private readonly locks = new Map<string, GenerationLock>();

  constructor(private readonly ports: ServicePorts) {
    this.inbox = new InboxFiles(ports);
    this.wakes = new WakeFiles(ports);
  }

  /** What is asked for, and what came of it. `finished`: how many finished items at most; none of their files is read for 0. */
  list(workspace: string, { finished = LISTED }: ListOptions = {}): Result<InboxList> {
    return atOnce(this.listing(workspace, finished));
  }

  /** As {@link list}, with a turn for whatever else the process has to do: ten thousand items take a while. */
  async listInSlices(workspace: string, { finished = LISTED }: ListOptions = {}): Promise<Result<InboxList>> {
    return inSlices(this.listing(workspace, finished), SLICE_MS);
  }

  private *listing(workspace: string, limit: number): Pieces<Result<InboxList>> {
    const open = yield* this.open(workspace);
    if (!open.ok) return open;
    const finished = this.finished(workspace, limit);
    if (!finished.ok) return finished;
    // One that was ended between the two looks is in both.
    const ended = new Set(finished.value.items.map(({ id }) => id));
    return ok({
      open: open.value.items.filter(({ id }) => !ended.has(id)),
      finished: finished.value.items,
      finishedTotal: finished.value.total,
      findings: [...open.value.findings, ...finished.value.findings],
    });
  }

  /** The items that are not finished, by number; those whose claim is lost are pending. Needs no lock. */
  private *open(workspace: string): Pieces<Result<ReadItems>> {
    const numbers = this.looking(workspace, () => this.inbox.numbers(workspace));
    if (!numbers.ok) return numbers;
    yield;
    try {
      return ok(yield* this.readOpen(workspace, numbers.value));
    } catch (error) {
      return unreadable(workspace, error);
    }
  }

  /** The newest finished items, at most so many; none of those that are open is read. Needs no lock. */
  finished(workspace: string, limit: number): Result<FinishedItems> {
    return this.looking(workspace, () => {
      const finished = this.inbox.finishedNumbers(workspace);
      const newest = [...finished].sort((a, b) => b - a).slice(0, limit);
      const read = this.inbox.readAll(newest, (id) => this.inbox.finishedPath(workspace, id));
      return { ...read, total: finished.size };
    });
  }

  private looking<T>(workspace: string, look: () => T): Result<T> {
    const safe = this.inbox.check(workspace);
    if (!safe.ok) return safe;
    try {
      return ok(look());
    } catch (error) {
      return unreadable(workspace, error);
    }
  }

  private *readOpen(workspace: string, numbers: InboxNumbers): Pieces<ReadItems> {
    const { items, findings } = yield* this.inbox.readEach(numbers.open, (id) => this.inbox.openPath(workspace, id));
    const live: InboxItem[] = [];
    for (const item of items) {
      live.push(this.live(item));
      yield;
    }
    return { items: live, findings: [...numbers.findings, ...findings] };
  }

  /** An item as it is now: pending again where its claim is lost. */
  private live(item: InboxItem): InboxItem {
    const { clock, processes } = this.ports;
    return expire(
      item,
      isLost(item, clock.now(), (each) => processes.vitality(each)),
    );
  }

  /** One item, finished or not. Needs no lock. Fails with `not_found` or `damaged`. */
  item(workspace: string, id: number): Result<InboxItem> {
    const found = this.looking(workspace, () => this.find(workspace, id, this.inbox.numbers(workspace)));
    if (!found.ok) return found;
    return found.value.ok ? ok(this.live(found.value.value)) : found.value;
  }

  /** Asks for something. Fails with `usage` for what can't be kept whole. */
  async add(workspace: string, draft: InboxDraft): Promise<Result<InboxItem>> {
    const checked = checkDraft(draft);
    if (!checked.ok) return checked;
    return this.changing(workspace, (lock, numbers) => {
      if (numbers.open.length >= MAX_OPEN)
        return fail('usage', `The agent queue of ${workspace} is full: it has ${numbers.open.length} open items.`, {
          hint: 'Complete or cancel some items.',
        });
      const id = this.inbox.freeNumber(numbers);
      if (!id.ok) return id;
      const item = newItem(id.value, checked.value, this.ports.clock.now());
      const path = this.inbox.openPath(workspace, item.id);
      return this.recorded(lock, path, `Item ${item.id} was added`, () => this.inbox.create(workspace, item), item);
    });
  }

  /**
   * Claims for its caller an item that nobody else has: its own unfinished one, whose claim is renewed, or the next that is pending.
   * `leaseMs`: for how long, an hour without it.
   */
  async next(workspace: string, owner: InboxOwner, leaseMs?: number): Promise<Result<NextItem>> {
    const session = checkSession(owner.sessionId);
    if (!session.ok) return session;
    if (leaseMs !== undefined && leaseMs <= 0) return fail('usage', 'A claim must be longer than 0.');
    return this.changing<NextItem>(workspace, (lock, numbers) => {
      const { items, findings } = atOnce(this.readOpen(workspace, numbers));
      const chosen = chooseNext(items, owner);
      if (chosen === undefined) return ok({ item: undefined, own: false, findings });
      const claimed = claim(chosen, { owner, now: this.ports.clock.now(), leaseMs });
      if (!claimed.ok) return claimed;
      guard(lock);
      this.inbox.replace(workspace, claimed.value);
      return ok({ item: claimed.value, own: chosen.status === 'processing', findings });
    });
  }

  /** Claims the item that a person chose; one's own claim is renewed. Fails with `illegal_transition` or `stale_caller` where it isn't free. */
  async claim(workspace: string, id: number, owner: InboxOwner, leaseMs?: number): Promise<Result<InboxItem>> {
    return this.changing(workspace, (lock, numbers) => {
      const found = this.find(workspace, id, numbers);
      if (!found.ok) return found;
      const claimed = claim(this.live(found.value), { owner, now: this.ports.clock.now(), leaseMs });
      if (!claimed.ok) return claimed;
      guard(lock);
      this.inbox.replace(workspace, claimed.value);
      return claimed;
    });
  }

  /**
   * Completes an item that its caller claimed, or a person knows of, and wakes the session that waits for its answer. Doing it again changes
   * nothing but brings what a writer that died left undone to its end.
   */
  async complete(workspace: string, id: number, summary: string, caller: InboxOwner = {}): Promise<Result<EndedItem>> {
    const session = checkSession(caller.sessionId);
    if (!session.ok) return session;
    const checked = checkSummary(summary);
    if (!checked.ok) return checked;
    return this.changing(workspace, (lock, numbers) => {
      const found = this.find(workspace, id, numbers);
      if (!found.ok) return found;
      const before = found.value;
      if (before.status === 'done')
        return ownership(before, caller) === 'other' ? notYours(before) : ok({ item: before, changed: false });
      const done = complete(before, { caller, summary: checked.value, now: this.ports.clock.now() });
      if (!done.ok) return done;
      guard(lock);
      const wake = wakeOf(done.value);
      if (wake !== undefined) this.wakes.announce(workspace, wake);
      const ended = this.end(lock, workspace, done.value);
      if (!ended.ok || wake === undefined) return ended;
      try {
        this.wakes.publish(workspace, id);
        return ended;
      } catch (error) {
        const message = `Item ${id} is done, but the session waiting for it could not be woken: ${messageOf(error)}`;
        return fail('recorded_not_written', message, { hint: 'Complete it again.', cause: error });
      }
    });
  }

  /** Cancels an item that isn't finished; whoever works on it is told when it completes it. */
  async cancel(workspace: string, id: number, reason = ''): Promise<Result<EndedItem>> {
    const checked = checkSummary(reason);
    if (!checked.ok) return checked;
    return this.changing(workspace, (lock, numbers) => {
      const found = this.find(workspace, id, numbers);
      if (!found.ok) return found;
      if (found.value.status === 'cancelled') return ok({ item: found.value, changed: false });
      const cancelled = cancel(found.value, checked.value, this.ports.clock.now());
      return cancelled.ok ? this.end(lock, workspace, cancelled.value) : cancelled;
    });
  }

  /** Takes the wakes that are there; each is given to one caller only. */
  async consumeWakes(workspace: string): Promise<Result<TakenWakes>> {
    const due = this.looking(workspace, () => this.wakes.due(workspace).length > 0);
    if (!due.ok) return due;
    if (due.value) {
      // Whoever completed the item may have died before it published.
      const fixed = await this.changing(workspace, () => ok(undefined));
      if (!fixed.ok) this.ports.log.warn('Pending wake-ups could not be read.', { error: fixed.error.message });
    }
    return this.looking(workspace, () => this.wakes.take(workspace));
  }

  private find(workspace: string, id: number, { open, finished }: InboxNumbers): Result<InboxItem> {
    if (finished.has(id)) return this.inbox.read(this.inbox.finishedPath(workspace, id), id);
    if (open.includes(id)) return this.inbox.read(this.inbox.openPath(workspace, id), id);
    return fail('not_found', `The agent queue of ${workspace} has no item ${id}.`, {
      hint: 'List the items with: atlas inbox list',
    });
  }

  private end(lock: HeldLock, workspace: string, item: InboxItem): Result<EndedItem> {
    const path = this.inbox.finishedPath(workspace, item.id);
    const make = (): boolean => this.inbox.finish(workspace, item);
    const ended = this.recorded(lock, path, `Item ${item.id} is ${item.status}`, make, { item, changed: true });
    if (ended.ok) this.quietly(() => this.inbox.removeOpen(workspace, item.id));
    return ended;
  }

  /** Makes the file that a change consists of. Where that fails although the file is there, it is said so. */
  private recorded<T>(lock: HeldLock, path: string, what: string, make: () => boolean, value: T): Result<T> {
    guard(lock);
    try {
      if (make()) return ok(value);
      return fail('write_failed', `${path} was just created by another process.`, { hint: 'Try again.' });
    } catch (error) {
      if (this.ports.files.stat(path) === undefined) throw error;
      const message = `${what}, but may be lost in a power failure: ${messageOf(error)}`;
      return fail('recorded_not_written', message, { hint: 'To check it, run: atlas inbox list', cause: error });
    }
  }

  /** Changes an inbox under its lock, once what a writer that died left undone is brought to its end. */
  private async changing<T>(
    workspace: string,
    change: (lock: HeldLock, numbers: InboxNumbers) => Result<T>,
  ): Promise<Result<T>> {
    let lock: HeldLock | undefined;
    try {
      const safe = this.inbox.check(workspace);
      if (!safe.ok) return safe;
      ensureFolder(this.ports.files, this.ports.paths.inbox(workspace));
      lock = await this.lockOf(workspace).acquire(LOCK_TIMEOUT_MS);
      const numbers = this.inbox.numbers(workspace);
      this.quietly(() => this.bringToEnd(workspace, numbers));
      return change(lock, numbers);
    } catch (error) {
      return failureOf('write_failed', `The agent queue of ${workspace} could not be changed`, error);
    } finally {
      this.release(lock);
    }
  }

  private lockOf(workspace: string): GenerationLock {
    const what = "the agent queue's lock";
    return keptIn(this.locks, workspace, () => new GenerationLock(this.inbox.locks(workspace), this.ports, { what }));
  }

  /** Removes open files of finished items, and publishes or forgets wakes that were announced. */
  private bringToEnd(workspace: string, { leftOver, finished }: InboxNumbers): void {
    const endOf = (id: number): InboxItem['status'] | undefined => {
      const read = finished.has(id) ? this.inbox.read(this.inbox.finishedPath(workspace, id), id) : undefined;
      return read?.ok === true ? read.value.status : undefined;
    };
    for (const id of this.wakes.due(workspace)) {
      const status = endOf(id);
      if (status === 'done') this.wakes.publish(workspace, id);
      if (status === 'cancelled') this.wakes.withdraw(workspace, id);
    }
    for (const id of leftOver) {
      if (endOf(id) !== undefined) this.inbox.removeOpen(workspace, id);
    }
  }

  private quietly(act: () => void): void {
    orWarn(this.ports.log, 'A change of the agent queue could not be completed. The next change completes it.', act);
  }

  private release(lock: HeldLock | undefined): void {
    const message = 'The lock of an agent queue could not be released. It is free once this process exits.';
    orWarn(this.ports.log, message, () => lock?.release());
  }
}

/** Another process may have taken this one for dead while it slept. */
function guard(lock: HeldLock): void {
  if (lock.isNewest()) return;
  throw new AtlasError('lock_timeout', "Another process took the agent queue's lock in the meantime.", {
    hint: 'Try again.',
  });
}

function unreadable<T>(workspace: string, error: unknown): Result<T> {
  return { ok: false, error: fileError('unreadable', `The agent queue of ${workspace} could not be read`, error) };
}
