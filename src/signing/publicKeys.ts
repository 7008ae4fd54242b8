import * as z from 'zod/mini';
import { type Result, fail, ok } from '../core/shared/errors';
import { ED25519_KEY_PATH, type SigningScheme } from '../core/receipt/receipt';
import { readExtendedPublicKey } from './extendedPublicKey';
import type { HdNode } from './hdNode';
import { sha256Hex } from './envelope';

/** The file of public keys in `keys`. */
export const PUBLIC_KEYS_FILE = 'receipts.pub.json';

const hex = (bytes: number): z.ZodMiniString => z.string().check(z.regex(new RegExp(`^[0-9a-f]{${bytes * 2}}$`, 'u')));

const entrySchema = z.discriminatedUnion('scheme', [
  z.looseObject({ scheme: z.literal('hd'), keyid: hex(32), path: z.string(), xpub: z.string() }),
  z.looseObject({
    scheme: z.literal('ed25519'),
    keyid: hex(32),
    path: z.literal(ED25519_KEY_PATH),
    public_key: hex(32),
    /** Set for a key that Atlas made: no receipt by it is without a statement. The Go ATLAS makes none. */
    statements: z.optional(z.literal('always')),
  }),
]);

/** receipts.pub.json: every key that receipts of this store were signed with. Holds nothing secret. */
const fileSchema = z.looseObject({ schema_version: z.string(), keys: z.array(entrySchema) });

/** A published key. */
export type PublicKeyEntry = z.infer<typeof entrySchema>;

/** A published key, ready for verifying. */
export interface PublicKey {
  readonly keyId: string;
  readonly scheme: SigningScheme;
  readonly path: string;
  /** Whether every receipt by it has a statement, so that one without was stripped of it. */
  readonly alwaysStated: boolean;
  /** The account's node (`hd`). */
  readonly node?: HdNode;
  /** The 32 bytes of the key (`ed25519`). */
  readonly bytes?: Uint8Array;
}

/** The entry of an account's extended public key. */
export function hdEntry(path: string, xpub: string): PublicKeyEntry {
  return { scheme: 'hd', keyid: sha256Hex(xpub), path, xpub };
}

/**
 * The entry of an Ed25519 public key (32 bytes).
 * @param own whether Atlas made the key, and not the Go ATLAS
 */
export function ed25519Entry(publicKey: Uint8Array, own = false): PublicKeyEntry {
  const text = Buffer.from(publicKey).toString('hex');
  const entry = { scheme: 'ed25519', keyid: sha256Hex(publicKey), path: ED25519_KEY_PATH, public_key: text } as const;
  return own ? { ...entry, statements: 'always' } : entry;
}

/** Whether every receipt by a published key has a statement; those of derived keys always do. */
export function isAlwaysStated(entry: PublicKeyEntry): boolean {
  return entry.scheme === 'hd' || entry.statements === 'always';
}

/** The bytes of receipts.pub.json. */
export function serializePublicKeys(entries: readonly PublicKeyEntry[]): string {
  return `${JSON.stringify({ schema_version: '1.0', keys: entries }, null, 2)}\n`;
}

/** Reads the text of receipts.pub.json. An entry whose id is not its key's is refused (`key_format`). */
export function parsePublicKeys(text: string): Result<PublicKeyEntry[]> {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, which could be a private key in the wrong file.
    return fail('key_format', 'The public key file is truncated or not JSON.');
  }
  const parsed = fileSchema.safeParse(data);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const where = issue?.path.join('.') ?? '';
    return fail('key_format', `The public key file is malformed at "${where}": ${issue?.message ?? ''}`);
  }
  const wrong = parsed.data.keys.find((entry) => entry.keyid !== keyIdOf(entry));
  if (wrong === undefined) return ok(parsed.data.keys);
  return fail('key_format', `The public key ${wrong.keyid} does not match its ID: the file was altered.`);
}

function keyIdOf(entry: PublicKeyEntry): string {
  return entry.scheme === 'hd' ? sha256Hex(entry.xpub) : sha256Hex(Buffer.from(entry.public_key, 'hex'));
}

/** Makes published keys ready for verifying. Loads @bsv/sdk only for one that isn't sound at first sight. */
export async function openPublicKeys(entries: readonly PublicKeyEntry[]): Promise<Result<PublicKey[]>> {
  const keys: PublicKey[] = [];
  for (const entry of entries) {
    if (entry.scheme === 'ed25519') {
      const bytes = Uint8Array.from(Buffer.from(entry.public_key, 'hex'));
      const alwaysStated = isAlwaysStated(entry);
      keys.push({ keyId: entry.keyid, scheme: 'ed25519', path: entry.path, alwaysStated, bytes });
      continue;
    }
    const plain = readExtendedPublicKey(entry.xpub);
    if (plain !== undefined) {
      keys.push({ keyId: entry.keyid, scheme: 'hd', path: entry.path, alwaysStated: true, node: plain });
      continue;
    }
    const { isPrivateKey, parseExtendedKey, publicNode } = await import('./bsv');
    const parsed = parseExtendedKey(entry.xpub);
    if (!parsed.ok) return parsed;
    if (isPrivateKey(parsed.value)) {
      return fail('key_format', `The public key file contains a private key at path ${entry.path}.`, {
        hint: 'Remove it immediately. The file is regenerated from the signing key.',
      });
    }
    keys.push({
      keyId: entry.keyid,
      scheme: 'hd',
      path: entry.path,
      alwaysStated: true,
      node: publicNode(parsed.value),
    });
  }
  return ok(keys);
}
