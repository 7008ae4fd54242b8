import { type Result, fail, ok } from '../../core/shared/errors';
import {
  type InboxDraft,
  type InboxItem,
  type InboxOwner,
  type Wake,
  checkDraft,
  checkSession,
  checkSummary,
} from '../../core/inbox/inbox';
import type { EndedItem, FinishedItems, InboxFinding } from '../../core/inbox/inboxAnswers';
import { InboxStore, type NextItem } from '../../store/inbox/inboxStore';
import type { ServicePorts } from '../ports';

/** As many finished items as a list holds unless more are asked for. */
const LISTED = 100;

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

/** Wakes that were taken, which nobody else gets. */
export interface ConsumedWakes {
  readonly wakes: readonly Wake[];
  readonly findings: readonly InboxFinding[];
}

/**
 * What sessions of a workspace are asked to do: the use cases of command, window and agents' tools. A workspace has to be
 * there; one whose inbox nobody used yet has an empty one.
 */
export class Inbox {
  private readonly store: InboxStore;

  constructor(ports: ServicePorts) {
    this.store = new InboxStore(ports);
  }

  /** Asks for something. Fails with `usage` for what can't be kept whole. */
  async add(workspace: string, draft: InboxDraft): Promise<Result<InboxItem>> {
    const checked = checkDraft(draft);
    return checked.ok ? this.store.add(workspace, checked.value) : checked;
  }

  /** What is asked for, and what came of it. `finished`: how many finished items at most; none of their files is read for 0. */
  list(workspace: string, options: { readonly finished?: number } = {}): Result<InboxList> {
    const open = this.store.open(workspace);
    if (!open.ok) return open;
    const finished = this.store.finished(workspace, options.finished ?? LISTED);
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

  /** The newest finished items, at most so many; none of those that are open is read. */
  finished(workspace: string, limit: number): Result<FinishedItems> {
    return this.store.finished(workspace, limit);
  }

  /** One item, finished or not. Fails with `not_found` or `damaged`. */
  item(workspace: string, id: number): Result<InboxItem> {
    return this.store.item(workspace, id);
  }

  /** Claims the item that a person chose. Fails with `illegal_transition` or `stale_caller` where it isn't free. */
  async claim(workspace: string, id: number, owner: InboxOwner, leaseMs?: number): Promise<Result<InboxItem>> {
    return this.store.claim(workspace, id, owner, leaseMs);
  }

  /** Claims the next item for its caller; see {@link InboxStore.next}. `leaseMs`: for how long, an hour without it. */
  async next(workspace: string, owner: InboxOwner, leaseMs?: number): Promise<Result<NextItem>> {
    const session = checkSession(owner.sessionId);
    if (!session.ok) return session;
    if (leaseMs !== undefined && leaseMs <= 0) return fail('usage', 'A claim must be longer than 0.');
    return this.store.next(workspace, owner, leaseMs);
  }

  /** Says what came of an item that its caller claimed, or a person knows of; wakes the session that waits for it. */
  async complete(workspace: string, id: number, summary: string, caller: InboxOwner = {}): Promise<Result<EndedItem>> {
    const session = checkSession(caller.sessionId);
    if (!session.ok) return session;
    const checked = checkSummary(summary);
    return checked.ok ? this.store.complete(workspace, id, caller, checked.value) : checked;
  }

  /** Ends an item that isn't wanted any more. */
  async cancel(workspace: string, id: number, reason = ''): Promise<Result<EndedItem>> {
    const checked = checkSummary(reason);
    return checked.ok ? this.store.cancel(workspace, id, checked.value) : checked;
  }

  /** Takes the wakes that are there; of many callers, each gets others. */
  async consumeWakes(workspace: string): Promise<Result<ConsumedWakes>> {
    return this.store.takeWakes(workspace);
  }
}
