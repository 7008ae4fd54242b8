import { createHmac } from 'node:crypto';

/** What deriving needs of the curve. */
export interface PointAdder {
  /** `tweak·G + key`, compressed; `undefined` where that has no result. */
  addTweak(publicKey: Uint8Array, tweak: Uint8Array): Uint8Array | undefined;
}

/** A public key with its chain code: what BIP-32 derives public children from. */
export interface HdNode {
  /** Compressed, 33 bytes. */
  readonly publicKey: Uint8Array;
  /** 32 bytes. */
  readonly chainCode: Uint8Array;
}

/** The first index that is hardened. */
export const HARDENED = 0x8000_0000;

/** A child index as BIP-32 writes it: four bytes, big endian. */
export function indexBytes(index: number): number[] {
  return [(index >>> 24) & 0xff, (index >>> 16) & 0xff, (index >>> 8) & 0xff, index & 0xff];
}

/** Derives a child that isn't hardened (BIP-32, CKDpub); `undefined` for an index that has none. */
export function deriveChild(curve: PointAdder, parent: HdNode, index: number): HdNode | undefined {
  if (!Number.isInteger(index) || index < 0 || index >= HARDENED) return undefined;
  const hash = createHmac('sha512', parent.chainCode)
    .update(parent.publicKey)
    .update(Uint8Array.from(indexBytes(index)))
    .digest();
  const publicKey = curve.addTweak(parent.publicKey, hash.subarray(0, 32));
  return publicKey === undefined ? undefined : { publicKey, chainCode: hash.subarray(32) };
}
