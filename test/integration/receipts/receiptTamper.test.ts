import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ReceiptCheck, Verdict } from '../../../src/core/receipt/receipt';
import { type StoreCopy, TamperBench, expectNoTick } from '../../support/fixtures/receipts/receiptStore';

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

describe('receipts that nobody touched', () => {
  it.each(['hd', 'ed25519', 'other'] as const)('of %s are valid, each with all checks', async (name) => {
    const reports = await store.reports(tasks[name]);
    expect(reports.map(({ verdict }) => verdict)).toEqual(['valid', 'valid', 'valid']);
    for (const { checks } of reports) {
      expect(checks.map(({ check }) => check)).toEqual(
        'signed form envelope key signature statement_signature fields place chain'.split(' '),
      );
    }
    expect(await store.proven(tasks[name])).toEqual(bench.ids(name));
    expect((await store.markdown(tasks[name])).match(/^Signature: VALID ✓/gm)).toHaveLength(3);
  });
});

type Case = [string, Readonly<Record<string, unknown>>, ReceiptCheck['check'], RegExp, Verdict?];
const BY_TEXT = /does not match the receipt: a field it covers was changed/;
const fieldsOf = (name: string): RegExp => new RegExp(`from the statement: ${name}\\.`);

const FIELD_CASES: readonly Case[] = [
  ['receipt_id', { receipt_id: 'rcpt-00000000' }, 'envelope', /statement of this receipt is missing/],
  ['step_name', { step_name: 'after' }, 'fields', fieldsOf('step_name')],
  ['attempt', { attempt: 2 }, 'fields', fieldsOf('attempt')],
  ['attempt, removed', { attempt: undefined }, 'fields', fieldsOf('attempt')],
  ['command', { command: 'echo three' }, 'signature', BY_TEXT],
  ['command, by a space', { command: 'echo two >&2 ' }, 'signature', BY_TEXT],
  ['exit_code', { exit_code: 1 }, 'signature', BY_TEXT],
  ['started_at', { started_at: '2026-01-01T00:00:00.000Z' }, 'fields', fieldsOf('started_at')],
  ['completed_at', { completed_at: '2026-01-01T00:00:00.000Z' }, 'signature', BY_TEXT],
  ['duration', { duration: '1ms ' }, 'fields', fieldsOf('duration')],
  ['duration, removed', { duration: undefined }, 'fields', fieldsOf('duration')],
  ['stdout_hash', { stdout_hash: 'f'.repeat(64) }, 'signature', BY_TEXT],
  ['stderr_hash', { stderr_hash: 'f'.repeat(64) }, 'signature', BY_TEXT],
  ['key_path, by none', { key_path: undefined }, 'key', /is not valid for a receipt key/],
  ['key_path, by nonsense', { key_path: 'm/44/236/0/0/1' }, 'key', /is not valid for a receipt key/],
  ['key_path, by another spelling', { key_path: "m/44'/236'/0'/00/1" }, 'key', /is not valid for a receipt key/],
  [
    'key_path, by another account',
    { key_path: "m/44'/236'/1'/0/1" },
    'key',
    /public key that it names is not known/,
    'unknown_key',
  ],
  ['key_path, by another index', { key_path: "m/44'/236'/0'/0/7" }, 'signature', BY_TEXT],
  ['signature, by none', { signature: '' }, 'signed', /not signed, so it proves nothing/, 'unsigned'],
  ['signature, by "none"', { signature: 'none' }, 'signature', /is not hexadecimal/],
  ['signature, by other digits', { signature: 'ab'.repeat(70) }, 'signature', BY_TEXT],
  ['an unknown field', { note: 'approved' }, 'fields', fieldsOf('note')],
  ['an unknown field that is null', { note: null }, 'fields', fieldsOf('note')],
];

describe.each(['hd', 'ed25519'] as const)('a field of a receipt (%s) that was changed', (scheme) => {
  const cases = FIELD_CASES.filter(([name]) => scheme === 'hd' || !/key_path, by another (account|index)/.test(name));
  it.each(cases)('is found: %s', async (...[, change, check, message, verdict = 'invalid']) => {
    const ref = tasks[scheme];
    store.editReceipt(ref, 1, change);
    const target = (await store.judge(ref))[1];
    expect(target).toMatchObject({ verdict, check });
    expect(target?.message).toMatch(message);
    await expectNoTick(store, ref, [target?.id ?? '']);
  });

  it('is each one that a receipt has', () => {
    const tried = new Set(FIELD_CASES.map(([name]) => name.split(',')[0]));
    for (const field of Object.keys(bench.receipts[scheme][1] ?? {})) expect(tried).toContain(field);
  });

  it('by milliseconds alone is found by the statement', async () => {
    const ref = tasks[scheme];
    const at = new Date(bench.receipts[scheme][1]?.completed_at ?? '');
    at.setMilliseconds((at.getMilliseconds() + 7) % 1000);
    store.editReceipt(ref, 1, { completed_at: at.toISOString() });
    expect((await store.judge(ref))[1]).toMatchObject({ verdict: 'invalid', check: 'fields' });
  });
});

describe('a statement', () => {
  const BASE64 = /is not in base64/;
  const payloadOf = (text: string): string => (JSON.parse(text) as { payload: string }).payload;
  const CASES: readonly (readonly [string, (text: string) => string, ReceiptCheck['check'], RegExp])[] = [
    ['cut in half', (text) => text.slice(0, text.length / 2), 'envelope', /is truncated or not JSON/],
    ['emptied', () => '', 'envelope', /is truncated or not JSON/],
    ['null', () => 'null', 'envelope', /lacks a payload/],
    ['without signatures', (text) => text.replace(/"signatures":\[.*\]/, '"signatures":[]'), 'envelope', /lacks/],
    ['with two signatures', (text) => text.replace(/\[(.*)\]/, '[$1,$1]'), 'envelope', /has 2 signatures, not one/],
    [
      'of another type',
      (text) => text.replace('vnd.in-toto', 'vnd.other'),
      'envelope',
      /of type "application\/vnd.other/,
    ],
    [
      'with a cut payload',
      (text) => text.replace(/"payload":"..../, '"payload":"'),
      'statement_signature',
      /was altered/,
    ],
    [
      'with an altered payload',
      (text) => text.replace(/(?<="payload":".{40})./, 'A'),
      'statement_signature',
      /altered/,
    ],
    ['with a padded payload', (text) => text.replace(payloadOf(text), `${payloadOf(text)} `), 'envelope', BASE64],
    ['with base64url', (text) => text.replace(/"sig":"(.*?)=*"/, '"sig":"-$1"'), 'envelope', BASE64],
    ['without a key id', (text) => text.replace(/"keyid":"[0-9a-f]*",/, ''), 'chain', /differs from the one recorded/],
    [
      'of an unknown key',
      (text) => text.replace(/"keyid":"./, '"keyid":"x'),
      'key',
      /public key that it names is not known/,
    ],
    ['laid out anew', (text) => JSON.stringify(JSON.parse(text), null, 2), 'chain', /differs from the one recorded/],
    ['without its line feed', (text) => text.trimEnd(), 'chain', /differs from the one recorded/],
    ['with a field more', (text) => text.replace('{', '{"note":1,'), 'chain', /differs from the one recorded/],
  ];

  it.each(CASES)('is refused: %s', async (_name, change, check, message) => {
    store.editEnvelope(tasks.hd, bench.id(1), change);
    const target = (await store.judge(tasks.hd))[1];
    expect(target?.verdict).toMatch(/^(invalid|unknown_key)$/);
    expect(target?.check).toBe(check);
    expect(target?.message).toMatch(message);
    await expectNoTick(store, tasks.hd, [bench.id(1)]);
  });

  it.each<[string, () => void, ReceiptCheck['check'], RegExp]>([
    ['deleted', () => rmSync(store.envelope(tasks.hd, bench.id(1))), 'envelope', /removed or never written/],
    ['a folder', () => toFolder(store.envelope(tasks.hd, bench.id(1))), 'envelope', /is truncated or not JSON/],
    ['a link', () => toLink(store.envelope(tasks.hd, bench.id(1))), 'envelope', /is truncated or not JSON/],
  ])('is refused: %s', async (_name, tamper, check, message) => {
    tamper();
    const target = (await store.judge(tasks.hd))[1];
    expect(target).toMatchObject({ verdict: 'invalid', check });
    expect(target?.message).toMatch(message);
    await expectNoTick(store, tasks.hd, [bench.id(1)]);
  });

  // Of hd, another receipt's statement has another key, which is what is seen of it first.
  it.each<['hd' | 'ed25519', boolean, ReceiptCheck['check'], RegExp]>([
    ['hd', true, 'statement_signature', /another key made it/],
    ['hd', false, 'statement_signature', /another key made it/],
    ['ed25519', true, 'fields', /from the statement: receipt_id, command/],
    ['ed25519', false, 'fields', /from the statement: receipt_id, command/],
  ])("is refused: another's (%s, copied: %s)", async (scheme, copied, check, message) => {
    const [a, b] = [0, 1].map((at) => store.envelope(tasks[scheme], bench.id(at, scheme))) as [string, string];
    const [first, second] = [readFileSync(a), readFileSync(b)];
    writeFileSync(b, first);
    if (!copied) writeFileSync(a, second);
    const all = await store.judge(tasks[scheme]);
    for (const target of copied ? all.slice(1, 2) : all.slice(0, 2)) {
      expect(target).toMatchObject({ verdict: 'invalid', check });
      expect(target.message).toMatch(message);
    }
    expect(all[2]?.verdict).toBe('valid');
    await expectNoTick(store, tasks[scheme], bench.ids(scheme).slice(copied ? 1 : 0, 2));
  });

  it.each(['hd', 'ed25519'] as const)('of each receipt (%s) gone with its folder: all are invalid', async (scheme) => {
    rmSync(store.file(tasks[scheme], 'receipts'), { recursive: true });
    for (const each of await store.judge(tasks[scheme])) {
      expect(each).toMatchObject({ verdict: 'invalid', check: 'envelope' });
    }
    await expectNoTick(store, tasks[scheme], bench.ids(scheme));
  });

  function toFolder(file: string): void {
    rmSync(file);
    mkdirSync(file);
  }

  function toLink(file: string): void {
    renameSync(file, `${file}.away`);
    symlinkSync(`${file}.away`, file);
  }
});
