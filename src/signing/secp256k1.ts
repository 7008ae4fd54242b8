import { createHash, createPublicKey, verify } from 'node:crypto';
import { isLowSDer } from './der';
import { type PointAdder, deriveChild } from './hdNode';

/** What verification needs of the curve. Inputs are bytes: compressed keys (33), scalars (32), DER signatures. */
export interface Secp256k1 extends PointAdder {
  readonly name: 'wasm' | 'openssl' | 'bsv';
  /** Whether a signature over the SHA-256 of the message is good. The high twin of a good one is refused. */
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean;
}

/** Makes an implementation; throws where this machine doesn't have it. */
export type LoadSecp256k1 = () => Promise<Secp256k1>;

/** Only what every implementation reads alike reaches one, and none of them ends in an exception. */
function guarded(implementation: Secp256k1): Secp256k1 {
  return {
    name: implementation.name,
    addTweak: (publicKey, tweak) => {
      if (publicKey.length !== 33 || tweak.length !== 32) return undefined;
      try {
        return implementation.addTweak(publicKey, tweak);
      } catch {
        return undefined;
      }
    },
    verify: (publicKey, message, signature) => {
      if (publicKey.length !== 33 || !isLowSDer(signature)) return false;
      try {
        return implementation.verify(publicKey, message, signature);
      } catch {
        return false;
      }
    },
  };
}

/** libsecp256k1 in WebAssembly: the fastest that needs no native build. */
export async function loadWasm(): Promise<Secp256k1> {
  const { instantiateSecp256k1 } = await import('./libsecp256k1');
  const curve = await instantiateSecp256k1();
  return guarded({
    name: 'wasm',
    addTweak: (publicKey, tweak) => {
      const sum = curve.addTweakPublicKeyCompressed(publicKey, tweak);
      return typeof sum === 'string' ? undefined : sum;
    },
    verify: (publicKey, message, signature) =>
      curve.verifySignatureDERLowS(signature, publicKey, createHash('sha256').update(message).digest()),
  });
}

/** `SubjectPublicKeyInfo` of a compressed secp256k1 key, up to the key itself (RFC 5480, SEC 2). */
const SPKI_PREFIX = Buffer.from('3036301006072a8648ce3d020106052b8104000a032200', 'hex');

/** Node's crypto where it is built on OpenSSL with the curve; the desktop editor's is not. Derives with @bsv/sdk. */
export async function loadOpenssl(): Promise<Secp256k1> {
  const { addTweak } = await import('./bsv');
  return guarded({
    name: 'openssl',
    addTweak,
    verify: (publicKey, message, signature) => {
      const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, publicKey]), format: 'der', type: 'spki' });
      return verify('sha256', message, key, signature);
    },
  });
}

/** @bsv/sdk itself. */
export async function loadBsv(): Promise<Secp256k1> {
  const { addTweak, verifyBytes } = await import('./bsv');
  return guarded({ name: 'bsv', addTweak, verify: verifyBytes });
}

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'));

/**
 * Known answers: a deterministic signature of the message "Satoshi Nakamoto" by the key 1 (a published RFC 6979 vector
 * for secp256k1), and the step from m/0' to m/0'/1 of BIP-32's test vector 1.
 */
const KNOWN = {
  key: bytes('0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'),
  message: new TextEncoder().encode('Satoshi Nakamoto'),
  signature: bytes(
    '3045022100934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8' +
      '02202442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5',
  ),
  /** Its twin with the high S, which fits as well and has to be refused. */
  twin: bytes(
    '3046022100934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8' +
      '022100dbbd3162d46e9f9bef7feb87c16dc13b4f6568a87f4e83f728e2443ba586675c',
  ),
  parent: bytes('035a784662a4a20a65bf6aab9ae98a6c068a81c52e4b032c0fb5400c706cfccc56'),
  chainCode: bytes('47fdacbd0f1097043b78c63c20c34ef4ed9a111d980047ad16282c7ae6236141'),
  child: '03501e454bf00751f24b1b489aa925215d66af2234e3891c3b21a52bedb3cd711c',
};

/** Whether an implementation gives the known answers, refuses an altered message, and refuses a high S. */
export function answersRight(curve: Secp256k1): boolean {
  const child = deriveChild(curve, { publicKey: KNOWN.parent, chainCode: KNOWN.chainCode }, 1);
  return (
    curve.verify(KNOWN.key, KNOWN.message, KNOWN.signature) &&
    !curve.verify(KNOWN.key, KNOWN.message.slice(1), KNOWN.signature) &&
    !curve.verify(KNOWN.key, KNOWN.message, KNOWN.twin) &&
    child !== undefined &&
    Buffer.from(child.publicKey).toString('hex') === KNOWN.child
  );
}

/** In the order in which they are tried. */
const IMPLEMENTATIONS: readonly LoadSecp256k1[] = [loadWasm, loadOpenssl, loadBsv];

/** The first implementation that this machine has and that gives the known answers. Throws if none does. */
export async function chooseSecp256k1(candidates = IMPLEMENTATIONS): Promise<Secp256k1> {
  for (const load of candidates) {
    try {
      const curve = await load();
      if (answersRight(curve)) return curve;
    } catch {
      // Not on this machine: the next one.
    }
  }
  throw new Error('no implementation of secp256k1 gives the known answers here');
}
