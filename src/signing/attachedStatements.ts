import { type Result, fail, ok } from '../core/shared/errors';
import { preAuthEncoding } from '../core/receipt/receipt';
import { type AttachedReceipt, attachedReceipt } from '../core/verify/attachedReceipt';
import type { Signer } from '../core/verify/report';
import { type TrustedEntry } from '../core/verify/trustedKeys';
import type { Signatures } from '../core/verify/judge';
import { ed25519Entry, hdEntry, openPublicKeys, type PublicKeyEntry } from './publicKeys';
import { type Envelope, parseEnvelope, parseStatement, sha256Hex } from './envelope';
import { jsonOf } from '../system/files/readJson';
import type { Secp256k1 } from './secp256k1';
import { SignatureVerifier } from './signatureVerifier';

/** The largest statement that is read, in bytes; ours have three thousand. */
const MAX_STATEMENT = 256 * 1024;

/** A statement of a note, with what its signature is over. */
interface Stated {
  readonly receipt: AttachedReceipt;
  readonly envelope: Envelope;
}

/** Why a line of a note is none of our statements. */
export type LineProblem = 'foreign' | 'too_new' | 'malformed';

/** The line of a note that a statement's envelope becomes. */
export function noteLine(envelope: Uint8Array): string {
  return Buffer.from(envelope).toString('base64');
}

/** The envelope that a line of a note holds; `undefined` for what isn't one of ours in its one spelling. */
export function envelopeOfLine(line: string): Uint8Array | undefined {
  const bytes = decoded(line);
  return bytes !== undefined && parseEnvelope(bytes).ok ? bytes : undefined;
}

/** What a line of a note decodes to; `undefined` for another spelling of it. */
function decoded(line: string): Uint8Array | undefined {
  if (line.length > MAX_STATEMENT * 1.4 || !line.startsWith('ey')) return undefined;
  const bytes = Buffer.from(line, 'base64');
  return bytes.toString('base64') === line ? bytes : undefined;
}

/** The keys of `.atlas/trusted-keys.json`, ready for verifying. */
export class TrustedKeys implements Signatures {
  private readonly envelopes = new Map<string, Envelope>();
  private readonly answers = new Map<string, boolean>();

  private constructor(
    private readonly signers: ReadonlyMap<string, Signer>,
    private readonly verifier: SignatureVerifier,
  ) {}

  /** Opens them. Fails with `no_policy` where one can't be a key. */
  static async open(entries: readonly TrustedEntry[], curve: Secp256k1): Promise<Result<TrustedKeys>> {
    const published: PublicKeyEntry[] = [];
    const signers = new Map<string, Signer>();
    for (const { name, scheme, path, keys, kind, revoked } of entries) {
      for (const key of keys) {
        if (scheme === 'ed25519' && !/^[0-9a-f]{64}$/u.test(key)) return notAKey(name);
        const entry = scheme === 'hd' ? hdEntry(path, key) : ed25519Entry(Buffer.from(key, 'hex'), true);
        published.push(entry);
        const known = signers.get(entry.keyid);
        // Named twice, a key is what is worst of it: nobody is trusted again by another line.
        signers.set(entry.keyid, worse(known, { name, kind, revoked: revoked?.reason }));
      }
    }
    const opened = await openPublicKeys(published);
    if (!opened.ok) return notAKey(opened.error.message);
    return ok(new TrustedKeys(signers, new SignatureVerifier(opened.value, () => curve)));
  }

  /** The statement that a line of a note holds, or why there is none. */
  read(line: string): AttachedReceipt | LineProblem {
    const bytes = decoded(line);
    const parsed = bytes === undefined ? undefined : parseEnvelope(bytes);
    if (bytes === undefined || parsed?.ok !== true) return 'foreign';
    const stated = readStatement(bytes, parsed.value);
    if (typeof stated === 'string') return stated;
    this.envelopes.set(stated.receipt.digest, stated.envelope);
    return stated.receipt;
  }

  signer({ keyId }: AttachedReceipt): Signer | undefined {
    return keyId === undefined ? undefined : this.signers.get(keyId);
  }

  isGood({ digest, keyId, keyPath }: AttachedReceipt): boolean {
    const known = this.answers.get(digest);
    if (known !== undefined) return known;
    const envelope = this.envelopes.get(digest);
    if (envelope === undefined) return false;
    const encoded = preAuthEncoding(envelope.payloadType, envelope.payload);
    const { kind } = this.verifier.check(keyPath, keyId, encoded, 'envelope', envelope.signature);
    this.answers.set(digest, kind === 'good');
    return kind === 'good';
  }
}

function notAKey(what: string): ReturnType<typeof fail> {
  return fail('no_policy', `.atlas/trusted-keys.json names a key that is none: ${what}`);
}

const WORST = [undefined, 'rotated', 'compromised'] as const;

function worse(a: Signer | undefined, b: Signer): Signer {
  if (a === undefined) return b;
  return WORST.indexOf(a.revoked) >= WORST.indexOf(b.revoked) ? a : b;
}

function readStatement(bytes: Uint8Array, envelope: Envelope): Stated | LineProblem {
  const statement = parseStatement(envelope.payload);
  if (!statement.ok) return isOfAnotherVersion(envelope.payload) ? 'too_new' : 'malformed';
  const receipt = attachedReceipt(statement.value, sha256Hex(bytes), envelope.keyId);
  return receipt === undefined ? 'malformed' : { receipt, envelope };
}

/** Whether a payload is an in-toto statement of a kind that a newer Atlas may write. */
function isOfAnotherVersion(payload: Uint8Array): boolean {
  const text = Buffer.from(payload).toString('utf8');
  const value: unknown = jsonOf(text);
  const { _type: type, predicateType } = (typeof value === 'object' && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  return (
    typeof type === 'string' && type.startsWith('https://in-toto.io/Statement/') && typeof predicateType === 'string'
  );
}
