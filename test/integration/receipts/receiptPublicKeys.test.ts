import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { SIGNING_SCHEMES } from '../../../src/core/receipt/receipt';
import { PUBLIC_KEYS_FILE, parsePublicKeys } from '../../../src/signing/publicKeys';
import { TaskIndexes } from '../../../src/store/task/taskIndexes';
import { KeyFolders, errorOf } from '../../support/fixtures/receipts/keyFolders';
import { type StoreCopy, TamperBench } from '../../support/fixtures/receipts/receiptStore';
import { contentsOf, makeStore } from '../../support/fixtures/store';
import { WorkerPool } from '../../support/processes/workerPool';

describe('public keys', () => {
  let keys: KeyFolders;
  beforeEach(() => {
    keys = new KeyFolders();
  });
  afterEach(() => {
    keys.dispose();
  });

  it('of every key that ever signed are kept', async () => {
    const ids: string[] = [];
    for (const turn of [0, 1, 2]) {
      ids.push(unwrap(await keys.manager(turn === 1 ? 'ed25519' : 'hd').newSigner({ task: 0, receipt: 0 })).keyId);
      for (const name of keys.names().filter((each) => each.startsWith('master'))) rmSync(keys.file(name));
    }
    expect(new Set(ids).size).toBe(3);
    expect(unwrap(parsePublicKeys(keys.text(PUBLIC_KEYS_FILE))).map(({ keyid }) => keyid)).toEqual(ids);
  });

  const CORRUPT: readonly string[] = [
    '',
    '{',
    'null',
    '{"schema_version":"1.0"}',
    '{"schema_version":"1.0","keys":[{}]}',
  ];
  it.each(CORRUPT)('that can not be read (%j) are set aside when something is signed', async (text) => {
    unwrap(await keys.manager().load());
    const good = keys.text(PUBLIC_KEYS_FILE);
    keys.put(PUBLIC_KEYS_FILE, text, 0o644);
    unwrap(await keys.manager().load());
    expect(keys.text(PUBLIC_KEYS_FILE)).toBe(good);
    const [aside = ''] = keys.names().filter((name) => name.startsWith(`${PUBLIC_KEYS_FILE}.corrupt-`));
    expect(keys.text(aside)).toBe(text);
    expect(keys.log.lines.filter((line) => line.startsWith('warn')).join()).toContain('It was set aside');
  });
});

describe('verification', () => {
  let bench: TamperBench;
  let store: StoreCopy;
  beforeAll(async () => {
    bench = await TamperBench.make();
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
  const PRIVATE = ['master.key', 'master.key.bak', 'master.ed25519.key', 'master.ed25519.key.bak'];
  const verdicts = async (scheme: 'hd' | 'ed25519'): Promise<string[]> =>
    (await store.judge(bench.tasks[scheme])).map(({ verdict }) => verdict);

  it.each(SIGNING_SCHEMES)('needs public keys only (%s), and makes no private one', async (scheme) => {
    for (const name of PRIVATE) rmSync(store.key(name));
    const before = contentsOf(store.root);
    expect(await verdicts(scheme)).toEqual(['valid', 'valid', 'valid']);
    expect(contentsOf(store.root)).toEqual(before);
  });

  it.each(SIGNING_SCHEMES)('derives them (%s) in memory where they were not published', async (scheme) => {
    rmSync(store.key(PUBLIC_KEYS_FILE));
    const before = contentsOf(store.root);
    expect(await verdicts(scheme)).toEqual(['valid', 'valid', 'valid']);
    expect(contentsOf(store.root)).toEqual(before);
  });

  it('without any key says so, and makes none', async () => {
    for (const name of [...PRIVATE, PUBLIC_KEYS_FILE]) rmSync(store.key(name));
    const before = contentsOf(store.root);
    expect(await verdicts('hd')).toEqual(['unknown_key', 'unknown_key', 'unknown_key']);
    expect(contentsOf(store.root)).toEqual(before);
  });

  it.each(['{"keys":', 'the private key'])('fails where the public keys are %s, and leaves them', async (text) => {
    const secret = readFileSync(store.key('master.key'), 'utf8');
    writeFileSync(store.key(PUBLIC_KEYS_FILE), text === 'the private key' ? secret : text);
    const before = contentsOf(store.root);
    const receipts = await store.atlas().receipts();
    const error = errorOf(await receipts.reports(store.stored(bench.tasks.hd)));
    expect(error).toMatchObject({ code: 'key_format' });
    expect(error.message).not.toContain(secret.slice(0, 6));
    expect(contentsOf(store.root)).toEqual(before);
  });

  it('of a file of public keys with a private one in it is refused; the key is in no message', async () => {
    const xprv = readFileSync(store.key('master.key'), 'utf8').trim();
    const text = readFileSync(store.key(PUBLIC_KEYS_FILE), 'utf8');
    const { createHash } = await import('node:crypto');
    const keyid = createHash('sha256').update(xprv).digest('hex');
    const leaked = text.replace(/xpub\w+/, xprv).replace(/(?<="keyid": ")[0-9a-f]+/, keyid);
    writeFileSync(store.key(PUBLIC_KEYS_FILE), leaked);
    const receipts = await store.atlas().receipts();
    const error = errorOf(await receipts.reports(store.stored(bench.tasks.hd)));
    expect(error).toMatchObject({ code: 'key_format', message: expect.stringContaining('a private key') as string });
    expect(`${error.message} ${error.hint ?? ''}`).not.toMatch(/xprv/);
  });

  it('goes on with old receipts after the key was replaced by a new one', async () => {
    for (const name of PRIVATE) rmSync(store.key(name));
    const keys = new KeyFolders();
    renameSync(store.key(PUBLIC_KEYS_FILE), `${keys.path}.json`);
    keys.put(PUBLIC_KEYS_FILE, readFileSync(`${keys.path}.json`, 'utf8'), 0o644);
    unwrap(await keys.manager('hd').load());
    writeFileSync(store.key(PUBLIC_KEYS_FILE), keys.text(PUBLIC_KEYS_FILE));
    expect(unwrap(parsePublicKeys(keys.text(PUBLIC_KEYS_FILE)))).toHaveLength(3);
    keys.dispose();
    expect(await verdicts('hd')).toEqual(['valid', 'valid', 'valid']);
    expect(await verdicts('ed25519')).toEqual(['valid', 'valid', 'valid']);
  });

  it('sees keys that change while a process lives', async () => {
    const receipts = await store.atlas().receipts();
    const stored = store.stored(bench.tasks.hd);
    const of = async (): Promise<string[]> =>
      [...unwrap(await receipts.reports(stored)).values()].map(({ verdict }) => verdict);
    expect(await of()).toEqual(['valid', 'valid', 'valid']);
    writeFileSync(store.key(PUBLIC_KEYS_FILE), '{"schema_version":"1.0","keys":[]}');
    expect(await of()).toEqual(['unknown_key', 'unknown_key', 'unknown_key']);
  });
});

describe('several processes', () => {
  let pool: WorkerPool;
  beforeAll(async () => {
    pool = await WorkerPool.open();
  });
  afterAll(async () => {
    await pool.close();
  });

  it.each(SIGNING_SCHEMES)('that need the first key (%s) at once make one', async (scheme) => {
    const store = makeStore();
    const workers = [0, 1, 2, 3].map(() => pool.start('key', store.root, [scheme]));
    const ids = new Set((await Promise.all(workers.map((worker) => worker.done()))).flat());
    expect(ids.size).toBe(1);
    const published = unwrap(parsePublicKeys(readFileSync(`${store.root}/keys/${PUBLIC_KEYS_FILE}`, 'utf8')));
    expect(published.map(({ keyid }) => keyid)).toEqual([...ids]);
    store.dispose();
  });

  it('and one process number tasks each once', async () => {
    const store = makeStore();
    const { ports } = store.other();
    const workers = [0, 1, 2].map(() => pool.start('indexes', store.root, ['8']));
    const own = await Promise.all(Array.from({ length: 8 }, async () => new TaskIndexes(ports).next()));
    const others = (await Promise.all(workers.map((worker) => worker.done()))).flat().map(Number);
    const all = [...own.map((result) => unwrap(result)), ...others].sort((a, b) => a - b);
    expect(all).toEqual(Array.from({ length: 32 }, (_, index) => index));
    writeFileSync(`${ports.paths.keys}/next-task-index`, 'many');
    expect(errorOf(await new TaskIndexes(ports).next())).toMatchObject({ code: 'damaged' });
    store.dispose();
  });
});
