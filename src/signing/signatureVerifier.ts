import { LruCache } from '../core/shared/lru';
import { createHash } from 'node:crypto';
import { parseKeyPath } from '../core/receipt/keyPath';
import type { SignedForm } from '../core/shared/ports';
import { schemeOf } from '../core/receipt/receipt';
import type { GoodSignatures } from './goodSignatures';
import { verifyEd25519 } from './ed25519';
import { type HdNode, deriveChild } from './hdNode';
import type { PublicKey } from './publicKeys';
import type { Secp256k1 } from './secp256k1';

/** Of how many tasks the node that their receipts' keys come from is kept. */
const KEPT_TASKS = 256;
/** How many good signatures this process remembers; see {@link GoodSignatures} for others. */
const KEPT_SIGNATURES = 20_000;

/** What checking a signature says. */
export type SignatureAnswer =
  | {
      readonly kind: 'good' | 'bad';
      readonly keyId: string;
      readonly publicKey: string;
      /** Whether every receipt by that key has a statement. */
      readonly alwaysStated: boolean;
    }
  /** No published key has that path, or that id. */
  | { readonly kind: 'unknown_key' }
  /** The path is none that a receipt's key has. */
  | { readonly kind: 'no_path' };

/** Thrown where a signature has to be checked for the first time, and the curve isn't loaded yet. */
export class CurveMissing extends Error {}

/** Checks receipts' signatures with public keys alone. Synchronous: under a millisecond each, microseconds again. */
export class SignatureVerifier {
  private readonly tasks = new LruCache<HdNode>(KEPT_TASKS);
  private readonly good = new LruCache<SignatureAnswer>(KEPT_SIGNATURES);
  /** The receipt's key that was derived last: two signatures are by it, and deriving costs as much as checking one. */
  private lastKey: { readonly name: string; readonly publicKey: Uint8Array } | undefined;

  /** @param curve the curve, once it is loaded: without it only what is remembered, and Ed25519, is answered */
  constructor(
    private readonly keys: readonly PublicKey[],
    private readonly curve: () => Secp256k1 | undefined,
  ) {}

  /**
   * Checks a signature over a receipt's text or its envelope's encoding.
   * @param keyId which of several keys with that path it claims; without one, all are tried
   * @param kept what was found good by earlier processes; a good answer is added to it
   */
  check(
    keyPath: string | undefined,
    keyId: string | undefined,
    message: Uint8Array,
    form: SignedForm,
    signature: Uint8Array,
    kept?: GoodSignatures,
  ): SignatureAnswer {
    const scheme = schemeOf(keyPath);
    const path = keyPath === undefined ? undefined : parseKeyPath(keyPath);
    if (keyPath === undefined || (scheme !== 'ed25519' && path === undefined)) return { kind: 'no_path' };
    const remembered = createHash('sha256')
      .update(JSON.stringify([keyPath, keyId ?? '', form, message.length]))
      .update(message)
      .update(signature)
      .digest('base64');
    const known = this.good.get(remembered);
    const account = path?.account ?? keyPath;
    const candidates = this.keys.filter((key) => key.path === account && (keyId === undefined || key.keyId === keyId));
    const answer =
      known ??
      fromKept(kept, remembered, candidates) ??
      this.checkWithAny(candidates, keyPath, message, form, signature);
    if (answer.kind === 'good') {
      this.good.set(remembered, answer);
      kept?.add(remembered, answer);
    }
    return answer;
  }

  private checkWithAny(
    candidates: readonly PublicKey[],
    ...signed: readonly [string, Uint8Array, SignedForm, Uint8Array]
  ): SignatureAnswer {
    let answer: SignatureAnswer = { kind: 'unknown_key' };
    for (const key of candidates) {
      answer = this.checkWith(key, ...signed);
      if (answer.kind === 'good') break;
    }
    return answer;
  }

  private checkWith(
    key: PublicKey,
    keyPath: string,
    message: Uint8Array,
    form: SignedForm,
    signature: Uint8Array,
  ): SignatureAnswer {
    const publicKey = key.bytes ?? this.receiptKey(key, keyPath);
    if (publicKey === undefined) return { kind: 'unknown_key' };
    const good =
      key.scheme === 'ed25519'
        ? verifyEd25519(publicKey, ed25519Message(message, form), signature)
        : this.loadedCurve().verify(publicKey, message, signature);
    const { keyId, alwaysStated } = key;
    return { kind: good ? 'good' : 'bad', keyId, publicKey: Buffer.from(publicKey).toString('hex'), alwaysStated };
  }

  private receiptKey({ keyId, node }: PublicKey, keyPath: string): Uint8Array | undefined {
    const path = parseKeyPath(keyPath);
    if (node === undefined || path === undefined) return undefined;
    const name = `${keyId}/${keyPath}`;
    if (this.lastKey?.name === name) return this.lastKey.publicKey;
    const taskKey = `${keyId}/${path.taskIndex}`;
    const curve = this.loadedCurve();
    const task = this.tasks.get(taskKey) ?? deriveChild(curve, node, path.taskIndex);
    if (task === undefined) return undefined;
    this.tasks.set(taskKey, task);
    const publicKey = deriveChild(curve, task, path.receiptIndex)?.publicKey;
    if (publicKey !== undefined) this.lastKey = { name, publicKey };
    return publicKey;
  }

  private loadedCurve(): Secp256k1 {
    const curve = this.curve();
    if (curve === undefined) throw new CurveMissing('The curve was not loaded.');
    return curve;
  }
}

/** An earlier process's answer, where the key that it found is still one that may sign this. */
function fromKept(
  kept: GoodSignatures | undefined,
  digest: string,
  candidates: readonly PublicKey[],
): SignatureAnswer | undefined {
  const by = kept?.get(digest);
  const key = candidates.find(({ keyId }) => keyId === by?.keyId);
  if (by === undefined || key === undefined) return undefined;
  return { kind: 'good', ...by, alwaysStated: key.alwaysStated };
}

/** Of a receipt's text the Go ATLAS signs the SHA-256; an envelope's encoding is signed as DSSE says. */
export function ed25519Message(message: Uint8Array, form: SignedForm): Uint8Array {
  return form === 'text' ? createHash('sha256').update(message).digest() : message;
}
