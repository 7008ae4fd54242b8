import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { ValidationReceipt } from '../../../src/core/task/taskRecord';
import { ED25519_KEY_PATH, type Verdict, preAuthEncoding, signingText } from '../../../src/core/receipt/receipt';
import { signEd25519, verifyEd25519 } from '../../../src/signing/ed25519';
import { parseEnvelope } from '../../../src/signing/envelope';
import { ed25519Entry, openPublicKeys } from '../../../src/signing/publicKeys';
import { parseEd25519Secret } from '../../../src/signing/secrets';
import { SignatureVerifier, ed25519Message } from '../../../src/signing/signatureVerifier';
import { type Secp256k1, loadWasm } from '../../../src/signing/secp256k1';
import { ReceiptVerifier } from '../../../src/signing/verdict';
import { GO } from '../../support/fixtures/receipts/goReceipt';

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const sha256 = (data: string): string => createHash('sha256').update(data).digest('hex');

/*
 * From https://github.com/secure-systems-lab/dsse/blob/master/protocol.md#test-vectors: not a secret, a published
 * test vector (ECDSA over P-256; the signature is r and s one after the other).
 */
const DSSE = {
  type: 'http://example.com/HelloWorld',
  body: 'hello world',
  encoded: 'DSSEv1 29 http://example.com/HelloWorld 11 hello world',
  x: 46950820868899156662930047687818585632848591499744589407958293238635476079160n,
  y: 5640078356564379163099075877009565129882514886557779369047442380624545832820n,
  envelope:
    '{"payload": "aGVsbG8gd29ybGQ=",\n "payloadType": "http://example.com/HelloWorld",\n "signatures": [{"sig": ' +
    '"A3JqsQGtVsJ2O2xqrI5IcnXip5GToJ3F+FnZ+O88SjtR6rDAajabZKciJTfUiHqJPcIAriEGAHTVeCUjW2JIZA=="}]}',
} as const;

describe("DSSE's published example", () => {
  it('is encoded by us as it says', () => {
    expect(text(preAuthEncoding(DSSE.type, utf8(DSSE.body)))).toBe(DSSE.encoded);
  });

  it('has a signature that is good over our encoding and over no other', () => {
    const coordinate = (value: bigint): string =>
      Buffer.from(value.toString(16).padStart(64, '0'), 'hex').toString('base64url');
    const key = createPublicKey({
      key: { kty: 'EC', crv: 'P-256', x: coordinate(DSSE.x), y: coordinate(DSSE.y) },
      format: 'jwk',
    });
    const { payload, signatures } = JSON.parse(DSSE.envelope) as { payload: string; signatures: { sig: string }[] };
    const body = Buffer.from(payload, 'base64');
    const signature = Buffer.from(signatures[0]?.sig ?? '', 'base64');
    const isGood = (type: string): boolean =>
      verify('sha256', preAuthEncoding(type, body), { key, dsaEncoding: 'ieee-p1363' }, signature);
    expect(isGood(DSSE.type)).toBe(true);
    expect(isGood('application/vnd.in-toto+json')).toBe(false);
  });

  it('is an envelope, but not one of ours: its payload is of another type', () => {
    const parsed = parseEnvelope(utf8(DSSE.envelope));
    expect(parsed).toMatchObject({ ok: false, error: { code: 'verification_failed' } });
    if (!parsed.ok) expect(parsed.error.message).toContain('has a payload of type "http://example.com/HelloWorld"');
  });

  it('counts bytes, not characters, and takes a body as it is', () => {
    expect(text(preAuthEncoding('t/€', utf8('€')))).toBe('DSSEv1 5 t/€ 3 €');
    expect(text(preAuthEncoding('', utf8('')))).toBe('DSSEv1 0  0 ');
    expect([...preAuthEncoding('a', Uint8Array.of(0, 255))].slice(-2)).toEqual([0, 255]);
  });
});

/** RFC 8032, section 7.1: not secrets, published test vectors. */
const RFC8032 = [
  {
    seed: '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    message: '',
    signature:
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155' +
      '5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  },
  {
    seed: '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
    message: '72',
    signature:
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da' +
      '085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  },
] as const;

const goKey = unwrap(parseEd25519Secret('master.key', GO.masterKey));
const goPublic = Buffer.from(GO.masterKey.slice(64), 'hex');

describe('Ed25519', () => {
  it.each(RFC8032)('signs as RFC 8032 says: message "$message"', ({ seed, message, signature }) => {
    const key = unwrap(parseEd25519Secret('master.key', seed));
    expect(Buffer.from(signEd25519(key, Buffer.from(message, 'hex'))).toString('hex')).toBe(signature);
  });

  it("makes the Go ATLAS's signature byte for byte: its text, its digest, its key", () => {
    expect(signingText(GO.receipt)).toBe(GO.message);
    expect(sha256(GO.message)).toBe(GO.sha256);
    const signed = signEd25519(goKey, ed25519Message(utf8(GO.message), 'text'));
    expect(Buffer.from(signed).toString('hex')).toBe(GO.receipt.signature);
  });

  it('signs an envelope over the encoding itself, as DSSE says', () => {
    expect(ed25519Message(utf8('x'), 'envelope')).toEqual(utf8('x'));
  });

  it('refuses keys and signatures of another length, and a signature with its order added to S', () => {
    const message = utf8('x');
    const good = signEd25519(goKey, message);
    expect(verifyEd25519(goPublic, message, good)).toBe(true);
    for (const signature of [new Uint8Array(), good.slice(1), Uint8Array.from([...good, 0]), new Uint8Array(64)]) {
      expect(verifyEd25519(goPublic, message, signature)).toBe(false);
    }
    for (const key of [new Uint8Array(), goPublic.subarray(1), new Uint8Array(32).fill(0xff)]) {
      expect(verifyEd25519(key, message, good)).toBe(false);
    }
    const order = 2n ** 252n + 27742317777372353535851937790883648493n;
    const s = BigInt(`0x${Buffer.from(good.slice(32)).reverse().toString('hex')}`) + order;
    const malleable = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse();
    expect(verifyEd25519(goPublic, message, Buffer.concat([good.subarray(0, 32), malleable]))).toBe(false);
  });
});

describe("the Go ATLAS's receipts", () => {
  let curve: Secp256k1;
  beforeAll(async () => {
    curve = await loadWasm();
  });

  /** Judged in a task that never heard of it, with the Go ATLAS's published key. */
  async function verdictOf(receipt: ValidationReceipt): Promise<Verdict> {
    const keys = unwrap(await openPublicKeys([ed25519Entry(goPublic)]));
    const judge = new ReceiptVerifier(new SignatureVerifier(keys, () => curve));
    const hook = { receipts: [receipt], history: [] };
    const task = { workspaceId: 'w', taskId: 't', hook, recorded: [], envelope: () => undefined };
    return judge.judge(task, receipt).verdict;
  }

  it('are valid, short: the signature is good, and there never was a statement', async () => {
    expect(await verdictOf(GO.receipt)).toBe('valid_short');
  });

  it.each<[string, Partial<ValidationReceipt>, Verdict]>([
    ['another id', { receipt_id: 'rcpt-00000002' }, 'invalid'],
    ['another command', { command: 'magex test' }, 'invalid'],
    ['another exit code', { exit_code: 1 }, 'invalid'],
    ['another output', { stdout_hash: '' }, 'invalid'],
    ['another error output', { stderr_hash: 'e3b0c44298fc1c14' }, 'invalid'],
    ['another second', { completed_at: '2026-01-17T09:35:13-05:00' }, 'invalid'],
    ['a signature in capitals', { signature: GO.receipt.signature.toUpperCase() }, 'invalid'],
    ['half a signature', { signature: GO.receipt.signature.slice(64) }, 'invalid'],
    ['no signature', { signature: '' }, 'unsigned'],
    ['an attempt, which only ours have', { attempt: 1 }, 'invalid'],
    ['a key path of ours', { key_path: "m/44'/236'/0'/0/0" }, 'invalid'],
    ['an unknown key path', { key_path: 'native-ed25519-v2' }, 'invalid'],
    ['no key path', { key_path: undefined }, 'invalid'],
    ['the same second in another zone', { completed_at: '2026-01-17T14:35:12Z' }, 'valid_short'],
  ])('with %s: %s → %s', async (_name, change, verdict) => {
    expect(await verdictOf({ ...GO.receipt, ...change })).toBe(verdict);
  });

  it('are checked there as ours of this scheme pass: SHA-256 of the text, 128 hex characters', () => {
    const receipt: ValidationReceipt = {
      ...GO.receipt,
      attempt: 2,
      command: 'echo "a|b" | grep é',
      completed_at: '2026-11-22T03:00:00.999Z',
      signature: '',
    };
    expect(receipt.key_path).toBe(ED25519_KEY_PATH);
    const signature = Buffer.from(signEd25519(goKey, ed25519Message(utf8(signingText(receipt)), 'text'))).toString(
      'hex',
    );
    expect(signature).toMatch(/^[0-9a-f]{128}$/);
    // What the Go ATLAS does, with nothing of ours: the fields in this order, whole seconds, hashed, then signed.
    const message = `rcpt-00000001|echo "a|b" | grep é|0|e3b0c44298fc1c14||${Date.UTC(2026, 10, 22, 3) / 1000}`;
    const seed = Buffer.from(GO.masterKey.slice(0, 64), 'hex');
    const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
    const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
    const digest = createHash('sha256').update(message, 'utf8').digest();
    expect(verify(null, digest, createPublicKey(key), Buffer.from(signature, 'hex'))).toBe(true);
    expect(sign(null, digest, key).toString('hex')).toBe(signature);
  });
});
