import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { RecordedEvent, ValidationReceipt } from '../../../src/core/task/taskRecord';
import type { ReceiptCheck, Verdict } from '../../../src/core/receipt/receipt';
import { type BundleReport, exportBundle, verifyBundle } from '../../../src/service/receipts/receiptBundle';
import { type PublicKeyEntry, ed25519Entry } from '../../../src/signing/publicKeys';
import { systemClock } from '../../../src/system/systemPorts';
import { errorOf } from '../../support/fixtures/receipts/keyFolders';
import { memoryKeys } from '../../support/fixtures/receipts/memoryKeys';
import {
  type StoreCopy,
  TAMPERED,
  TamperBench,
  type Tampered,
  judged,
} from '../../support/fixtures/receipts/receiptStore';

/** A bundle, parsed, as somebody sees it who changes it. */
interface Bundle {
  format: string;
  task: { workspace_id: string; task_id: string };
  keys: PublicKeyEntry[];
  receipts: ValidationReceipt[];
  history: RecordedEvent[];
  chain: { receiptId: string; envelopeSha256: string; sequence: number }[];
  envelopes: Record<string, string>;
}

const bundles = {} as Record<Tampered, string>;
let bench: TamperBench;

async function bundleOf(store: StoreCopy, name: Tampered): Promise<string> {
  const service = await store.atlas().receipts();
  return unwrap(await exportBundle(service, systemClock, store.stored(bench.tasks[name])));
}

beforeAll(async () => {
  bench = await TamperBench.make();
  const store = bench.copy();
  for (const name of TAMPERED) bundles[name] = await bundleOf(store, name);
  store.dispose();
  bench.dispose();
}, 60_000);

const parsed = (name: Tampered): Bundle => JSON.parse(bundles[name]) as Bundle;

/** What is said of a bundle after a change; the store that it came from is gone by now. */
async function verify(
  name: Tampered,
  change: (bundle: Bundle) => void,
  trusted?: PublicKeyEntry[],
): Promise<BundleReport> {
  const bundle = parsed(name);
  change(bundle);
  return unwrap(await verifyBundle(JSON.stringify(bundle), trusted));
}

const receiptAt = ({ receipts }: Bundle, at: number): ValidationReceipt => receipts[at] ?? expect.fail('no receipt');
const idAt = (bundle: Bundle, at: number): string => receiptAt(bundle, at).receipt_id;
/** Everything that tells of a receipt but the receipts after it. */
function forget(bundle: Bundle, id: string): void {
  bundle.receipts = bundle.receipts.filter((receipt) => receipt.receipt_id !== id);
  bundle.history = bundle.history.filter(({ details }) => details?.['receipt_id'] !== id);
  bundle.chain = bundle.chain.filter(({ receiptId }) => receiptId !== id);
  Reflect.deleteProperty(bundle.envelopes, id);
}

describe('a bundle', () => {
  it.each(TAMPERED)('of %s is valid without the store that it came from, and holds no private key', async (name) => {
    const report = await verify(name, () => undefined);
    expect(report.passed).toBe(true);
    expect(report.reports.map(({ verdict }) => verdict)).toEqual(['valid', 'valid', 'valid']);
    expect(report).toMatchObject({ workspaceId: bench.tasks[name].workspace, taskId: bench.tasks[name].id });
    expect(report.keyIds.length).toBeGreaterThan(0);
    expect(bundles[name]).not.toMatch(/xprv/);
  });

  const CASES: [string, (bundle: Bundle) => void, number, ReceiptCheck['check'], Verdict?][] = [
    ['a command changed', (b) => (receiptAt(b, 1).command = 'true'), 1, 'signature'],
    ['an exit code changed', (b) => (receiptAt(b, 1).exit_code = 1), 1, 'signature'],
    ['an attempt changed', (b) => (receiptAt(b, 1).attempt = 2), 1, 'fields'],
    ['a step changed', (b) => (receiptAt(b, 1).step_name = 'after'), 1, 'fields'],
    ['a field more', (b) => Object.assign(receiptAt(b, 1), { note: 'x' }), 1, 'fields'],
    ['a signature emptied', (b) => (receiptAt(b, 1).signature = ''), 1, 'signed', 'unsigned'],
    ['a statement gone', (b) => Reflect.deleteProperty(b.envelopes, idAt(b, 1)), 1, 'envelope'],
    ['all statements gone', (b) => (b.envelopes = {}), 0, 'envelope'],
    ['a statement cut', (b) => (b.envelopes[idAt(b, 1)] = b.envelopes[idAt(b, 1)]?.slice(0, 99) ?? ''), 1, 'envelope'],
    ['a statement laid out anew', (b) => (b.envelopes[idAt(b, 1)] = `${b.envelopes[idAt(b, 1)] ?? ''} `), 1, 'chain'],
    ["another's statement", (b) => (b.envelopes[idAt(b, 1)] = b.envelopes[idAt(b, 0)] ?? ''), 1, 'statement_signature'],
    ['two receipts swapped', (b) => b.receipts.reverse(), 0, 'chain'],
    ['the first dropped', (b) => b.receipts.shift(), 0, 'chain'],
    ['the last dropped', (b) => b.receipts.pop(), 0, 'chain'],
    ['one there twice', (b) => b.receipts.push(receiptAt(b, 2)), 2, 'chain'],
    ['the first forgotten everywhere', (b) => forget(b, idAt(b, 0)), 0, 'chain'],
    ['the middle one forgotten everywhere', (b) => forget(b, idAt(b, 1)), 1, 'chain'],
    ['the last dropped, also from the chain', (b) => [b.receipts.pop(), b.chain.pop()], 0, 'chain'],
    ['another task', (b) => (b.task.task_id = 'task-20260101-000000'), 0, 'place'],
    ['another workspace', (b) => (b.task.workspace_id = 'elsewhere'), 0, 'place'],
    ['its keys gone', (b) => (b.keys = []), 0, 'key', 'unknown_key'],
    ['a chain that could not be followed', (b) => Object.assign(b, { chain_broken: true }), 0, 'chain'],
  ];
  it.each(CASES)('with %s is found out', async (...[, change, at, check, verdict = 'invalid']) => {
    const report = await verify('hd', change);
    expect(report.passed).toBe(false);
    const found = report.reports[at];
    expect(found === undefined ? undefined : judged(found)).toMatchObject({ verdict, check });
  });

  it("with another task's receipt is found out", async () => {
    const other = parsed('other');
    const report = await verify('hd', (bundle) => {
      const added = receiptAt(other, 0);
      bundle.receipts.push(added);
      bundle.envelopes[added.receipt_id] = other.envelopes[added.receipt_id] ?? '';
    });
    expect(report.passed).toBe(false);
    expect(report.reports.at(-1) && judged(report.reports.at(-1) ?? expect.fail())).toMatchObject({ check: 'place' });
  });

  it('with a key whose id is not its own is refused', async () => {
    const bundle = parsed('hd');
    const [first] = bundle.keys;
    if (first !== undefined) first.keyid = 'ab'.repeat(32);
    expect(errorOf(await verifyBundle(JSON.stringify(bundle)))).toMatchObject({ code: 'key_format' });
  });

  it('without receipts proves nothing', async () => {
    const report = await verify('hd', (bundle) => {
      Object.assign(bundle, { receipts: [], history: [], chain: [], envelopes: {} });
    });
    expect(report).toMatchObject({ passed: false, reports: [] });
  });

  it.each(['', '{', 'null', '[]', '{"format":"other"}', '{"format":"atlas-receipts"}'])('is not: %j', async (text) => {
    expect(errorOf(await verifyBundle(text))).toMatchObject({ code: 'verification_failed' });
  });

  it('of a task whose journal was edited says so where it is checked', async () => {
    const world = await TamperBench.make();
    const store = world.copy();
    const ref = world.tasks.hd;
    const line = `${JSON.stringify({ seq: 1, prev: 'x' })}\n`;
    writeFileSync(store.file(ref, 'journal.jsonl'), line);
    const service = await store.atlas().receipts();
    const bundle = unwrap(await exportBundle(service, systemClock, store.stored(ref)));
    const report = unwrap(await verifyBundle(bundle));
    expect(report.reports.map((each) => judged(each).check)).toEqual(['chain', 'chain', 'chain']);
    rmSync(store.root, { recursive: true });
    expect(unwrap(await verifyBundle(bundle)).passed).toBe(false);
    store.dispose();
    world.dispose();
  });
});

describe('trusted keys', () => {
  const keysOf = (name: Tampered): PublicKeyEntry[] => parsed(name).keys;

  it('are used instead of those in the bundle', async () => {
    expect((await verify('hd', (bundle) => (bundle.keys = []), keysOf('hd'))).passed).toBe(true);
    const { published } = await memoryKeys('hd');
    const strange = [...published, ed25519Entry(randomBytes(32))];
    const report = await verify('hd', () => undefined, strange);
    expect(report.passed).toBe(false);
    expect(report.reports.map(({ verdict }) => verdict)).toEqual(['unknown_key', 'unknown_key', 'unknown_key']);
    expect(report.keyIds).toEqual(strange.map(({ keyid }) => keyid));
  });

  it('of another signer are not replaced by keys that the bundle brings', async () => {
    const { published } = await memoryKeys('ed25519');
    const report = await verify('ed25519', (bundle) => bundle.keys.push(...published), published);
    expect(report.reports.map(({ verdict }) => verdict)).toEqual(['unknown_key', 'unknown_key', 'unknown_key']);
  });
});
