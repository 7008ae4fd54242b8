import { type KeyObject, createECDH, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** The order of secp256k1's group (SEC 2, section 2.4.1). */
export const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** Two numbers as a strict DER signature. */
export function toDer(r: bigint, s: bigint): Uint8Array {
  return sequence(integer(r), integer(s));
}

/** A DER SEQUENCE of what are its parts already. */
export function sequence(...parts: readonly Uint8Array[]): Uint8Array {
  const body = Buffer.concat(parts);
  return Uint8Array.from([0x30, body.length, ...body]);
}

/** The DER INTEGER of a number that isn't negative, in its shortest form. */
export function integer(value: bigint): Uint8Array {
  const digits = value.toString(16);
  const bytes = [...Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex')];
  const padded = (bytes[0] ?? 0) >= 0x80 ? [0, ...bytes] : bytes;
  return Uint8Array.from([0x02, padded.length, ...padded]);
}

/** The two numbers of a strict DER signature. */
export function fromDer(signature: Uint8Array): { r: bigint; s: bigint } {
  const rLength = signature[3] ?? 0;
  const number = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  return { r: number(signature.subarray(4, 4 + rLength)), s: number(signature.subarray(6 + rLength)) };
}

/** The other signature that fits the same message and key. */
export function twin(signature: Uint8Array): Uint8Array {
  const { r, s } = fromDer(signature);
  return toDer(r, ORDER - s);
}

/** A signature with the smaller of its two possible S. */
export function lowS(signature: Uint8Array): Uint8Array {
  const { r, s } = fromDer(signature);
  return toDer(r, s > ORDER / 2n ? ORDER - s : s);
}

/** A compressed public key as node:crypto wants it. */
export function nodePublicKey(compressed: Uint8Array): KeyObject {
  const prefix = Buffer.from('3036301006072a8648ce3d020106052b8104000a032200', 'hex');
  return createPublicKey({ key: Buffer.concat([prefix, compressed]), format: 'der', type: 'spki' });
}

/** The compressed public key of a private one (hex), by node:crypto. */
export function publicKeyOf(privateKey: string): Uint8Array {
  const ecdh = createECDH('secp256k1');
  ecdh.setPrivateKey(Buffer.from(privateKey, 'hex'));
  return Uint8Array.from(ecdh.getPublicKey(undefined, 'compressed'));
}

/** The same with both coordinates, in 65 bytes. */
export function uncompressedKeyOf(privateKey: string): Uint8Array {
  const ecdh = createECDH('secp256k1');
  ecdh.setPrivateKey(Buffer.from(privateKey, 'hex'));
  return Uint8Array.from(ecdh.getPublicKey());
}

/** A new private key in hex. */
export function freshKey(): string {
  const bytes = randomBytes(32);
  bytes[0] = 0x7f; // below the order
  return bytes.toString('hex');
}

/** A key pair of node:crypto's own, and how it signs. */
export function nodeSigner(): { publicKey: Uint8Array; sign(message: Uint8Array): Uint8Array } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const last = Buffer.from(y, 'base64url').at(-1) ?? 0;
  const compressed = Buffer.concat([Uint8Array.from([last % 2 === 0 ? 2 : 3]), Buffer.from(x, 'base64url')]);
  return {
    publicKey: Uint8Array.from(compressed),
    sign: (message) => Uint8Array.from(sign('sha256', message, privateKey)),
  };
}
