import { createHmac, timingSafeEqual } from 'node:crypto';

/** How many are kept of a task: the two signatures of a thousand receipts. */
const MOST = 2048;
const VERSION = 'atlas-good-signatures-v1';

/** Whose a good signature is. */
export interface SignedBy {
  /** The published key's id, 64 hexadecimal digits: its digest, so that no other key has it. */
  readonly keyId: string;
  /** The very key, derived from it, in hexadecimal. */
  readonly publicKey: string;
}

/**
 * Signatures that were found good, by a digest of what was checked. A signature stays good as long as its key is
 * trusted, which is for whoever asks to say: a verdict is more than this, and is never kept.
 */
export class GoodSignatures {
  private readonly known: Map<string, SignedBy>;
  private added = false;

  constructor(known: ReadonlyMap<string, SignedBy> = new Map()) {
    this.known = new Map(known);
  }

  get(digest: string): SignedBy | undefined {
    return this.known.get(digest);
  }

  add(digest: string, by: SignedBy): void {
    if (this.known.has(digest)) return;
    this.known.set(digest, by);
    this.added = true;
  }

  /** Whether anything was added since it was opened or kept. */
  get isNew(): boolean {
    return this.added;
  }

  /** Says that all is kept. */
  wereKept(): void {
    this.added = false;
  }

  /**
   * The text to keep: a line each, below a MAC, without which anybody who can write a task's files could have anything found
   * good.
   * @param key what the MAC is made with
   * @param others what another process kept meanwhile
   */
  sealed(key: string, others: ReadonlyMap<string, SignedBy>): string {
    const all = [...new Map([...others, ...this.known])].slice(-MOST);
    const body = [VERSION, ...all.map(([digest, by]) => `${digest} ${by.keyId} ${by.publicKey}`)].join('\n');
    return `${mac(body, key).toString('hex')}\n${body}`;
  }
}

/** Reads what {@link GoodSignatures.sealed} made; nothing, where it isn't that to the byte. */
export function openGoodSignatures(text: string, key: string): ReadonlyMap<string, SignedBy> {
  const end = text.indexOf('\n');
  const body = text.slice(end + 1);
  const claimed = text.slice(0, Math.max(0, end));
  if (!/^[0-9a-f]{64}$/u.test(claimed) || !timingSafeEqual(Buffer.from(claimed, 'hex'), mac(body, key)))
    return new Map();
  const [version, ...lines] = body.split('\n');
  if (version !== VERSION) return new Map();
  return new Map(
    lines.map((line) => {
      const [digest = '', keyId = '', publicKey = ''] = line.split(' ');
      return [digest, { keyId, publicKey }];
    }),
  );
}

function mac(body: string, key: string): Buffer {
  return createHmac('sha256', key).update(body).digest();
}
