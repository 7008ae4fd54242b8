import { type KeyObject, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';

/** `PrivateKeyInfo` and `SubjectPublicKeyInfo` of an Ed25519 key, up to the key itself (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** An Ed25519 private key from its 32-byte seed (RFC 8032). */
export function ed25519FromSeed(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });
}

/** The 32 bytes of a private key's public half. */
export function ed25519PublicBytes(key: KeyObject): Uint8Array {
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(SPKI_PREFIX.length);
}

/** Signs bytes: 64 bytes, the same for the same input. */
export function signEd25519(key: KeyObject, message: Uint8Array): Uint8Array {
  return sign(null, message, key);
}

/** Checks a signature with a 32-byte public key; false for anything malformed. */
export function verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== 32 || signature.length !== 64) return false;
  try {
    const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, publicKey]), format: 'der', type: 'spki' });
    return verify(null, message, key, signature);
  } catch {
    return false;
  }
}
