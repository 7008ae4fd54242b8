import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ValidationReceipt } from '../../../src/core/task/taskRecord';
import { ed25519Entry } from '../../../src/signing/publicKeys';
import { BuiltCli, type Said } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';
import { GO } from '../../support/fixtures/receipts/goReceipt';

/* Receipts that somebody without the key makes from true ones, against the built command. */

interface Bundle {
  receipts: ValidationReceipt[];
  history: unknown[];
  chain: unknown[];
  envelopes: Record<string, string>;
  keys: Record<string, unknown>[];
}

let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterAll(() => {
  cli.dispose();
});

/** A bundle of one run of a command, signed by a key of the store. */
async function bundleOf(desk: Desk, scheme: string, command: string): Promise<Bundle> {
  desk.settings({ signing: { scheme } });
  await desk.running('task');
  await desk.run('validate', '--command', command);
  await desk.ok('receipts', 'export', '--output', 'true.json', '--force');
  return JSON.parse(readFileSync(path.join(desk.folder, 'true.json'), 'utf8')) as Bundle;
}

/** What is left of a bundle when everything that a short receipt lacks is taken away. */
function stripped(bundle: Bundle, change: (receipt: ValidationReceipt) => Partial<ValidationReceipt>): Bundle {
  const receipts = bundle.receipts.map(({ attempt: _attempt, ...receipt }) => ({ ...receipt, ...change(receipt) }));
  return { ...bundle, receipts, history: [], chain: [], envelopes: {} };
}

describe.concurrent('a receipt forged without its key', { timeout: 60_000 }, () => {
  const verify = async (desk: Desk, bundle: object, ...more: readonly string[]): Promise<Said> => {
    desk.write('forged.json', JSON.stringify(bundle));
    return desk.run('receipts', 'verify', 'forged.json', ...more);
  };
  const keysOf = (desk: Desk): string => path.join(desk.root, 'keys', 'receipts.pub.json');

  it('by a | in its command, which moves the fields of the signed text, is invalid', async () => {
    const desk = new Desk(cli, 'shifted');
    const bundle = await bundleOf(desk, 'ed25519', 'false # |0|aa');
    const forged = stripped(bundle, ({ stdout_hash: stdout, stderr_hash: stderr, exit_code: code }) => ({
      command: 'false # ',
      exit_code: 0,
      stdout_hash: 'aa',
      stderr_hash: `${code}|${stdout}|${stderr}`,
    }));
    for (const more of [[], ['--allow-short'], ['--keys', keysOf(desk), '--allow-short']]) {
      const { code, out } = await verify(desk, forged, ...more);
      expect(code, out).toBe(5);
      expect(out).toContain('Failed Check: form');
    }
  });

  it.each(['ed25519', 'hd'])('by taking its statement away is invalid for a key of ours (%s)', async (scheme) => {
    const desk = new Desk(cli, `stripped ${scheme}`);
    const bundle = await bundleOf(desk, scheme, 'true');
    expect((await verify(desk, bundle)).code).toBe(0);
    // A hash that is cut as the Go ATLAS does would not be the signed one; without a hash of its output it is told by the key.
    const forged = stripped(bundle, () => ({}));
    for (const more of [[], ['--allow-short'], ['--keys', keysOf(desk), '--allow-short']]) {
      const { code, out } = await verify(desk, forged, ...more);
      expect(code, out).toBe(5);
      expect(out).toContain('Signature: INVALID');
    }
  });

  it('is told by the key, which a later run publishes as ours where an older version did not', async () => {
    const desk = new Desk(cli, 'by the key');
    await bundleOf(desk, 'ed25519', 'true');
    const file = keysOf(desk);
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('"statements": "always"');
    writeFileSync(file, text.replace(/,\s*"statements": "always"/u, ''));
    await desk.run('step', 'start');
    await desk.run('validate', '--command', 'true');
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('is none where the Go ATLAS signed it, which is said, and enough only where that is asked for', async () => {
    const desk = new Desk(cli, 'short');
    const entry = ed25519Entry(Buffer.from(GO.masterKey.slice(64), 'hex'));
    const task = { workspace_id: 'w', task_id: 't' };
    const rest = { format: 'atlas-receipts', schema_version: '1.0', exported_at: '2026-01-17T15:00:00Z', task };
    const own = { receipts: [], history: [], chain: [], envelopes: {}, keys: [entry] };
    const bundle = { ...rest, ...own, receipts: [GO.receipt] };
    const refused = await verify(desk, bundle);
    expect(refused.code, refused.err).toBe(5);
    expect(refused.out).toContain('It does not prove which files the command ran on');
    expect(refused.out).toContain('add --allow-short');
    const accepted = await verify(desk, bundle, '--allow-short');
    expect(accepted.code, accepted.out + accepted.err).toBe(0);
    expect(accepted.out).toContain('It does not prove which files the command ran on');
  });
});
