import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { InboxItem } from '../../../src/core/inbox/inbox';
import type { Inbox } from '../../../src/service/inbox/inbox';
import { type TestStore, contentsOf, makeStore } from '../../support/fixtures/store';
import { type Worker, WorkerPool } from '../../support/processes/workerPool';

const WS = 'work';
const HOUR = 3_600_000;

let pool: WorkerPool;
let store: TestStore;
let inbox: Inbox;
let folder: string;

beforeAll(async () => {
  pool = await WorkerPool.open('test/support/processes/inboxWorker.ts');
});
afterAll(async () => {
  await pool.close();
});
beforeEach(async () => {
  store = makeStore();
  unwrap(store.atlas.workspaces.ensure(store.folder, undefined));
  inbox = await store.atlas.inbox();
  folder = store.atlas.ports.paths.inbox(WS);
});
afterEach(() => {
  store.dispose();
});

async function add(count: number, triggerName?: string): Promise<InboxItem[]> {
  const items: InboxItem[] = [];
  for (let made = 0; made < count; made += 1)
    items.push(unwrap(await inbox.add(WS, { content: `Item ${made}`, triggerName, sessionId: 'asker' })));
  return items;
}

async function workers(count: number, command: string): Promise<Worker[]> {
  const started = Array.from({ length: count }, () => pool.start(command, store.root, [WS]));
  for (const worker of started) await worker.speaks();
  return started;
}

/** What each says to the same question, asked at once. */
async function answers(asked: readonly Worker[]): Promise<number[][]> {
  return Promise.all(asked.map(async (worker) => JSON.parse(await worker.asked('go')) as number[]));
}

function open(): InboxItem[] {
  return [...unwrap(inbox.list(WS)).open];
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

const sorted = (ids: readonly number[]): number[] => [...ids].sort((a, b) => a - b);

describe('many processes', { timeout: 120_000 }, () => {
  it('claim from one inbox: each item goes to exactly one of 20', async () => {
    await add(100);
    const claimants = await workers(20, 'claims');
    const ids = await answers(claimants);
    expect(sorted(ids.flat())).toEqual(upTo(100));
    expect(ids.filter((each) => each.length > 0).length, 'several had a turn').toBeGreaterThan(1);
    expect(open().map(({ status, claims }) => `${status} ${claims}`)).toEqual(upTo(100).map(() => 'processing 1'));
    expect(unwrap(await inbox.next(WS, {})).item, 'nothing is left').toBeUndefined();
    // All of them die at once: everything comes back, once.
    for (const each of claimants) await each.kill();
    expect(open().map(({ status }) => status)).toEqual(upTo(100).map(() => 'pending'));
    const [rest] = await answers(await workers(1, 'claims'));
    expect(rest).toEqual(upTo(100));
  });

  it('add at once, and work meanwhile: every item has a number of its own and is done once', async () => {
    const [adders, labourers] = [await workers(6, 'add'), await workers(3, 'work')];
    const [added, ...meanwhile] = await Promise.all([answers(adders), answers(labourers)]);
    const [rest] = await answers(labourers.slice(0, 1));
    expect(sorted(added.flat())).toEqual(upTo(60));
    expect(sorted([...meanwhile.flat(2), ...(rest ?? [])])).toEqual(upTo(60));
    const listed = unwrap(inbox.list(WS));
    expect(listed).toMatchObject({ open: [], finishedTotal: 60, findings: [] });
    expect(listed.finished.every(({ status }) => status === 'done')).toBe(true);
    expect(readdirSync(folder).filter((name) => name.endsWith('.json'))).toEqual([]);
  });

  it('take wakes: each goes to exactly one of 8', async () => {
    await add(60, 'email');
    const takers = await workers(8, 'wakes');
    const labourers = await workers(2, 'work');
    // Some while they are made, the rest after that.
    const [meanwhile] = await Promise.all([answers(takers), answers(labourers)]);
    const rest = await answers(takers);
    expect(sorted([...meanwhile, ...rest].flat())).toEqual(upTo(60));
    expect(unwrap(await inbox.consumeWakes(WS)).wakes).toEqual([]);
    expect(readdirSync(path.dirname(folder)).filter((name) => name.startsWith('.'))).toEqual([]);
  });
});

describe('a claim', { timeout: 60_000 }, () => {
  it('of a process that is killed is lost at once; that of one that lives is not', async () => {
    await add(2);
    const [dying, living] = [await workers(1, 'claims'), await workers(1, 'claims')];
    expect(await answers(dying)).toEqual([[1, 2]]);
    expect(await answers(living)).toEqual([[]]);
    await dying[0]?.kill();
    expect(open().map(({ status }) => status)).toEqual(['pending', 'pending']);
    expect(await answers(living)).toEqual([[1, 2]]);
    expect(open()).toMatchObject([
      { status: 'processing', claims: 2 },
      { status: 'processing', claims: 2 },
    ]);
    expect(unwrap(await inbox.next(WS, { sessionId: 'me' })).item).toBeUndefined();
  });

  it('ends with its time, after which its first owner is told that it came too late', async () => {
    await add(1);
    let now = Date.now();
    const clocked = await store.other({ clock: { now: () => now } }).inbox();
    unwrap(await clocked.next(WS, { sessionId: 'a' }, HOUR));
    now += HOUR - 1;
    expect(unwrap(await clocked.next(WS, { sessionId: 'b' })).item).toBeUndefined();
    now += 1;
    expect(unwrap(await clocked.next(WS, { sessionId: 'b' }))).toMatchObject({
      own: false,
      item: { id: 1, claims: 2 },
    });
    expect(await clocked.complete(WS, 1, 'late', { sessionId: 'a' })).toMatchObject({
      error: { code: 'stale_caller' },
    });
    unwrap(await clocked.complete(WS, 1, 'in time', { sessionId: 'b' }));
    expect(await clocked.complete(WS, 1, 'late', { sessionId: 'a' })).toMatchObject({
      error: { code: 'stale_caller' },
    });
    expect(unwrap(clocked.list(WS)).finished).toMatchObject([{ response_summary: 'in time' }]);
  });

  it('that ran out is still completed by its owner while nobody else took it', async () => {
    await add(1);
    let now = Date.now();
    const clocked = await store.other({ clock: { now: () => now } }).inbox();
    unwrap(await clocked.next(WS, { sessionId: 'a' }, HOUR));
    now += 2 * HOUR;
    expect(unwrap(await clocked.complete(WS, 1, 'done', { sessionId: 'a' })).changed).toBe(true);
  });

  it('of the caller comes back first, with its claim renewed', async () => {
    await add(2);
    const first = unwrap(await inbox.next(WS, { sessionId: 'a' }, HOUR));
    expect(first).toMatchObject({ own: false, item: { id: 1 } });
    const again = unwrap(await inbox.next(WS, { sessionId: 'a' }, 2 * HOUR));
    expect(again).toMatchObject({ own: true, item: { id: 1, claims: 1 } });
    expect(Date.parse(again.item?.claim?.until ?? '')).toBeGreaterThan(Date.parse(first.item?.claim?.until ?? ''));
    expect(unwrap(await inbox.next(WS, { sessionId: 'b' })).item?.id).toBe(2);
  });

  it('of an item by its number is had by one, and renewed by that one', async () => {
    await add(3);
    let now = Date.now();
    const clocked = await store.other({ clock: { now: () => now } }).inbox();
    const [mine, yours] = [{ sessionId: 'mine' }, { sessionId: 'yours' }];
    const claimed = unwrap(await clocked.claim(WS, 2, mine));
    expect(claimed).toMatchObject({ id: 2, status: 'processing', claims: 1, claim: { session_id: 'mine' } });
    expect(await clocked.claim(WS, 2, yours)).toMatchObject({ ok: false, error: { code: 'stale_caller' } });
    now += HOUR / 2;
    const renewed = unwrap(await clocked.claim(WS, 2, mine));
    expect(renewed).toMatchObject({ claims: 1, claim: { claimed_at: claimed.claim?.claimed_at } });
    expect(renewed.claim?.until).not.toBe(claimed.claim?.until);
    now += HOUR + 1;
    expect(unwrap(clocked.item(WS, 2)).status, 'the claim has run out').toBe('pending');
    expect(unwrap(await clocked.claim(WS, 2, yours))).toMatchObject({ claims: 2, claim: { session_id: 'yours' } });
    unwrap(await clocked.complete(WS, 2, 'done', yours));
    expect(await clocked.claim(WS, 2, mine)).toMatchObject({ ok: false, error: { code: 'illegal_transition' } });
    expect(await clocked.claim(WS, 9, mine)).toMatchObject({ ok: false, error: { code: 'not_found' } });
    expect(unwrap(clocked.item(WS, 2))).toMatchObject({ status: 'done', response_summary: 'done' });
    expect(unwrap(clocked.finished(WS, 1))).toMatchObject({ total: 1, items: [{ id: 2 }] });
  });

  it("by nobody in particular is nobody's own", async () => {
    await add(2);
    expect(unwrap(await inbox.next(WS, {}))).toMatchObject({ own: false, item: { id: 1 } });
    expect(unwrap(await inbox.next(WS, {}))).toMatchObject({ own: false, item: { id: 2 } });
  });

  it.each([
    ['session', async () => inbox.next(WS, { sessionId: '--x' })],
    ['time', async () => inbox.next(WS, {}, 0)],
    ['summary', async () => inbox.complete(WS, 1, 'x'.repeat(20_000))],
    ['reason', async () => inbox.cancel(WS, 1, 'x'.repeat(20_000))],
    ['content', async () => inbox.add(WS, { content: ' ' })],
  ])('and the like are refused for a wrong %s, and nothing is changed', async (_what, act) => {
    await add(1);
    const before = contentsOf(store.root);
    expect(await act()).toMatchObject({ ok: false, error: { code: 'usage' } });
    expect(contentsOf(store.root)).toEqual(before);
  });
});

describe('an end', () => {
  it('comes once: completing again changes nothing, and cancelling what is done is refused', async () => {
    await add(2, 'email');
    expect(await inbox.complete(WS, 1, 'x')).toMatchObject({ error: { code: 'illegal_transition' } });
    unwrap(await inbox.next(WS, { sessionId: 'a' }));
    expect(unwrap(await inbox.complete(WS, 1, 'first'))).toMatchObject({ changed: true });
    expect(unwrap(await inbox.consumeWakes(WS)).wakes).toHaveLength(1);
    const before = contentsOf(store.root);
    expect(unwrap(await inbox.complete(WS, 1, 'second', { sessionId: 'a' }))).toMatchObject({
      changed: false,
      item: { response_summary: 'first' },
    });
    expect(await inbox.cancel(WS, 1)).toMatchObject({ error: { code: 'illegal_transition' } });
    unwrap(await inbox.cancel(WS, 2, 'not wanted'));
    expect(unwrap(await inbox.cancel(WS, 2)).changed).toBe(false);
    expect(await inbox.complete(WS, 2, 'x')).toMatchObject({ error: { code: 'illegal_transition' } });
    expect(unwrap(await inbox.consumeWakes(WS)).wakes, 'no second wake, none for what was cancelled').toEqual([]);
    expect(contentsOf(store.root).get('workspaces/work/inbox/finished/1.json')).toBe(
      before.get('workspaces/work/inbox/finished/1.json'),
    );
    expect(await inbox.complete(WS, 3, 'x')).toMatchObject({ error: { code: 'not_found' } });
    expect((await add(1))[0]?.id, 'numbers are not used again').toBe(3);
  });

  it("of a trigger session's item leaves a file with what it is woken by", async () => {
    const draft = { content: 'x', sender: 'trigger:e/mail', channel: 'mail', sessionKey: 'a@b', sessionId: 's-1' };
    unwrap(await inbox.add(WS, draft));
    unwrap(await inbox.next(WS, { sessionId: 'worker' }));
    unwrap(await inbox.complete(WS, 1, 'sent', { sessionId: 'worker' }));
    const file = path.join(path.dirname(folder), '.wake-e-mail-1');
    const wake = {
      ...{ task_id: 1, trigger_name: 'e/mail', session_key: 'a@b', session_id: 's-1' },
      ...{ channel: 'mail', response_summary: 'sent' },
    };
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(wake);
    expect(unwrap(await inbox.consumeWakes(WS))).toEqual({ wakes: [wake], findings: [] });
    expect(existsSync(file)).toBe(false);
  });

  it('is final, whatever an open file says that a late writer brought back', async () => {
    await add(1);
    unwrap(await inbox.next(WS, {}));
    const late = readFileSync(path.join(folder, '1.json'));
    unwrap(await inbox.complete(WS, 1, 'done'));
    writeFileSync(path.join(folder, '1.json'), late);
    expect(unwrap(inbox.list(WS, { finished: 0 })).open).toEqual([]);
    expect(unwrap(await inbox.next(WS, {})).item).toBeUndefined();
    expect(existsSync(path.join(folder, '1.json')), 'the next change removes it').toBe(false);
    expect(unwrap(inbox.list(WS)).finished).toMatchObject([{ id: 1, status: 'done' }]);
  });
});

const HOSTILE: readonly (readonly [string, string, (file: string) => void])[] = [
  ['empty', 'damaged', (file) => writeFileSync(file, '')],
  ['cut', 'damaged', (file) => writeFileSync(file, readFileSync(file, 'utf8').slice(0, 50))],
  ['all zeros', 'damaged', (file) => writeFileSync(file, '\0'.repeat(300))],
  ['of another shape', 'damaged', (file) => writeFileSync(file, '{"id":1}')],
  ['200 MB large', 'damaged', (file) => truncateSync(file, 200 * 1024 * 1024)],
  [
    'about another item',
    'damaged',
    (file) => writeFileSync(file, readFileSync(file, 'utf8').replace('"id": 1', '"id": 7')),
  ],
  [
    'from a newer Atlas',
    'too_new',
    (file) => writeFileSync(file, readFileSync(file, 'utf8').replace('"1.0"', '"2.0"')),
  ],
  [
    'a folder',
    'unreadable',
    (file) => {
      rmSync(file);
      mkdirSync(file);
    },
  ],
  [
    'a link out of the inbox',
    'unsafe_path',
    (file) => {
      renameSync(file, path.join(store.folder, 'elsewhere.json'));
      symlinkSync(path.join(store.folder, 'elsewhere.json'), file);
    },
  ],
];

describe('an item whose file is', () => {
  it.each(HOSTILE)('%s hides no other item, is reported (%s), and stays as it is', async (_what, code, damage) => {
    await add(2);
    const file = path.join(folder, '1.json');
    damage(file);
    const size = code === 'unreadable' ? undefined : readFileSync(file).length;
    const listed = unwrap(inbox.list(WS));
    expect(listed.open.map(({ id }) => id)).toEqual([2]);
    expect(listed.findings).toMatchObject([{ path: file, error: { code } }]);
    const next = unwrap(await inbox.next(WS, { sessionId: 'a' }));
    expect(next).toMatchObject({ item: { id: 2 }, findings: [{ path: file }] });
    expect(await inbox.complete(WS, 1, 'x')).toMatchObject({ error: { code } });
    expect(await inbox.cancel(WS, 1)).toMatchObject({ error: { code } });
    unwrap(await inbox.complete(WS, 2, 'done', { sessionId: 'a' }));
    expect((await add(1))[0]?.id, 'its number stays taken').toBe(3);
    if (size !== undefined) expect(readFileSync(file).length).toBe(size);
  });

  it.each(HOSTILE)(
    '%s once it is finished is reported, and the item does not come back',
    async (_what, code, damage) => {
      await add(1, 'email');
      unwrap(await inbox.next(WS, {}));
      unwrap(await inbox.complete(WS, 1, 'done'));
      unwrap(await inbox.consumeWakes(WS));
      damage(path.join(folder, 'finished', '1.json'));
      expect(unwrap(inbox.list(WS))).toMatchObject({
        open: [],
        finished: [],
        finishedTotal: 1,
        findings: [{ error: { code } }],
      });
      expect(unwrap(await inbox.next(WS, {})).item).toBeUndefined();
      expect(await inbox.complete(WS, 1, 'again')).toMatchObject({ error: { code } });
      expect(unwrap(await inbox.consumeWakes(WS)).wakes).toEqual([]);
    },
  );

  it.each([
    '0.json',
    '042.json',
    '1e3.json',
    '-1.json',
    '1234567890.json',
    'x.json',
    '1.JSON',
    '1.json ',
    '1.json.bak',
  ])('called %j is left alone and reported', async (name) => {
    await add(1);
    // Where case, or a space at the end, makes no other name, it is the item.
    const isItem = existsSync(path.join(folder, name));
    writeFileSync(path.join(folder, name), readFileSync(path.join(folder, '1.json')));
    const { open: items, findings } = unwrap(inbox.list(WS));
    expect(items.map(({ id }) => id)).toEqual([1]);
    const found = { path: path.join(folder, name), error: { code: 'invalid_name' } };
    expect(findings).toMatchObject(isItem ? [] : [found]);
    expect((await add(1))[0]?.id).toBe(2);
  });

  it('called as the last number leaves none for others, which is said', async () => {
    await add(1);
    writeFileSync(path.join(folder, '999999999.json'), '');
    expect(await inbox.add(WS, { content: 'x' })).toMatchObject({ error: { code: 'damaged' } });
    expect(unwrap(await inbox.next(WS, {})).item?.id).toBe(1);
  });
});

it('a long list is read in slices: others have their turn, and what it says is the same', async () => {
  await add(1);
  const [first = ''] = readdirSync(folder).filter((name) => name.endsWith('.json'));
  const text = readFileSync(path.join(folder, first), 'utf8');
  for (let id = 2; id <= 3000; id += 1)
    writeFileSync(path.join(folder, `${id}.json`), text.replace('"id": 1,', `"id": ${id},`));
  writeFileSync(path.join(folder, '17.json'), 'no JSON');
  let turns = 0;
  const turn = setInterval(() => (turns += 1), 0);
  const sliced = await inbox.listInSlices(WS);
  clearInterval(turn);
  expect(turns).toBeGreaterThan(1);
  const whole = unwrap(inbox.list(WS));
  expect(whole.open).toHaveLength(2999);
  expect(whole.findings).toHaveLength(1);
  expect(unwrap(sliced)).toEqual(whole);
});

describe('an inbox whose folder is', () => {
  it.each(['inbox', 'finished', 'locks'])('a link out of the store (%s) is neither read nor written', async (which) => {
    await add(1);
    unwrap(await inbox.next(WS, {}));
    unwrap(await inbox.complete(WS, 1, 'done'));
    const linked = which === 'inbox' ? folder : path.join(folder, which);
    const elsewhere = path.join(store.folder, 'elsewhere');
    renameSync(linked, elsewhere);
    symlinkSync(elsewhere, linked);
    const before = contentsOf(elsewhere);
    expect(inbox.list(WS)).toMatchObject({ error: { code: 'unsafe_path' } });
    for (const change of [
      inbox.add(WS, { content: 'x' }),
      inbox.next(WS, {}),
      inbox.complete(WS, 1, ''),
      inbox.cancel(WS, 1),
    ])
      expect(await change).toMatchObject({ error: { code: 'unsafe_path' } });
    expect(contentsOf(elsewhere)).toEqual(before);
  });

  it('not there yet is empty; a workspace that is not there is not', async () => {
    expect(unwrap(inbox.list(WS))).toEqual({ open: [], finished: [], finishedTotal: 0, findings: [] });
    expect(existsSync(folder), 'and looking makes nothing').toBe(false);
    expect(unwrap(await inbox.consumeWakes(WS))).toEqual({ wakes: [], findings: [] });
    expect(existsSync(folder)).toBe(false);
    expect(inbox.list('other')).toMatchObject({ error: { code: 'not_found' } });
    expect(await inbox.add('other', { content: 'x' })).toMatchObject({ error: { code: 'not_found' } });
  });
});

describe('a wake file that is', () => {
  const wake = {
    task_id: 1,
    trigger_name: 'email',
    session_key: null,
    session_id: null,
    channel: 'c',
    response_summary: '',
  };
  it.each<[string, string, string, (file: string) => void]>([
    ['no JSON', '.wake-email-1', 'damaged', (file) => writeFileSync(file, '{')],
    ['empty', '.wake-email-1', 'damaged', (file) => writeFileSync(file, '')],
    ['of another shape', '.wake-email-1', 'damaged', (file) => writeFileSync(file, '{}')],
    ['about another item', '.wake-email-2', 'damaged', (file) => writeFileSync(file, JSON.stringify(wake))],
    ['about another trigger', '.wake-chat-1', 'damaged', (file) => writeFileSync(file, JSON.stringify(wake))],
    [
      'for a session that is an option',
      '.wake-email-1',
      'damaged',
      (file) => writeFileSync(file, JSON.stringify({ ...wake, session_id: '--dangerous' })),
    ],
    [
      '200 MB large',
      '.wake-email-1',
      'damaged',
      (file) => {
        writeFileSync(file, '');
        truncateSync(file, 200 * 1024 * 1024);
      },
    ],
    ['a folder', '.wake-email-1', 'unreadable', (file) => mkdirSync(file)],
    [
      'a link',
      '.wake-email-1',
      'unsafe_path',
      (file) => {
        writeFileSync(path.join(store.folder, 'elsewhere'), JSON.stringify(wake));
        symlinkSync(path.join(store.folder, 'elsewhere'), file);
      },
    ],
  ])('%s wakes nobody, is reported, and stays where it is', async (_what, name, code, make) => {
    await add(1, 'chat');
    unwrap(await inbox.next(WS, {}));
    unwrap(await inbox.complete(WS, 1, 'done'));
    unwrap(await inbox.consumeWakes(WS));
    const file = path.join(path.dirname(folder), name);
    make(file);
    for (let turn = 0; turn < 2; turn += 1)
      expect(unwrap(await inbox.consumeWakes(WS))).toMatchObject({
        wakes: [],
        findings: [{ path: file, error: { code } }],
      });
    writeFileSync(path.join(path.dirname(folder), '.wake-email-3'), JSON.stringify({ ...wake, task_id: 3 }));
    expect(unwrap(await inbox.consumeWakes(WS)).wakes, 'and hides no other').toMatchObject([{ task_id: 3 }]);
  });
});
