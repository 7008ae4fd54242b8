/** The order of secp256k1's group, and half of it (SEC 2, section 2.4.1). */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const HALF_ORDER = ORDER / 2n;

/**
 * Whether a signature is strict DER (X.690: SEQUENCE of two INTEGERs, each in its shortest form) with r and s in range
 * and s in the lower half. Implementations differ in what else they read; nothing else gets to one.
 */
export function isLowSDer(signature: Uint8Array): boolean {
  if (signature.length < 8 || signature.length > 72) return false;
  if (signature[0] !== 0x30 || signature[1] !== signature.length - 2) return false;
  const r = readInteger(signature, 2);
  const s = r === undefined ? undefined : readInteger(signature, r.end);
  if (r === undefined || s === undefined || s.end !== signature.length) return false;
  return r.value > 0n && r.value < ORDER && s.value > 0n && s.value <= HALF_ORDER;
}

function readInteger(bytes: Uint8Array, at: number): { value: bigint; end: number } | undefined {
  const length = bytes[at + 1];
  const first = bytes[at + 2];
  if (bytes[at] !== 0x02 || length === undefined || first === undefined || length === 0) return undefined;
  const end = at + 2 + length;
  if (end > bytes.length || first >= 0x80) return undefined;
  // A leading zero only where the number would be negative without it.
  if (first === 0 && length > 1 && (bytes[at + 3] ?? 0) < 0x80) return undefined;
  return { value: BigInt(`0x${Buffer.from(bytes.subarray(at + 2, end)).toString('hex')}`), end };
}
