import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { ValidationReceipt } from '../../../src/core/task/taskRecord';
import { exportBundle } from '../../../src/service/receipts/receiptBundle';
import { BuiltCli, type Said } from '../../support/drivers/cli';
import { PretendedRuns } from '../../support/fixtures/receipts/signedStore';
import { type TestStore, makeStore } from '../../support/fixtures/store';

/** A bundle's parts that are tampered with here. */
interface Bundle {
  receipts: ValidationReceipt[];
  chain: unknown[];
  keys: { keyid: string; xpub?: string }[];
  envelopes: Record<string, string>;
}

interface Printed {
  readonly success: boolean;
  readonly command: string;
  readonly error?: { code: string; message: string; hint?: string };
  readonly keys: { source: string; key_ids: string[] };
  readonly summary: Record<string, number>;
  readonly receipts: Record<string, unknown>[];
}

const HOSTILE = 'npm test \u001b[2J\u001b]0;owned\u0007\nSignature: VALID ✓ \u202e\u009b31m';

let cli: BuiltCli;
let signer: TestStore;
let stranger: TestStore;
let exported: string;
let publicKeys: string;

async function bundleOf(store: TestStore, commands: readonly (readonly [string, number])[]): Promise<string> {
  const ref = await store.running('task');
  const runs = await PretendedRuns.open(store.atlas);
  await runs.add(
    ref,
    commands.map(([command, exitCode]) => ({ command, exitCode })),
  );
  const receipts = await store.atlas.receipts();
  return unwrap(await exportBundle(receipts, store.atlas.ports.clock, unwrap(store.atlas.catalog.read(ref))));
}

const keysOf = (store: TestStore): string => readFileSync(path.join(store.root, 'keys', 'receipts.pub.json'), 'utf8');

beforeAll(async () => {
  cli = await BuiltCli.open();
  [signer, stranger] = [makeStore(), makeStore()];
  exported = await bundleOf(signer, [
    ['magex lint', 0],
    ['magex test', 0],
  ]);
  publicKeys = keysOf(signer);
  await bundleOf(stranger, [['true', 0]]);
}, 60_000);

afterAll(() => {
  cli.dispose();
  signer.dispose();
  stranger.dispose();
});

afterEach(() => {
  // Whoever checks a bundle gets neither a store nor a key.
  expect(readdirSync(cli.home)).toEqual([]);
});

async function verify(content: unknown, ...options: readonly string[]): Promise<Said> {
  return cli.run('receipts', 'verify', cli.write('bundle.json', content), ...options);
}

function tampered(change: (bundle: Bundle) => void): Bundle {
  const bundle = JSON.parse(exported) as Bundle;
  change(bundle);
  return bundle;
}

function first({ receipts }: Bundle): ValidationReceipt {
  const [receipt] = receipts;
  if (receipt === undefined) throw new Error('no receipt');
  return receipt;
}

describe('atlas receipts verify', () => {
  it('tells of each receipt of a valid bundle and exits with 0', async () => {
    const { code, out, err } = await verify(exported);
    expect(err).toBe('');
    expect(code).toBe(0);
    const { receipt_id: id } = first(JSON.parse(exported) as Bundle);
    expect(out).toContain(`Receipt: ${id}
Step: implement
Command: magex lint
Exit Code: 0
Key Path: m/44'/236'/0'/0/0
Signature: VALID ✓

The validation command ran and completed successfully.
`);
    expect(out).toContain("Key Path: m/44'/236'/0'/0/1");
    expect(out).toContain('\n2 receipts: 2 passed; 2 valid.\nPublic keys, from the bundle itself');
    expect(out).toContain(`\n  ${(JSON.parse(exported) as Bundle).keys[0]?.keyid ?? '?'}\n`);
  });

  it('checks with keys that are trusted, and says so', async () => {
    const said = await verify(exported, '--keys', cli.write('trusted.json', publicKeys));
    expect(said.code).toBe(0);
    expect(said.out).toContain('Public keys, from trusted.json:');
  });

  it('refuses what was signed with another key than the trusted ones', async () => {
    const said = await verify(exported, '--keys', cli.write('trusted.json', keysOf(stranger)));
    expect(said.code).toBe(5);
    expect(said.out).toContain('Signature: UNKNOWN KEY\nFailed Check: key\n');
    expect(said.out).toContain('2 receipts: 2 passed; 2 unknown key.');
    expect(said.out).not.toContain('✓');
  });

  it.each<[string, string, (bundle: Bundle) => void, RegExp]>([
    ['the exit code', 'signature', (bundle) => (first(bundle).exit_code = 7), /a field it covers was changed/],
    [
      'the step',
      'fields',
      (bundle) => (first(bundle).step_name = 'other'),
      /Expected step_name: implement\n +Found step_name: other/,
    ],
    [
      'a statement',
      'envelope',
      (bundle) => (bundle.envelopes[first(bundle).receipt_id] = '{'),
      /is truncated or not JSON/,
    ],
    ['the presence of a statement', 'envelope', (bundle) => (bundle.envelopes = {}), /removed or never written/],
    ['the number of receipts', 'chain', (bundle) => bundle.receipts.pop(), /is now missing/],
    ['the signature', 'signed', (bundle) => (first(bundle).signature = ''), /is not signed/],
  ])('names the check that fails when %s was changed', async (_what, check, change, message) => {
    const said = await verify(tampered(change));
    expect(said.code).toBe(5);
    expect(said.out).toContain(`Failed Check: ${check}\n`);
    expect(said.out).toMatch(message);
  });

  it.each<[string, unknown]>([
    ['no JSON', 'no bundle'],
    ['another document', { receipts: [] }],
    ['an altered public key', tamperedKeys],
    ['no receipt', () => tampered((bundle) => Object.assign(bundle, { receipts: [], history: [], chain: [] }))],
  ])('exits with 5 for %s', async (_what, content) => {
    const said = await verify(typeof content === 'function' ? (content as () => unknown)() : content);
    expect(said.code).toBe(5);
    expect(said.out + said.err).not.toContain('✓');
  });

  it('says of a failed command that it failed', async () => {
    const said = await verify(await bundleOf(signer, [['magex test', 1]]));
    expect(said.code).toBe(0);
    expect(said.out).toContain('Exit Code: 1\n');
    expect(said.out).toContain('Signature: VALID (the command FAILED)\n');
    expect(said.out).toContain('The validation command ran and FAILED: it exited with code 1.');
    expect(said.out).not.toContain('successfully');
  });

  it('makes plain what the bundle says', async () => {
    const bundle = await bundleOf(signer, [[HOSTILE, 0]]);
    const said = await verify(bundle);
    expect(said.code).toBe(0);
    // eslint-disable-next-line no-control-regex -- that is what must not be there
    expect(said.out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/u);
    expect(said.out.split('\n').filter((text) => text.startsWith('Signature:'))).toHaveLength(1);
    const json = await verify(bundle, '--json');
    // eslint-disable-next-line no-control-regex -- that is what must not be there
    expect(json.out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/u);
    expect((JSON.parse(json.out) as Printed).receipts[0]).toMatchObject({ command: HOSTILE, verdict: 'valid' });
  });

  it('answers with one JSON document', async () => {
    const { code, out, err } = await verify(exported, '--json');
    expect([code, err]).toEqual([0, '']);
    const printed = JSON.parse(out) as Printed;
    expect(printed).toMatchObject({
      success: true,
      command: 'receipts verify',
      keys: { source: 'bundle', key_ids: [(JSON.parse(publicKeys) as Bundle).keys[0]?.keyid] },
      summary: { valid: 2, valid_short: 0, invalid: 0, unsigned: 0, unknown_key: 0 },
    });
    expect(printed.error).toBeUndefined();
    expect(printed.receipts[1]).toMatchObject({
      step_name: 'implement',
      attempt: 1,
      command: 'magex test',
      exit_code: 0,
      verdict: 'valid',
      proves_pass: true,
      scheme: 'hd',
      key_path: "m/44'/236'/0'/0/1",
      failed_check: null,
    });
    for (const name of Object.keys(printed.receipts[1] ?? {})) expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
  });

  it('answers with one JSON document when a receipt is not valid', async () => {
    const { code, out } = await verify(
      tampered((bundle) => (first(bundle).command = 'true')),
      '--json',
    );
    expect(code).toBe(5);
    const printed = JSON.parse(out) as Printed;
    expect(printed).toMatchObject({ success: false, error: { code: 'verification_failed' } });
    expect(printed.receipts.map((receipt) => receipt['failed_check'])).toEqual(['signature', null]);
  });

  it('can not both, the bundle and its keys, come from standard input', async () => {
    const said = await cli.runIn({ input: '{}' }, 'receipts', 'verify', '-', '--keys', '-');
    expect(said).toMatchObject({ code: 2 });
    expect(said.err).toContain('cannot both be read from standard input');
  });

  it('says which file is not there and exits with 3', async () => {
    const said = await cli.run('receipts', 'verify', 'nowhere.json');
    expect(said).toEqual({ code: 3, out: '', err: 'atlas: There is no file nowhere.json.\n' });
    const keys = await verify(exported, '--keys', 'nowhere.json', '--json');
    expect(keys.code).toBe(3);
    expect(JSON.parse(keys.out)).toEqual({
      success: false,
      command: 'receipts verify',
      error: { code: 'not_found', message: 'There is no file nowhere.json.' },
    });
  });

  it.each([
    [['receipts', 'verify']],
    [['receipts', 'verify', 'a.json', 'b.json']],
    [['receipts', 'verify', 'a.json', '--fast']],
    [['receipts', 'verify', 'a.json', '--keys']],
    [['receipts', 'burn']],
    [['receipts']],
    [['-x']],
  ])('exits with 2 for %j', async (args) => {
    const said = await cli.run(...args);
    expect(said.code).toBe(2);
    expect(said.out).toBe('');
    expect(said.err).toMatch(/^atlas: .+\nSee: atlas .*--help\n$/);
    const json = await cli.run(...args, '--json');
    expect(json.code).toBe(2);
    expect(JSON.parse(json.out)).toMatchObject({ success: false, error: { code: 'usage' } });
  });

  it('explains itself', async () => {
    const said = await cli.run('receipts', 'verify', '--help');
    expect(said.code).toBe(0);
    expect(said.out).toContain('atlas receipts verify [options] <bundle.json>');
    expect(said.out).toContain('--keys <receipts.pub.json>');
    expect(said.out).toContain('Example:\n  atlas receipts verify receipts.json --keys receipts.pub.json\n');
  });
});

function tamperedKeys(): Bundle {
  return tampered(({ keys }) =>
    Object.assign(keys[0] ?? {}, { xpub: (JSON.parse(keysOf(stranger)) as Bundle).keys[0]?.xpub }),
  );
}
