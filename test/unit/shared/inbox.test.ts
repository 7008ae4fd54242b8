import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Result, unwrap } from '../../../src/core/shared/errors';
import {
  INBOX_STATUSES,
  INBOX_TRANSITIONS,
  type InboxItem,
  type InboxOwner,
  MAX_CONTENT,
  MAX_LABEL,
  MAX_LEASE_MS,
  cancel,
  checkDraft,
  checkSession,
  checkSummary,
  chooseNext,
  claim,
  complete,
  expire,
  inboxItemSchema,
  isFinished,
  isLost,
  itemOfWakeName,
  newItem,
  ownership,
  triggerOf,
  wakeName,
  wakeOf,
} from '../../../src/core/inbox/inbox';
import type { ProcessIdentity } from '../../../src/core/recovery/liveness';
import { toMs } from '../../../src/core/shared/time';

const NOW = Date.UTC(2026, 10, 22, 12);
const MINUTE = 60_000;

function processOf(pid: number, incarnation = 'a'): ProcessIdentity {
  return { machine_id: 'm', boot_id: 'b', pid_namespace: 'n', pid, start_time: String(pid), incarnation };
}

const alive = (): 'alive' => 'alive';

function item(draft: Partial<Parameters<typeof newItem>[1]> = {}, id = 42): InboxItem {
  return newItem(id, unwrap(checkDraft({ content: 'Answer the mail', ...draft })), NOW);
}

function claimed(owner: InboxOwner, leaseMs = 10 * MINUTE): InboxItem {
  return unwrap(claim(item(), { owner, now: NOW, leaseMs }));
}

function codeOf(result: Result<unknown>): string {
  return result.ok ? 'ok' : result.error.code;
}

describe('an item', () => {
  it('is what was asked for, pending, and reads back from its own text', () => {
    const made = item({ channel: ' mail\n', sender: 'trigger:email', sessionKey: 'a@b', sessionId: 'abc-1' });
    expect(made).toMatchObject({ id: 42, channel: 'mail', sender: 'trigger:email', status: 'pending', claims: 0 });
    expect(inboxItemSchema.parse(JSON.parse(JSON.stringify(made)))).toEqual(made);
    expect(item()).toMatchObject({ channel: 'main', sender: 'human' });
    expect(item({ triggerName: 'email' })).toMatchObject({ channel: 'email', sender: 'trigger:email' });
  });

  it.each([
    [{ content: '' }],
    [{ content: ' \n' }],
    [{ content: 'x'.repeat(MAX_CONTENT + 1) }],
    [{ sessionId: '' }],
    [{ sessionId: '--resume' }],
    [{ sessionId: 'a b' }],
    [{ sessionId: 'a;rm' }],
    [{ sessionId: 'x'.repeat(MAX_LABEL + 1) }],
  ])('is refused with %j', (draft) => {
    expect(codeOf(checkDraft({ content: 'x', ...draft }))).toBe('usage');
  });

  it('keeps a content of the most that is allowed, to the character', () => {
    const content = `${'\u0000\n💥'.repeat(100)}${'x'.repeat(1000)}`;
    expect(item({ content }).content).toBe(content);
    expect(codeOf(checkDraft({ content: 'x'.repeat(MAX_CONTENT) }))).toBe('ok');
  });

  it.each([
    [{ id: 0 }],
    [{ id: 1.5 }],
    [{ id: 1e9 }],
    [{ status: 'lost' }],
    [{ created_at: 'yesterday' }],
    [{ content: 'x'.repeat(MAX_CONTENT + 1) }],
    [{ claims: -1 }],
    [{ claim: { claimed_at: 'x', until: 'y' } }],
    [{ session_id: '-rf' }],
    [{ channel: 'x'.repeat(MAX_LABEL + 1) }],
  ])('is not what a file says with %j', (change) => {
    expect(inboxItemSchema.safeParse({ ...item(), ...change }).success).toBe(false);
    expect(inboxItemSchema.safeParse({ ...item(), more: { kept: true } }).data).toMatchObject({ more: { kept: true } });
  });
});

describe('ownership', () => {
  const a = { sessionId: 'a', process: processOf(1) };
  it.each<[InboxOwner, InboxOwner, string]>([
    [a, { sessionId: 'a', process: processOf(2) }, 'own'],
    [a, { sessionId: 'b', process: processOf(1) }, 'other'],
    [a, { process: processOf(1, 'another bundle of one process') }, 'own'],
    [a, { process: { ...processOf(1), start_time: '9' } }, 'other'],
    [a, { process: { ...processOf(1), boot_id: 'later' } }, 'other'],
    [{ sessionId: 'a' }, { process: processOf(1) }, 'unknown'],
    [a, {}, 'unknown'],
    [{}, a, 'unknown'],
  ])('of what %j claimed, seen from %j, is %s', (owner, caller, expected) => {
    expect(ownership(claimed(owner), caller)).toBe(expected);
  });
});

describe('a claim', () => {
  it('is lost with its time, its owner, or a time that no claim has', () => {
    const mine = claimed({ process: processOf(1) });
    const later = NOW + 10 * MINUTE;
    expect(isLost(mine, NOW, alive)).toBe(false);
    expect(isLost(mine, NOW, () => 'unknown')).toBe(false);
    expect(isLost(mine, later - 1, alive)).toBe(false);
    expect(isLost(mine, later, alive)).toBe(true);
    expect(isLost(mine, NOW, () => 'dead')).toBe(true);
    expect(isLost(mine, NOW, () => 'rebooted')).toBe(true);
    expect(isLost(mine, NOW - MAX_LEASE_MS, alive), 'by a clock that was a day ahead').toBe(true);
    expect(isLost({ ...item(), status: 'processing' }, NOW, alive), 'that nobody made').toBe(true);
    expect(
      isLost(item(), NOW, () => 'dead'),
      'of a pending item',
    ).toBe(false);
  });

  it('never holds longer than a day', () => {
    expect(toMs(claimed({}, 1e12).claim?.until ?? '')).toBe(NOW + MAX_LEASE_MS);
    expect(isLost(claimed({}, -5), NOW, alive)).toBe(true);
  });

  it('is renewed by its owner, and by nobody else', () => {
    const mine = claimed({ sessionId: 'a' });
    const renewed = unwrap(claim(mine, { owner: { sessionId: 'a' }, now: NOW + MINUTE, leaseMs: MINUTE }));
    expect(renewed.claim?.claimed_at).toBe(mine.claim?.claimed_at);
    expect(toMs(renewed.claim?.until ?? '')).toBe(NOW + 2 * MINUTE);
    expect(renewed.claims).toBe(1);
    expect(codeOf(claim(mine, { owner: { sessionId: 'b' }, now: NOW, leaseMs: MINUTE }))).toBe('stale_caller');
    expect(codeOf(claim(mine, { owner: {}, now: NOW, leaseMs: MINUTE }))).toBe('stale_caller');
  });
});

describe('an end', () => {
  it('by completion comes only after a claim, and not by another session', () => {
    const done = { caller: {}, summary: 'sent', now: NOW };
    expect(codeOf(complete(item(), done))).toBe('illegal_transition');
    const mine = claimed({ sessionId: 'a' });
    expect(codeOf(complete(mine, { ...done, caller: { sessionId: 'b' } }))).toBe('stale_caller');
    const ended = unwrap(complete(mine, done));
    expect(ended).toMatchObject({ status: 'done', response_summary: 'sent', processed_at: '2026-11-22T12:00:00.000Z' });
    expect(codeOf(complete(ended, done))).toBe('illegal_transition');
    expect(codeOf(cancel(ended, '', NOW))).toBe('illegal_transition');
    expect(codeOf(complete(unwrap(cancel(mine, 'no', NOW)), done))).toBe('illegal_transition');
    expect(codeOf(checkSummary('x'.repeat(16_385)))).toBe('usage');
  });

  it('by cancelling needs no reason', () => {
    expect(unwrap(cancel(item(), '', NOW))).not.toHaveProperty('response_summary');
    expect(unwrap(cancel(claimed({}), 'no', NOW))).toMatchObject({ status: 'cancelled', response_summary: 'no' });
  });
});

describe('the next item', () => {
  it('is the own unfinished one, else the first, those that failed often last', () => {
    const three = [3, 1, 2].map((id) => item({}, id));
    const own = unwrap(claim(item({}, 9), { owner: { sessionId: 'a' }, now: NOW, leaseMs: MINUTE }));
    expect(chooseNext([...three, own], { sessionId: 'a' })?.id).toBe(9);
    expect(chooseNext([...three, own], { sessionId: 'b' })?.id).toBe(1);
    expect(chooseNext([...three, own], {})?.id).toBe(1);
    expect(chooseNext([own], {})).toBeUndefined();
    expect(chooseNext([{ ...item({}, 1), claims: 3 }, ...three.slice(2)], {})?.id).toBe(2);
    expect(chooseNext([{ ...item({}, 1), claims: 2 }, ...three.slice(2)], {})?.id).toBe(1);
  });
});

/** Anything that can happen to an item, in any order. */
const EVENTS = fc.array(
  fc.record({
    what: fc.constantFrom('claim', 'complete', 'cancel', 'expire'),
    who: fc.constantFrom<InboxOwner>(
      {},
      { sessionId: 'a' },
      { sessionId: 'b', process: processOf(2) },
      { process: processOf(3) },
    ),
    after: fc.integer({ min: -MINUTE, max: 30 * MINUTE }),
    life: fc.constantFrom('alive', 'dead', 'rebooted', 'unknown'),
  }),
  { maxLength: 30 },
);

describe('whatever happens to an item', () => {
  it('it only goes along the table, ends once, and is never taken from a live owner in time', () => {
    fc.assert(
      fc.property(EVENTS, (events) => {
        let now = NOW;
        let current = item();
        for (const { what, who, after, life } of events) {
          now += after;
          const before = current;
          const lost = isLost(before, now, () => life);
          const result =
            what === 'claim'
              ? claim(before, { owner: who, now, leaseMs: 10 * MINUTE })
              : what === 'complete'
                ? complete(before, { caller: who, summary: 's', now })
                : what === 'cancel'
                  ? cancel(before, 's', now)
                  : { ok: true as const, value: expire(before, lost) };
          if (!result.ok) {
            expect(['illegal_transition', 'stale_caller']).toContain(result.error.code);
            continue;
          }
          current = result.value;
          const moves: readonly string[] = Object.values(INBOX_TRANSITIONS[before.status]);
          expect(current === before || moves.includes(current.status)).toBe(true);
          expect(isFinished(before.status) && current !== before).toBe(false);
          if (what === 'complete') expect(before.status).toBe('processing');
          if (what !== 'cancel' && before.status === 'processing' && ownership(before, who) === 'other' && !lost)
            expect(current).toBe(before);
          expect(current.claims).toBe(before.claims + Number(what === 'claim' && before.status === 'pending'));
          expect(current.content).toBe(before.content);
          expect(isFinished(current.status)).toBe(current.processed_at !== undefined);
          expect(inboxItemSchema.safeParse(JSON.parse(JSON.stringify(current))).success).toBe(true);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('each status is reached', () => {
    const [first, second] = [claimed({}), unwrap(cancel(item(), '', NOW))];
    const reached = [item(), first, unwrap(complete(first, { caller: {}, summary: '', now: NOW })), second];
    expect(reached.map(({ status }) => status)).toEqual(INBOX_STATUSES);
  });
});

describe('a wake', () => {
  it('is made for the session of a trigger, however the item names it, and only by completion', () => {
    expect(triggerOf(item({ sender: 'trigger:email' }))).toBe('email');
    expect(triggerOf(item({ channel: 'trigger:chat' }))).toBe('chat');
    expect(triggerOf(item({ triggerName: 'a', sender: 'trigger:b' }))).toBe('a');
    expect(triggerOf(item({ sender: 'trigger: ' }))).toBeUndefined();
    expect(triggerOf(item({ sender: 'me' }))).toBeUndefined();
    const asked = item({ triggerName: 'email', sessionKey: 'k', sessionId: 's-1', channel: 'mail' });
    const mine = unwrap(claim(asked, { owner: { sessionId: 'worker' }, now: NOW, leaseMs: MINUTE }));
    expect(wakeOf(mine)).toBeUndefined();
    expect(wakeOf(unwrap(cancel(mine, 'no', NOW)))).toBeUndefined();
    expect(wakeOf(unwrap(complete(mine, { caller: {}, summary: 'sent', now: NOW })))).toEqual({
      ...{ task_id: 42, trigger_name: 'email', session_key: 'k', session_id: 's-1' },
      ...{ channel: 'mail', response_summary: 'sent' },
    });
  });

  it.each([
    ['email', '.wake-email-42'],
    ['../../etc', '.wake--etc-42'],
    ['a b:c|d', '.wake-a-b-c-d-42'],
    ['é', '.wake-e--42'],
    ['💥', '.wake---42'],
    ['nul.', '.wake-nul--42'],
    ['x'.repeat(200), `.wake-${'x'.repeat(64)}-42`],
  ])('of trigger %j is called %s', (trigger, name) => {
    expect(wakeName({ trigger_name: trigger, task_id: 42 })).toBe(name);
  });

  it('is called what every system takes for a file, and says which item it is about', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 300 }),
        fc.integer({ min: 1, max: 999_999_999 }),
        (text, id) => {
          const name = wakeName({ trigger_name: text, task_id: id });
          expect(name).toMatch(/^\.wake-[A-Za-z0-9_-]{1,64}-\d+$/u);
          expect(itemOfWakeName(name)).toBe(id);
        },
      ),
    );
    for (const name of ['.wake-', '.wake-a', '.wake-a-0', '.wake-a-042', '.wake-a/b-1', 'x.wake-a-1', '.wake-a-1.tmp'])
      expect(itemOfWakeName(name), name).toBeUndefined();
  });

  it('names no session that a shell or an option parser would act on', () => {
    for (const id of ['-x', '$(x)', 'a b', "a'b", 'a\nb', '../x', 'a/b', '"'])
      expect(codeOf(checkSession(id)), id).toBe('usage');
    for (const id of [undefined, '0199a213-81c0-7800-8aa1-bbab2a035a53', 'ses_1', 'a@b.c:d+e'])
      expect(codeOf(checkSession(id))).toBe('ok');
  });
});
