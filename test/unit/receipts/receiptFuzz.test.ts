import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { RecordedEvent, ValidationReceipt } from '../../../src/core/task/taskRecord';
import {
  type ChainLink,
  type ReceiptReport,
  type SigningScheme,
  SIGNING_SCHEMES,
  makeStatement,
  recordedReceipts,
  signingText,
} from '../../../src/core/receipt/receipt';
import { sealStatement, sha256Hex } from '../../../src/signing/envelope';
import { openPublicKeys } from '../../../src/signing/publicKeys';
import { SignatureVerifier } from '../../../src/signing/signatureVerifier';
import { loadWasm } from '../../../src/signing/secp256k1';
import { ReceiptVerifier, type TaskReceipts } from '../../../src/signing/verdict';
import * as ecdsa from '../../support/fixtures/receipts/ecdsa';
import { Random, mutateBytes, mutateJson } from '../../support/faults/fuzz';
import { memoryKeys } from '../../support/fixtures/receipts/memoryKeys';

/** How many random changes are judged; 100,000 take about a minute. */
const CHANGES = Number(process.env['ATLAS_FUZZ'] ?? '3000');
const SEED = process.env['ATLAS_FUZZ_SEED'];
const COUNT = 3;

/** A task with receipts, as verification sees it, and what judges it. */
interface Sample {
  readonly judge: ReceiptVerifier;
  readonly receipts: readonly ValidationReceipt[];
  readonly history: readonly RecordedEvent[];
  readonly envelopes: ReadonlyMap<string, Uint8Array>;
}

async function makeSample(scheme: SigningScheme): Promise<Sample> {
  const { manager, published } = await memoryKeys(scheme);
  const receipts: ValidationReceipt[] = [];
  const history: RecordedEvent[] = [];
  const envelopes = new Map<string, Uint8Array>();
  for (let at = 0; at < COUNT; at += 1) {
    const signer = unwrap(await manager.newSigner({ task: 4, receipt: at }));
    const receipt: ValidationReceipt = {
      ...{ receipt_id: `rcpt-0000000${at}`, step_name: 'build', attempt: 1, command: `echo ${at}`, exit_code: 0 },
      ...{ started_at: '2026-11-22T03:00:00.000Z', completed_at: '2026-11-22T03:00:01.000Z', duration: '1s' },
      ...{ stdout_hash: randomBytes(32).toString('hex'), stderr_hash: '', key_path: signer.keyPath, signature: '' },
    };
    const signature = signer.sign(Buffer.from(signingText(receipt)), 'text');
    receipt.signature = Buffer.from(signature).toString('hex');
    const last = recordedReceipts(history).at(-1);
    const previous = last === undefined ? null : { receipt_id: last.receiptId, sha256: last.envelopeSha256 };
    const link: ChainLink = { sequence: at + 1, previous };
    const run = { argv: ['sh'], working_directory: '/', ended: 'exit' as const, stdout_bytes: 0, stderr_bytes: 0 };
    const tree = { before: null, after: null, changed: [], changed_count: 0, head: null, branch: null };
    const task = { workspace_id: 'w', task_id: 't', step_index: 0 };
    const statement = makeStatement({ receipt, task, run, tree, chain: link, commandSha256: '' });
    const envelope = Buffer.from(sealStatement(statement, signer));
    const details = { receipt_id: receipt.receipt_id, envelope_sha256: sha256Hex(envelope), chain_count: at + 1 };
    const state = 'step_validating';
    history.push({ timestamp: receipt.completed_at, from_state: state, to_state: state, trigger: 'receipt', details });
    receipts.push(receipt);
    envelopes.set(receipt.receipt_id, envelope);
  }
  const keys = unwrap(await openPublicKeys(published));
  const curve = await loadWasm();
  return { judge: new ReceiptVerifier(new SignatureVerifier(keys, () => curve)), receipts, history, envelopes };
}

/** The verdict on one receipt after something of it was replaced. */
function judge(
  sample: Sample,
  at: number,
  replaced: { receipt?: ValidationReceipt; envelope?: Uint8Array },
): ReceiptReport {
  const original = sample.receipts[at];
  if (original === undefined) throw new Error('no such receipt');
  const receipt = replaced.receipt ?? original;
  const receipts = sample.receipts.map((each, index) => (index === at ? receipt : each));
  const task: TaskReceipts = {
    ...{ workspaceId: 'w', taskId: 't', hook: { receipts, history: [...sample.history] } },
    recorded: recordedReceipts([...sample.history]),
    envelope: (id) => (id === original.receipt_id ? replaced.envelope : undefined) ?? sample.envelopes.get(id),
  };
  return sample.judge.judge(task, receipt);
}

describe.each(SIGNING_SCHEMES)('random changes (%s)', { timeout: 600_000 }, (scheme) => {
  let sample: Sample;
  beforeAll(async () => {
    sample = await makeSample(scheme);
  });
  const receiptAt = (at: number): ValidationReceipt => sample.receipts[at] ?? expect.fail('no receipt');
  const envelopeAt = (at: number): Uint8Array => sample.envelopes.get(receiptAt(at).receipt_id) ?? new Uint8Array();

  /** Judges changes until there were enough of them, and says with what seed one came through. */
  function fuzz(share: number, change: (random: Random) => ReceiptReport | undefined): Record<string, number> {
    const random = new Random(SEED === undefined ? undefined : Number(SEED));
    const verdicts: Record<string, number> = {};
    let judged = 0;
    for (let turn = 0; judged < (CHANGES * share) / SIGNING_SCHEMES.length; turn += 1) {
      const where = `ATLAS_FUZZ_SEED=${random.seed}, change ${turn}`;
      let report: ReceiptReport | undefined;
      try {
        report = change(random);
      } catch (error) {
        throw new Error(`an exception: ${where}`, { cause: error });
      }
      if (report === undefined) continue;
      judged += 1;
      verdicts[report.verdict] = (verdicts[report.verdict] ?? 0) + 1;
      if (report.verdict === 'valid' || report.verdict === 'valid_short') expect.fail(`${report.verdict}: ${where}`);
    }
    if (CHANGES > 10_000) console.log(`${scheme}: ${judged} changes, seed ${random.seed}: ${JSON.stringify(verdicts)}`);
    return verdicts;
  }

  it('begin with valid receipts', () => {
    for (let at = 0; at < COUNT; at += 1) expect(judge(sample, at, {}).verdict).toBe('valid');
  });

  it("of a receipt's signature make it invalid", () => {
    const verdicts = fuzz(0.4, (random) => {
      const at = random.below(COUNT);
      const receipt = receiptAt(at);
      const bytes = Buffer.from(receipt.signature, 'hex');
      const other = Buffer.from(receiptAt(random.below(COUNT)).signature, 'hex');
      const signature = random.pick([
        () => Buffer.from(mutateBytes(bytes, random, other)).toString('hex'),
        () => Buffer.from(mutateBytes(Buffer.from(receipt.signature), random, Buffer.from('0x'))).toString('latin1'),
        () => receipt.signature.toUpperCase(),
        () => (scheme === 'hd' ? Buffer.from(altered(bytes, random)).toString('hex') : `${receipt.signature}00`),
      ])();
      return signature === receipt.signature ? undefined : judge(sample, at, { receipt: { ...receipt, signature } });
    });
    expect(Object.keys(verdicts).filter((verdict) => verdict !== 'unsigned')).toEqual(['invalid']);
  });

  it('of the bytes of a statement make it invalid', () => {
    fuzz(0.3, (random) => {
      const at = random.below(COUNT);
      const bytes = envelopeAt(at);
      const envelope = mutateBytes(bytes, random, envelopeAt(random.below(COUNT)));
      return Buffer.from(envelope).equals(bytes) ? undefined : judge(sample, at, { envelope });
    });
  });

  it('of what a statement says make it invalid', () => {
    fuzz(0.2, (random) => {
      const at = random.below(COUNT);
      const whole = JSON.parse(Buffer.from(envelopeAt(at)).toString()) as { payload: string };
      const inside = (): unknown => {
        const statement: unknown = JSON.parse(Buffer.from(whole.payload, 'base64').toString());
        const changed = JSON.stringify(mutateJson(statement, random));
        return { ...whole, payload: Buffer.from(changed).toString('base64') };
      };
      const changed = random.below(2) === 0 ? inside() : mutateJson(whole, random);
      const envelope = Buffer.from(`${JSON.stringify(changed)}\n`);
      return envelope.equals(envelopeAt(at)) ? undefined : judge(sample, at, { envelope });
    });
  });

  it('of a receipt make it invalid', () => {
    fuzz(0.1, (random) => {
      const at = random.below(COUNT);
      const receipt = receiptAt(at);
      const keys = Object.keys(receipt);
      const key = keys[random.below(keys.length)] ?? 'command';
      const value = receipt[key];
      const bytes = Buffer.from(String(value));
      const text = Buffer.from(mutateBytes(bytes, random, Buffer.from('0x|\u{1F4A5}'))).toString('utf8');
      const changed = typeof value === 'number' ? value + 1 + random.below(300) : text;
      if (changed === value || (key.endsWith('_at') && Number.isNaN(Date.parse(String(changed))))) return undefined;
      return judge(sample, at, { receipt: { ...receipt, [key]: changed } });
    });
  });
});

/** Another strict DER signature: what gets past the check of its form. */
function altered(signature: Uint8Array, random: Random): Uint8Array {
  const { r, s } = ecdsa.fromDer(signature);
  const delta = BigInt(1 + random.below(1000));
  return random.pick([
    () => ecdsa.toDer(r, ecdsa.ORDER - s),
    () => ecdsa.toDer(r, s > delta ? s - delta : s + delta),
    () => ecdsa.toDer(r > delta ? r - delta : r + delta, s),
    () => ecdsa.toDer(s, r),
    () => ecdsa.toDer(delta, s),
    () => ecdsa.toDer(r, delta),
  ])();
}
