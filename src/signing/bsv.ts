/* eslint-disable @typescript-eslint/no-deprecated -- the library would rather have its own scheme (BRC-42); receipts are specified with BIP-32 */
import { BigNumber, Curve, HD, Hash, PrivateKey, PublicKey, Signature, Utils } from './bsvSdk';
import { type Result, fail, ok } from '../core/shared/errors';
import { type HdNode, indexBytes } from './hdNode';

/** A node with its private key. */
export interface PrivateHdNode extends HdNode {
  /** 32 bytes. */
  readonly privateKey: Uint8Array;
}

const XPRV_VERSION = 0x0488ade4;
const ORDER = new Curve().n;
const DEPTH_BYTE = 4;
/** Where the key itself begins. */
const KEY_BYTES = 45;

/** Why an extended key of the right form is none after all (BIP-32, test vector 5); `undefined` for a sound one. */
function flawOf(bytes: readonly number[]): string | undefined {
  const atRoot = bytes[DEPTH_BYTE] === 0;
  if (atRoot && bytes.slice(5, 13).some((byte) => byte !== 0)) return 'a master key names a parent';
  if (bytes[KEY_BYTES] !== 0) return undefined;
  const secret = new BigNumber([...bytes.slice(KEY_BYTES + 1, 78)]);
  return secret.isZero() || secret.cmp(ORDER) >= 0 ? 'its private key is out of range' : undefined;
}

/**
 * Reads an extended key (`xprv…` or `xpub…`, BIP-32). Fails with `key_format`; the message never holds the key.
 */
export function parseExtendedKey(text: string): Result<HD> {
  try {
    const { prefix, data } = Utils.fromBase58Check(text);
    const bytes = [...(prefix as number[]), ...(data as number[])];
    const flaw = flawOf(bytes);
    if (flaw !== undefined) return fail('key_format', `This is not an extended key: ${flaw}.`);
    const key = HD.fromBinary(bytes);
    const given = isPrivateKey(key) ? undefined : bytes.slice(KEY_BYTES);
    if (!key.pubKey.validate() || (given !== undefined && !isEncodingOf(key.pubKey, given))) {
      return fail('key_format', 'This is not an extended key: its point is not on the curve.');
    }
    return ok(key);
  } catch {
    // The library's own message could hold a part of what it was given.
    return fail('key_format', 'This is not an extended key: its format or checksum is wrong.');
  }
}

/** Whether an extended key holds a private key. */
export function isPrivateKey(key: HD): boolean {
  return key.versionBytesNum === XPRV_VERSION;
}

/** A new master key (`xprv…`) from 64 random bytes. */
export function makeMasterKey(seed: Uint8Array): string {
  return HD.fromSeed([...seed]).toString();
}

/** The public part of a key, for derivation. */
export function publicNode(key: HD): HdNode {
  return { publicKey: Uint8Array.from(key.pubKey.encode(true) as number[]), chainCode: Uint8Array.from(key.chainCode) };
}

/** A key with its private part, for derivation. */
export function privateNode(key: HD): PrivateHdNode {
  return { ...publicNode(key), privateKey: Uint8Array.from(key.privKey.toArray('be', 32)) };
}

/**
 * Derives the private key of a child that isn't hardened (BIP-32, CKDpriv). Without the child's public key, which
 * costs as much as a signature and isn't needed for one.
 */
export function deriveLeafKey(parent: PrivateHdNode, index: number): PrivateKey {
  return childKey(parent, childHash(parent, index));
}

function childHash(parent: PrivateHdNode, index: number): number[] {
  return Hash.sha512hmac([...parent.chainCode], [...parent.publicKey, ...indexBytes(index)]);
}

function childKey(parent: PrivateHdNode, hash: readonly number[]): PrivateKey {
  const tweak = new BigNumber(hash.slice(0, 32));
  const secret = tweak.add(new BigNumber([...parent.privateKey])).mod(ORDER);
  if (tweak.cmp(ORDER) >= 0 || secret.isZero()) throw new Error('this index has no key'); // 1 in 2^127
  return new PrivateKey(secret.toArray('be', 32));
}

/** Derives a child that isn't hardened with its private key and public node (BIP-32, CKDpriv). */
export function derivePrivateChild(parent: PrivateHdNode, index: number): PrivateHdNode {
  const hash = childHash(parent, index);
  const key = childKey(parent, hash);
  return {
    privateKey: Uint8Array.from(key.toArray('be', 32)),
    publicKey: Uint8Array.from(key.toPublicKey().encode(true) as number[]),
    chainCode: Uint8Array.from(hash.slice(32, 64)),
  };
}

/** ECDSA over the SHA-256 of the bytes (the library hashes once itself): deterministic (RFC 6979), low S, DER. */
export function signBytes(key: PrivateKey, message: Uint8Array): Uint8Array {
  return Uint8Array.from(key.sign([...message]).toDER() as number[]);
}

/** Whether these bytes are how a point is written: the library reads a coordinate beyond the field as a smaller one. */
function isEncodingOf(key: PublicKey, bytes: readonly number[]): boolean {
  const encoded = key.encode(true) as number[];
  return encoded.length === bytes.length && encoded.every((byte, at) => byte === bytes[at]);
}

function readPoint(publicKey: Uint8Array): PublicKey {
  const bytes = [...publicKey];
  const key = PublicKey.fromDER(bytes);
  if (!isEncodingOf(key, bytes)) throw new Error('this is not a compressed public key');
  return key;
}

/** Adds a scalar's point to a public key: `tweak·G + key`, compressed; `undefined` where that has no result. */
export function addTweak(publicKey: Uint8Array, tweak: Uint8Array): Uint8Array | undefined {
  const scalar = new BigNumber([...tweak]);
  if (scalar.cmp(ORDER) >= 0) return undefined;
  const sum = new Curve().g.mul(scalar).add(readPoint(publicKey));
  return sum.isInfinity() ? undefined : Uint8Array.from(sum.encode(true) as number[]);
}

/** Checks an ECDSA signature (DER) over the SHA-256 of the bytes. The last resort: it takes 10 ms. */
export function verifyBytes(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  return readPoint(publicKey).verify([...message], Signature.fromDER([...signature]));
}
