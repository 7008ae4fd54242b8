import { ECDH, createHash } from 'node:crypto';
import { base58ToBin } from '@bitauth/libauth/build/lib/format/base-convert.js';
import type { HdNode } from './hdNode';

/** `xpub`, BIP-32. */
const VERSION = 0x0488b21e;
const LENGTH = 78;

function sha256(data: Uint8Array): Buffer {
  return createHash('sha256').update(data).digest();
}

/**
 * Reads an `xpub…` that is beyond doubt; `undefined` for anything else, which is for @bsv/sdk to read or to refuse. That
 * library takes longer to load than all else that checking a few receipts needs.
 */
export function readExtendedPublicKey(text: string): HdNode | undefined {
  const bytes = base58ToBin(text);
  if (typeof bytes === 'string' || bytes.length !== LENGTH + 4) return undefined;
  const data = Buffer.from(bytes.subarray(0, LENGTH));
  if (!sha256(sha256(data)).subarray(0, 4).equals(bytes.subarray(LENGTH))) return undefined;
  const rootWithParent = data[4] === 0 && data.subarray(5, 13).some((byte) => byte !== 0);
  if (data.readUInt32BE(0) !== VERSION || rootWithParent) return undefined;
  const publicKey = Uint8Array.from(data.subarray(45));
  try {
    // Throws for what is no point of the curve, and where this Node's crypto doesn't have that curve.
    ECDH.convertKey(publicKey, 'secp256k1');
  } catch {
    return undefined;
  }
  return { publicKey, chainCode: Uint8Array.from(data.subarray(13, 45)) };
}
