import { defined } from '../shared/defined';
import * as z from 'zod/mini';
import { AtlasError, type Result, fail, ok } from '../shared/errors';
import { optionalTimestamp, timestamp } from '../task/fields';
import { SCHEMA_VERSION } from '../task/taskRecord';
import { type ProcessIdentity, type Vitality, processIdentitySchema } from '../recovery/liveness';
import { oneLine } from '../shared/text';
import { toMs, toTimestamp } from '../shared/time';

/** Where an item of an inbox can be. */
export const INBOX_STATUSES = ['pending', 'processing', 'done', 'cancelled'] as const;

/** One of them. */
export type InboxStatus = (typeof INBOX_STATUSES)[number];

/** The highest number that an item can have; nine digits are a file name on every system. */
export const MAX_ITEM_ID = 999_999_999;
/** The most characters of an item's content. */
export const MAX_CONTENT = 65_536;
/** The most characters of what is said at the end of an item. */
export const MAX_SUMMARY = 16_384;
/** The most characters of a channel, a sender, the name of a trigger, the key of a session. */
export const MAX_LABEL = 200;

/** How long a claim holds unless its owner says otherwise, in ms. */
const LEASE_MS = 3_600_000;
/** No claim holds longer, in ms: one that ends later was made by a clock that was wrong. */
export const MAX_LEASE_MS = 24 * 3_600_000;

/** After so many claims that came to nothing, an item waits behind those that nobody has tried. */
const EAGER_CLAIMS = 3;

const SENDER_OF_TRIGGER = /^trigger:(.+)$/u;

/** A host's name for a session. Programs are started with it, so it holds nothing that a shell or an option parser would act on. */
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9_.:@+-]*$/u;

const label = z.string().check(z.maxLength(MAX_LABEL));
const sessionId = z.string().check(z.maxLength(MAX_LABEL), z.regex(SESSION_ID));

const claimSchema = z.looseObject({
  session_id: z.optional(sessionId),
  process: z.optional(z.looseObject({ ...processIdentitySchema.shape })),
  claimed_at: timestamp,
  /** The claim is lost from then on. */
  until: timestamp,
});

/** `<id>.json` of an inbox. Unknown fields are kept. */
export const inboxItemSchema = z.looseObject({
  id: z.int().check(z.gte(1), z.lte(MAX_ITEM_ID)),
  channel: label,
  sender: label,
  content: z.string().check(z.maxLength(MAX_CONTENT)),
  status: z.enum(INBOX_STATUSES),
  response_summary: z.optional(z.string().check(z.maxLength(MAX_SUMMARY))),
  created_at: timestamp,
  /** When it was done or cancelled. */
  processed_at: optionalTimestamp,
  /** Of the session that is woken with the answer. */
  trigger_name: z.optional(label),
  session_key: z.optional(label),
  session_id: z.optional(sessionId),
  /** Who works on it, or did last. */
  claim: z.optional(claimSchema),
  /** How often it was claimed. */
  claims: z._default(z.int().check(z.gte(0)), 0),
  schema_version: z._default(z.union([z.string(), z.number()]), SCHEMA_VERSION),
});

/** An item of an inbox: something that a session is asked to do. */
export type InboxItem = z.infer<typeof inboxItemSchema>;

/** `.wake-<trigger>-<task_id>`: what a session that waits for an answer is woken with. */
export const wakeSchema = z.looseObject({
  task_id: z.int().check(z.gte(1), z.lte(MAX_ITEM_ID)),
  trigger_name: label,
  session_key: z.nullable(label),
  session_id: z.nullable(sessionId),
  channel: label,
  response_summary: z.string().check(z.maxLength(MAX_SUMMARY)),
});

/** What a wake file says. */
export type Wake = z.infer<typeof wakeSchema>;

/** Who claims or completes: a session by its host's name, a process, both, or nobody in particular. */
export interface InboxOwner {
  readonly sessionId?: string | undefined;
  /** One that lives as long as the work does: not a command's own. */
  readonly process?: ProcessIdentity | undefined;
}

/** What is to be done, by whom it is asked, and which session waits for the answer. */
export interface InboxDraft {
  readonly content: string;
  readonly channel?: string | undefined;
  readonly sender?: string | undefined;
  readonly triggerName?: string | undefined;
  readonly sessionKey?: string | undefined;
  readonly sessionId?: string | undefined;
}

/** What leads from each status to which; nothing leaves `done` and `cancelled`. */
export const INBOX_TRANSITIONS = {
  pending: { claim: 'processing', cancel: 'cancelled' },
  processing: { claim: 'processing', expire: 'pending', complete: 'done', cancel: 'cancelled' },
  done: {},
  cancelled: {},
} as const satisfies Readonly<Record<InboxStatus, Readonly<Record<string, InboxStatus>>>>;

/** Whether nothing leaves the status. */
export function isFinished(status: InboxStatus): status is 'done' | 'cancelled' {
  return status === 'done' || status === 'cancelled';
}

/** Makes a draft's labels plain and says what is wrong with it. Fails with `usage`; a content is never cut. */
export function checkDraft(draft: InboxDraft): Result<InboxDraft> {
  if (draft.content.trim() === '') return fail('usage', 'The item is empty.', { hint: 'Enter a description.' });
  const long = tooLong('content', draft.content, MAX_CONTENT);
  if (long !== undefined) return { ok: false, error: long };
  const session = checkSession(draft.sessionId);
  if (!session.ok) return session;
  const plain = (text: string | undefined): string | undefined => {
    const line = oneLine(text ?? '', MAX_LABEL);
    return line === '' ? undefined : line;
  };
  return ok({
    ...draft,
    channel: plain(draft.channel),
    sender: plain(draft.sender),
    triggerName: plain(draft.triggerName),
    sessionKey: plain(draft.sessionKey),
  });
}

/** Says whether a text can name a session. Fails with `usage`. */
export function checkSession(id: string | undefined): Result<string | undefined> {
  if (id === undefined || (id.length <= MAX_LABEL && SESSION_ID.test(id))) return ok(id);
  return fail('usage', `${JSON.stringify(oneLine(id, 60))} is not a valid session ID.`, {
    hint: `Use the host's session ID: letters, digits and _.:@+-, starting with a letter or digit, at most ${MAX_LABEL} characters.`,
  });
}

/** Says whether an answer can be kept. Fails with `usage`: it is never cut. */
export function checkSummary(summary: string): Result<string> {
  const long = tooLong('summary', summary, MAX_SUMMARY);
  return long === undefined ? ok(summary) : { ok: false, error: long };
}

function tooLong(what: string, text: string, max: number): AtlasError | undefined {
  if (text.length <= max) return undefined;
  const message = `The ${what} has ${text.length} characters. The maximum is ${max}.`;
  return new AtlasError('usage', message, { hint: 'Write it to a file and name the file instead.' });
}

/** A new item from a draft that was checked. */
export function newItem(id: number, draft: InboxDraft, now: number): InboxItem {
  const { content, channel, sender, triggerName, sessionKey, sessionId: session } = draft;
  return {
    id,
    channel: channel ?? triggerName ?? 'main',
    sender: sender ?? (triggerName === undefined ? 'human' : `trigger:${triggerName}`.slice(0, MAX_LABEL)),
    content,
    status: 'pending',
    created_at: toTimestamp(now),
    ...defined({ trigger_name: triggerName, session_key: sessionKey, session_id: session }),
    claims: 0,
    schema_version: SCHEMA_VERSION,
  };
}

/** The trigger whose session waits for the answer: named by the item, else by its sender or channel as `trigger:<name>`. */
export function triggerOf({ trigger_name: name, sender, channel }: InboxItem): string | undefined {
  const named = [name, SENDER_OF_TRIGGER.exec(sender)?.[1], SENDER_OF_TRIGGER.exec(channel)?.[1]];
  return named.find((each) => each !== undefined && each.trim() !== '');
}

/** Whose a claim is, seen from a caller; `unknown` where they have nothing in common to compare. */
export function ownership(item: InboxItem, caller: InboxOwner): 'own' | 'other' | 'unknown' {
  const { claim } = item;
  if (claim === undefined) return 'unknown';
  // A session that was resumed in another process is the same, and a process may serve several.
  if (claim.session_id !== undefined && caller.sessionId !== undefined)
    return claim.session_id === caller.sessionId ? 'own' : 'other';
  if (claim.process === undefined || caller.process === undefined) return 'unknown';
  return isSameProcess(claim.process, caller.process) ? 'own' : 'other';
}

const IDENTIFYING = ['machine_id', 'boot_id', 'pid_namespace', 'pid', 'start_time'] as const;

function isSameProcess(a: ProcessIdentity, b: ProcessIdentity): boolean {
  return IDENTIFYING.every((key) => a[key] === b[key]);
}

/** Whether nobody holds an item in `processing` any more: its owner is provably dead, or its time is over. */
export function isLost(item: InboxItem, now: number, vitality: (process: ProcessIdentity) => Vitality): boolean {
  if (item.status !== 'processing') return false;
  const { claim } = item;
  if (claim === undefined) return true;
  const left = toMs(claim.until) - now;
  if (!(left > 0 && left <= MAX_LEASE_MS)) return true;
  const life = claim.process === undefined ? 'unknown' : vitality(claim.process);
  return life === 'dead' || life === 'rebooted';
}

/** The item as others may take it: `pending` again where its claim is lost. */
export function expire(item: InboxItem, lost: boolean): InboxItem {
  if (!lost || item.status !== 'processing') return item;
  const { claim: _lost, ...rest } = item;
  return { ...rest, status: INBOX_TRANSITIONS.processing.expire };
}

/** A claim that is to be made. */
export interface Claiming {
  readonly owner: InboxOwner;
  readonly now: number;
  /** ms; at most {@link MAX_LEASE_MS} count, and an hour without it. */
  readonly leaseMs?: number | undefined;
}

/** Claims an item that is pending, or renews the owner's own claim. Fails with `illegal_transition` or `stale_caller`. */
export function claim(item: InboxItem, { owner, now, leaseMs = LEASE_MS }: Claiming): Result<InboxItem> {
  if (isFinished(item.status)) return refused(item, 'claimed');
  const renewed = item.status === 'processing';
  if (renewed && ownership(item, owner) !== 'own') return notYours(item);
  const since = renewed ? item.claim?.claimed_at : undefined;
  return ok({
    ...item,
    status: INBOX_TRANSITIONS[item.status].claim,
    claims: item.claims + (renewed ? 0 : 1),
    claim: {
      ...defined({ session_id: owner.sessionId }),
      ...(owner.process === undefined ? {} : { process: { ...owner.process } }),
      claimed_at: since ?? toTimestamp(now),
      until: toTimestamp(now + Math.min(Math.max(0, leaseMs), MAX_LEASE_MS)),
    },
  });
}

/**
 * Completes an item in `processing`. Who has nothing in common with its claim (a person) may, another session may not:
 * its own claim was lost. Fails with `illegal_transition` or `stale_caller`.
 */
export function complete(
  item: InboxItem,
  { caller, summary, now }: { readonly caller: InboxOwner; readonly summary: string; readonly now: number },
): Result<InboxItem> {
  if (item.status !== 'processing') return refused(item, 'completed');
  if (ownership(item, caller) === 'other') return notYours(item);
  return ok({
    ...item,
    status: INBOX_TRANSITIONS.processing.complete,
    response_summary: summary,
    processed_at: toTimestamp(now),
  });
}

/** Cancels an item that isn't finished. Fails with `illegal_transition`. */
export function cancel(item: InboxItem, reason: string, now: number): Result<InboxItem> {
  if (isFinished(item.status)) return refused(item, 'cancelled');
  return ok({
    ...item,
    status: INBOX_TRANSITIONS[item.status].cancel,
    ...(reason === '' ? {} : { response_summary: reason }),
    processed_at: toTimestamp(now),
  });
}

const HINTS: Readonly<Record<InboxStatus, string>> = {
  pending: 'Claim it first with: atlas inbox next',
  processing: 'To see who has it, run: atlas inbox list',
  done: 'To see its result, run: atlas inbox list --status done',
  cancelled: 'Add it again with: atlas inbox add "<description>"',
};

function refused({ id, status }: InboxItem, what: string): Result<never> {
  return fail('illegal_transition', `Item ${id} is ${status}, so it can't be ${what}.`, { hint: HINTS[status] });
}

/** What a caller is told whose claim another has by now. */
export function notYours({ id, status }: InboxItem): Result<never> {
  return fail('stale_caller', `Item ${id} is ${status} by another session.`, {
    hint: 'Your claim has expired. Claim another item with: atlas inbox next. To complete this one anyway, omit --session.',
  });
}

/**
 * The item that a caller gets: its own unfinished one, else the first that is pending; those that were claimed often and
 * came to nothing come last. Items with a lost claim have to be expired.
 */
export function chooseNext(items: readonly InboxItem[], owner: InboxOwner): InboxItem | undefined {
  const first = (list: readonly InboxItem[]): InboxItem | undefined =>
    [...list].sort((a, b) => Number(isTired(a)) - Number(isTired(b)) || a.id - b.id)[0];
  const own = items.filter((item) => item.status === 'processing' && ownership(item, owner) === 'own');
  return first(own) ?? first(items.filter(({ status }) => status === 'pending'));
}

function isTired({ claims }: InboxItem): boolean {
  return claims >= EAGER_CLAIMS;
}

/** What the session that waits for an item's answer is woken with; `undefined` where none waits. */
export function wakeOf(item: InboxItem): Wake | undefined {
  const trigger = triggerOf(item);
  if (trigger === undefined || item.status !== 'done') return undefined;
  return {
    task_id: item.id,
    trigger_name: trigger,
    session_key: item.session_key ?? null,
    session_id: item.session_id ?? null,
    channel: item.channel,
    response_summary: item.response_summary ?? '',
  };
}

/** As many characters of a trigger's name as a file name takes. */
const MAX_NAME = 64;

/** `.wake-<trigger>-<task_id>`, with what isn't fit for a file name on every system replaced by `-`; ids keep them apart. */
export function wakeName({ trigger_name: trigger, task_id: id }: Pick<Wake, 'trigger_name' | 'task_id'>): string {
  const safe = trigger
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9_-]+/gu, '-')
    .slice(0, MAX_NAME);
  return `.wake-${safe === '' ? '-' : safe}-${id}`;
}

const WAKE_NAME = /^\.wake-[A-Za-z0-9_-]{1,64}-([1-9]\d{0,8})$/u;

/** The item that a wake file is about, by its name; `undefined` for any other file. */
export function itemOfWakeName(name: string): number | undefined {
  const id = WAKE_NAME.exec(name)?.[1];
  return id === undefined ? undefined : Number(id);
}
