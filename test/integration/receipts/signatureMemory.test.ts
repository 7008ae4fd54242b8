import {
  chmodSync,
  copyFileSync,
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GoodSignatures, openGoodSignatures } from '../../../src/signing/goodSignatures';
import { type StoreCopy, TamperBench } from '../../support/fixtures/receipts/receiptStore';

/* Signatures that earlier processes found good: remembered, and never to be taken for more. */

let bench: TamperBench;
let store: StoreCopy;
let file: string;

beforeAll(async () => {
  bench = await TamperBench.make();
}, 60_000);
afterAll(() => {
  bench.dispose();
});
beforeEach(() => {
  store = bench.copy();
  file = store.file(bench.tasks.hd, 'verified');
});
afterEach(() => {
  store.dispose();
});

const key = (): string => readFileSync(store.key('verdicts.key'), 'utf8').trim();
const verdicts = async (): Promise<string[]> => (await store.judge(bench.tasks.hd)).map(({ verdict }) => verdict);
const VALID = ['valid', 'valid', 'valid'];

/** Has the memory say that all is good that is asked of it, sealed with this key: what who can write files would do. */
async function forge(sealedWith: string): Promise<void> {
  const known = openGoodSignatures(readFileSync(file, 'latin1'), key());
  const [by] = known.values();
  if (by === undefined) throw new Error('nothing is remembered');
  const forged = new GoodSignatures(known);
  const get = (digest: string): undefined => {
    forged.add(digest, by);
  };
  const asked = { get, add: () => undefined };
  const service = await store.atlas().receipts();
  Object.assign(service, { memory: { of: () => asked } });
  await service.reports(store.stored(bench.tasks.hd));
  writeFileSync(file, forged.sealed(sealedWith, new Map()));
}

describe('what was found good', () => {
  it('is kept for both signatures of each receipt, by a key that only its user can read', () => {
    expect(openGoodSignatures(readFileSync(file, 'latin1'), key()).size).toBe(6);
    if (process.platform !== 'win32') expect(statSync(store.key('verdicts.key')).mode & 0o777).toBe(0o600);
  });

  it('is all that is asked: without the curve, the verdicts are the same', async () => {
    const service = await store.atlas().receipts();
    let loads = 0;
    Object.assign(service, { curve: () => Promise.reject(new Error(`asked ${(loads += 1)} times`)) });
    const reports = await service.reports(store.stored(bench.tasks.hd));
    expect(reports.ok && [...reports.value.values()].map(({ verdict }) => verdict)).toEqual(VALID);
    rmSync(file);
    const other = await store.atlas().receipts();
    Object.assign(other, { curve: () => Promise.reject(new Error(`asked ${(loads += 1)} times`)) });
    await expect(other.reports(store.stored(bench.tasks.hd))).rejects.toThrow('asked 1 times');
  });

  it('does not make a receipt good that was changed since', async () => {
    store.editReceipt(bench.tasks.hd, 1, { exit_code: 1 });
    expect(await verdicts()).toEqual(['valid', 'invalid', 'valid']);
  });

  it('does not count for a key that is no longer published', async () => {
    writeFileSync(store.key('receipts.pub.json'), '{"schema_version":"1.0","keys":[]}\n');
    expect(await verdicts()).toEqual(['unknown_key', 'unknown_key', 'unknown_key']);
  });

  it('is asked for again where a byte of it is another', async () => {
    const bytes = readFileSync(file);
    for (const at of [0, 70, 100, 250, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(openGoodSignatures(changed.toString('latin1'), key()).size).toBe(0);
    }
    for (const text of ['', '\n', 'a', `${'0'.repeat(64)}\natlas-good-signatures-v1`, `\n${bytes.toString('latin1')}`])
      expect(openGoodSignatures(text, key()).size).toBe(0);
    expect(await verdicts()).toEqual(VALID);
  });

  it('is not taken from who could not read the key', async () => {
    store.editReceipt(bench.tasks.hd, 1, { stdout_hash: 'f'.repeat(64) });
    const own = key();
    await forge('0'.repeat(64));
    expect((await store.judge(bench.tasks.hd))[1]).toMatchObject({ verdict: 'invalid', check: 'signature' });
    // Who can read it can read the signing key too, and need not forge. Even so the statement gives it away.
    rmSync(file);
    expect(await store.markdown(bench.tasks.hd)).toContain('Signature: ');
    await forge(own);
    expect((await store.judge(bench.tasks.hd))[1]).toMatchObject({ verdict: 'invalid', check: 'fields' });
  });

  it('helps no other task: a statement says whose it is', async () => {
    const { hd, other } = bench.tasks;
    copyFileSync(file, store.file(other, 'verified'));
    store.edit(other, (hook) => {
      hook.receipts = store.hook(hd).receipts.map((receipt) => ({ ...receipt }));
    });
    for (const id of bench.ids('hd')) copyFileSync(store.envelope(hd, id), store.envelope(other, id));
    for (const { verdict } of await store.judge(other)) expect(verdict).toBe('invalid');
  });

  it.each([
    ['a link', () => symlinkSync('/dev/zero', file)],
    ['too large', () => writeFileSync(file, Buffer.alloc(2 * 1024 * 1024))],
  ])('that is %s is not read', async (_name, put) => {
    rmSync(file);
    put();
    expect(await verdicts()).toEqual(VALID);
  });

  it.each(['verdicts.key', 'verified'])('is made again by the next change where %s is gone', async (name) => {
    rmSync(name === 'verified' ? file : store.key(name));
    expect(await verdicts()).toEqual(VALID);
    expect(await store.markdown(bench.tasks.hd)).toContain('Signature: VALID ✓');
    expect(openGoodSignatures(readFileSync(file, 'latin1'), key()).size).toBe(6);
  });

  it('is written by changes alone: HOOK.md is shown, and receipts are listed, without', async () => {
    rmSync(file);
    rmSync(store.key('verdicts.key'));
    expect(await store.atlas().hookMarkdown(store.stored(bench.tasks.hd))).toContain('Signature: VALID ✓');
    expect(await verdicts()).toEqual(VALID);
    expect([existsSync(file), existsSync(store.key('verdicts.key'))]).toEqual([false, false]);
  });

  it('is not kept where nothing is signed: no key is made there', async () => {
    rmSync(file);
    for (const name of readdirSync(store.key('.'))) if (name.endsWith('.key')) rmSync(store.key(name));
    expect(await store.markdown(bench.tasks.hd)).toContain('Signature: VALID ✓');
    expect([existsSync(file), existsSync(store.key('verdicts.key'))]).toEqual([false, false]);
  });

  it.runIf(process.platform !== 'win32')('does not count where others could have read the key', async () => {
    chmodSync(store.key('verdicts.key'), 0o644);
    store.editReceipt(bench.tasks.hd, 1, { stdout_hash: 'f'.repeat(64) });
    await forge(key());
    expect((await store.judge(bench.tasks.hd))[1]).toMatchObject({ verdict: 'invalid', check: 'signature' });
    expect(statSync(store.key('verdicts.key')).mode & 0o777).toBe(0o644);
  });
});
