import { copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { join } from 'node:path';
import { unwrap } from '../../../src/core/shared/errors';
import type { ValidationReceipt } from '../../../src/core/task/taskRecord';
import { type ReceiptCheck, type Verdict, signingText } from '../../../src/core/receipt/receipt';
import { ed25519FromSeed, signEd25519 } from '../../../src/signing/ed25519';
import { ed25519Message } from '../../../src/signing/signatureVerifier';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { type StoreCopy, TamperBench, expectNoTick, isAbout } from '../../support/fixtures/receipts/receiptStore';
import { editFile } from '../../support/fixtures/store';
import { type ValidationWorld, makeValidationWorld } from '../../support/fixtures/validationWorld';

let bench: TamperBench;
let tasks: TamperBench['tasks'];
let store: StoreCopy;

beforeAll(async () => {
  bench = await TamperBench.make();
  ({ tasks } = bench);
}, 60_000);
afterAll(() => {
  bench.dispose();
});
beforeEach(() => {
  store = bench.copy();
});
afterEach(() => {
  store.dispose();
});

const MISSING = /was recorded and is now missing/;
const ORDER = /not in the order in which they were recorded/;

describe('the chain', () => {
  it.each<[string, (receipts: ValidationReceipt[]) => ValidationReceipt[], RegExp]>([
    ['two swapped', ([a, b, c]) => [b, a, c] as ValidationReceipt[], ORDER],
    ['the first dropped', (all) => all.slice(1), MISSING],
    ['the middle one dropped', ([a, , c]) => [a, c] as ValidationReceipt[], MISSING],
    ['the last dropped', (all) => all.slice(0, 2), MISSING],
    ['one there twice', ([a, b, c]) => [a, b, b, c] as ValidationReceipt[], ORDER],
    ['the last there twice', ([a, b, c]) => [a, b, c, c] as ValidationReceipt[], ORDER],
    ['all but the last dropped', (all) => all.slice(2), MISSING],
  ])('is broken with %s, and with its events gone as well', async (_name, change, message) => {
    const ref = tasks.hd;
    store.edit(ref, (hook) => {
      hook.receipts = change([...hook.receipts]);
    });
    const gone = bench.receipts.hd.filter(
      ({ receipt_id }) => !store.hook(ref).receipts.some((r) => r.receipt_id === receipt_id),
    );
    for (const alsoEvents of [false, true]) {
      if (alsoEvents) {
        store.edit(ref, (hook) => {
          hook.history = hook.history.filter((event) => !gone.some(({ receipt_id: each }) => isAbout(each)(event)));
        });
      }
      const all = await store.judge(ref);
      for (const each of all) {
        expect(each).toMatchObject({ verdict: 'invalid', check: 'chain' });
        expect(each.message).toMatch(message);
      }
      expect(await store.proven(ref)).toEqual([]);
    }
    await expectNoTick(store, ref, bench.ids('hd'));
  });

  it.each([0, 1])('is broken by a gap at %i although history and journal were cut to fit', async (at) => {
    const ref = tasks.hd;
    store.edit(ref, (hook) => {
      hook.history = hook.history.filter((event) => !isAbout(bench.id(at))(event));
      hook.receipts.splice(at, 1);
    });
    rmSync(store.file(ref, 'journal.jsonl'));
    const after = (await store.judge(ref)).slice(at);
    expect(after).toHaveLength(2 - at);
    expect(after[0]).toMatchObject({ verdict: 'invalid', check: 'chain' });
    expect(after[0]?.message).toMatch(/it follows another receipt/);
  });

  it('is broken by a receipt that nothing recorded', async () => {
    const ref = tasks.hd;
    store.edit(ref, (hook) => {
      hook.history = hook.history.filter((event) => !isAbout(bench.id(2))(event));
    });
    rmSync(store.file(ref, 'journal.jsonl'));
    expect((await store.judge(ref))[2]).toMatchObject({ verdict: 'invalid', check: 'chain' });
  });

  it.each<[string, (lines: string[]) => string[]]>([
    [
      'a digest in a line',
      (all) => all.map((line) => line.replace(/"envelope_sha256":"[0-9a-f]/, '"envelope_sha256":"x')),
    ],
    ['a space in a line', (all) => all.map((line, at) => (at === 3 ? `${line} ` : line))],
    ['a line less', (all) => all.filter((_line, at) => at !== 4)],
    ['its first lines gone', (all) => all.slice(3)],
    ['a line that is none', (all) => [...all.slice(0, 4), 'x', ...all.slice(4)]],
  ])('is not vouched for by a journal that was edited: %s', async (_name, change) => {
    const ref = tasks.hd;
    const journal = store.file(ref, 'journal.jsonl');
    const lines = readFileSync(journal, 'utf8').trimEnd().split('\n');
    writeFileSync(journal, `${change(lines).join('\n')}\n`);
    for (const each of await store.judge(ref)) {
      expect(each).toMatchObject({ verdict: 'invalid', check: 'chain' });
      expect(each.message).toMatch(/journal/);
    }
    expect(await store.proven(ref)).toEqual([]);
  });
});

describe('a receipt in another task', () => {
  function move(withEnvelope: boolean, withEvents: boolean): void {
    const [from, to] = [tasks.hd, tasks.other];
    const events = store.hook(from).history.filter(isAbout(bench.id(2)));
    expect(events).toHaveLength(2);
    store.edit(to, (hook) => {
      hook.receipts.push(...bench.receipts.hd.slice(2));
      if (withEvents) hook.history.push(...events);
    });
    if (withEnvelope) renameSync(store.envelope(from, bench.id(2)), store.envelope(to, bench.id(2)));
  }

  it.each<[boolean, boolean, ReceiptCheck['check'], RegExp]>([
    [false, false, 'envelope', /statement of this receipt is missing/],
    [false, true, 'envelope', /statement of this receipt is missing/],
    [true, false, 'place', /belongs to another task/],
    [true, true, 'place', /belongs to another task/],
  ])('is invalid there (with its statement: %s, with its events: %s)', async (envelope, events, check, message) => {
    move(envelope, events);
    const moved = (await store.judge(tasks.other)).at(-1);
    expect(moved).toMatchObject({ id: bench.id(2), verdict: 'invalid', check });
    expect(moved?.message).toMatch(message);
    await expectNoTick(store, tasks.other, [bench.id(2)]);
  });

  it('names the other task', async () => {
    move(true, true);
    const { checks } = (await store.reports(tasks.other)).at(-1) ?? { checks: [] };
    expect(checks.find(({ check }) => check === 'place')).toMatchObject({
      expected: `${tasks.hd.workspace}/${tasks.hd.id}`,
      found: `${tasks.other.workspace}/${tasks.other.id}`,
    });
  });
});

/** Whether a text says so of each receipt of a task. */
async function expectAll(ref: TaskRef, verdict: Verdict, check: ReceiptCheck['check']): Promise<void> {
  for (const each of await store.judge(ref)) expect(each).toMatchObject({ verdict, check });
  expect(await store.proven(ref)).toEqual([]);
}

describe('another key', () => {
  /** The keys of another store, made there. */
  async function otherKeys(): Promise<string> {
    const other = await makeValidationWorld();
    others.push(other);
    const ref = await other.running(['true']);
    unwrap(await other.validate(ref));
    return other.atlas.ports.paths.keys;
  }
  const others: ValidationWorld[] = [];
  afterAll(() => {
    for (const other of others) other.dispose();
  });

  it('in the place of both, of the public ones alone, or of the private one alone, makes nothing valid', async () => {
    const keys = await otherKeys();
    const put = (name: string): void => copyFileSync(join(keys, name), store.key(name));
    put('master.key');
    expect((await store.judge(tasks.hd)).map(({ verdict }) => verdict)).toEqual(['valid', 'valid', 'valid']);
    put('receipts.pub.json');
    await expectAll(tasks.hd, 'unknown_key', 'key');
    await expectNoTick(store, tasks.hd, bench.ids('hd'));
    rmSync(store.key('receipts.pub.json'));
    await expectAll(tasks.hd, 'unknown_key', 'key');
  });

  it('under the old id is refused with the file: its id is its digest', async () => {
    const keys = await otherKeys();
    const xpub = (file: string): string => /xpub\w+/.exec(readFileSync(file, 'utf8'))?.[0] ?? '';
    const [old, other] = [xpub(store.key('receipts.pub.json')), xpub(join(keys, 'receipts.pub.json'))];
    expect(old).not.toBe(other);
    editFile(store.key('receipts.pub.json'), (text) => text.replace(old, other));
    const receipts = await store.atlas().receipts();
    expect(await receipts.reports(store.stored(tasks.hd))).toMatchObject({ ok: false, error: { code: 'key_format' } });
    expect(await receipts.proven(store.stored(tasks.hd), { current: false })).toMatchObject({ ok: false });
    await expect(store.markdown(tasks.hd)).resolves.not.toMatch(/^Signature: VALID/m);
  });

  it('that the statement names does not make the signature of another one good', async () => {
    const keys = await otherKeys();
    const entry = (file: string): { keys: { keyid: string }[] } => JSON.parse(readFileSync(file, 'utf8')) as never;
    const both = entry(store.key('receipts.pub.json'));
    const [added] = entry(join(keys, 'receipts.pub.json')).keys;
    if (added === undefined) throw new Error('no key');
    both.keys.push(added);
    writeFileSync(store.key('receipts.pub.json'), JSON.stringify(both));
    expect((await store.judge(tasks.hd)).map(({ verdict }) => verdict)).toEqual(['valid', 'valid', 'valid']);
    store.editEnvelope(tasks.hd, bench.id(1), (text) => text.replace(/(?<="keyid":")[0-9a-f]+/, added.keyid));
    expect((await store.judge(tasks.hd))[1]).toMatchObject({ verdict: 'invalid', check: 'signature' });
  });
});

describe('a receipt of the Go ATLAS', () => {
  it('in our task stays valid, short: it breaks no chain, gets no tick and proves nothing', async () => {
    const ref = tasks.ed25519;
    // A key that was taken over from there; what Atlas makes a key for has a statement.
    const published = readFileSync(store.key('receipts.pub.json'), 'utf8');
    writeFileSync(store.key('receipts.pub.json'), published.replace(/,\s*"statements": "always"/u, ''));
    const key = ed25519FromSeed(Buffer.from(readFileSync(store.key('master.ed25519.key'), 'utf8').trim(), 'hex'));
    const { attempt: _attempt, ...rest } = bench.receipts.ed25519[0] ?? {};
    const cut = { stdout_hash: 'e3b0c44298fc1c14', stderr_hash: '' };
    const foreign = { ...rest, receipt_id: 'rcpt-0f0f0f0f', ...cut } as ValidationReceipt;
    const signed = (receipt: ValidationReceipt): string => {
      const message = ed25519Message(Buffer.from(signingText(receipt), 'utf8'), 'text');
      return Buffer.from(signEd25519(key, message)).toString('hex');
    };
    foreign.signature = signed(foreign);
    store.edit(ref, (hook) => {
      hook.receipts.splice(1, 0, foreign);
    });
    const all = await store.judge(ref);
    expect(all.map(({ verdict }) => verdict)).toEqual(['valid', 'valid_short', 'valid', 'valid']);
    await expectNoTick(store, ref, [foreign.receipt_id]);
    expect(await store.markdown(ref)).toContain('Signature: valid, short');
    // With whole hashes it is one of ours, whose statement was taken away with all that told of it.
    const stripped = { ...foreign, stdout_hash: 'a'.repeat(64) };
    stripped.signature = signed(stripped);
    store.edit(ref, (hook) => {
      hook.receipts.splice(1, 1, stripped);
    });
    expect((await store.judge(ref))[1]).toMatchObject({ verdict: 'invalid', check: 'envelope' });
  });

  it.each(['hd', 'ed25519'] as const)(
    'is not what one of ours (%s) becomes without attempt and statement',
    async (scheme) => {
      store.editReceipt(tasks[scheme], 1, { attempt: undefined });
      rmSync(store.envelope(tasks[scheme], bench.id(1, scheme)));
      store.edit(tasks[scheme], (hook) => {
        hook.history = hook.history.filter((event) => !isAbout(bench.id(1, scheme))(event));
      });
      expect((await store.judge(tasks[scheme]))[1]).toMatchObject({ verdict: 'invalid', check: 'envelope' });
    },
  );
});
