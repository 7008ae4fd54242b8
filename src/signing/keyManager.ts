import { type KeyObject, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type Result, fail, ok } from '../core/shared/errors';
import { type KeyDerivation, accountPath, receiptKeyPath } from '../core/receipt/keyPath';
import type { KeyFolder, KeyManager, Logger, ReceiptKeyIndex, ReceiptSigner, SignedForm } from '../core/shared/ports';
import { ED25519_KEY_PATH, SIGNING_SCHEMES, type SigningScheme } from '../core/receipt/receipt';
import type { PrivateHdNode } from './bsv';
import { ed25519PublicBytes, signEd25519 } from './ed25519';
import {
  PUBLIC_KEYS_FILE,
  type PublicKeyEntry,
  ed25519Entry,
  hdEntry,
  isAlwaysStated,
  openPublicKeys,
  parsePublicKeys,
  serializePublicKeys,
} from './publicKeys';
import { isGoSecret, noKey, parseEd25519Secret, parseHdSecret, schemeOfSecret } from './secrets';
import { SignatureVerifier, ed25519Message } from './signatureVerifier';
import type { LoadSecp256k1 } from './secp256k1';

const MASTER = 'master.key';
const BACKUP = '.bak';
const SEED_BYTES = 64;
const ED25519_SEED_BYTES = 32;

/** Which key signs. */
export interface SigningSettings {
  readonly scheme: SigningScheme;
  readonly derivation: KeyDerivation;
}

type Loaded =
  | { readonly scheme: 'hd'; readonly account: PrivateHdNode; readonly entry: PublicKeyEntry }
  | { readonly scheme: 'ed25519'; readonly key: KeyObject; readonly entry: PublicKeyEntry };

/** What a key's file holds, not yet looked at. */
interface SecretText {
  readonly name: string;
  readonly path: string;
  readonly text: string;
}

/** Whether a file of the key folder holds a signing key. */
export function isSigningKey(name: string): boolean {
  return name === MASTER || SIGNING_SCHEMES.some((scheme) => name === ownName(scheme));
}

/** A key file's own name for a scheme, where `master.key` holds another's. */
function ownName(scheme: SigningScheme): string {
  return `master.${scheme}.key`;
}

/** The keys of a store, in files; see docs/receipts.md. Private parts stay in here. */
export class FileKeyManager implements KeyManager {
  #loaded: (Loaded & { readonly verifier: SignatureVerifier }) | undefined;
  #node: { readonly task: number; readonly node: PrivateHdNode } | undefined;

  constructor(
    private readonly folder: KeyFolder,
    private readonly settings: SigningSettings,
    private readonly log: Logger,
    private readonly curve: LoadSecp256k1,
  ) {}

  exists(): boolean {
    const found = findSecret(this.folder, this.settings.scheme);
    return found.ok && found.value.text !== undefined;
  }

  async load(): Promise<Result<void>> {
    if (this.#loaded !== undefined) return ok(undefined);
    const text = await this.secret();
    if (!text.ok) return text;
    const { scheme, derivation } = this.settings;
    const loaded = await readSecret(text.value.path, text.value.text, scheme, accountPath(derivation));
    if (!loaded.ok) return loaded;
    // Only what was found to be a key: a backup of anything else would be what somebody puts back.
    const backup = this.backUp(text.value.name, text.value.text);
    if (!backup.ok) return backup;
    const published = this.publish(loaded.value.entry);
    if (!published.ok) return published;
    const opened = await openPublicKeys([loaded.value.entry]);
    if (!opened.ok) return opened;
    const curve = await this.curve();
    this.#loaded = { ...loaded.value, verifier: new SignatureVerifier(opened.value, () => curve) };
    return ok(undefined);
  }

  async newSigner(index: ReceiptKeyIndex): Promise<Result<ReceiptSigner>> {
    const loaded = await this.load();
    if (!loaded.ok) return loaded;
    const key = this.#loaded;
    if (key === undefined) return fail('key_missing', 'The signing key was not loaded.');
    if (key.scheme === 'ed25519') {
      const sign = (message: Uint8Array, form: SignedForm): Uint8Array =>
        signEd25519(key.key, ed25519Message(message, form));
      return ok(makeSigner(key, ED25519_KEY_PATH, sign));
    }
    const { deriveLeafKey, signBytes } = await import('./bsv');
    const leaf = deriveLeafKey(await this.taskNode(key.account, index.task), index.receipt);
    const path = receiptKeyPath(key.entry.path, index.task, index.receipt);
    return ok(makeSigner(key, path, (message) => signBytes(leaf, message)));
  }

  /** The node of a task, kept for its next receipt: its public key costs as much as a signature. */
  private async taskNode(account: PrivateHdNode, task: number): Promise<PrivateHdNode> {
    if (this.#node?.task === task) return this.#node.node;
    const { derivePrivateChild } = await import('./bsv');
    const node = derivePrivateChild(account, task);
    this.#node = { task, node };
    return node;
  }

  /** The key's text; made where there never was one. */
  private async secret(): Promise<Result<SecretText>> {
    const { scheme } = this.settings;
    const found = findSecret(this.folder, scheme);
    if (!found.ok) return found;
    const { name } = found.value;
    const path = join(this.folder.path, name);
    if (found.value.text !== undefined) return ok({ name, path, text: found.value.text });
    const backup = this.folder.readSecret(name + BACKUP);
    if (!backup.ok) return backup;
    if (backup.value !== undefined) {
      return fail('key_missing', `The signing key ${path} is missing, but its backup exists.`, {
        hint: `Copy ${name}${BACKUP} to ${name} in ${this.folder.path}. Atlas does not create another key.`,
      });
    }
    return this.create(name, path);
  }

  private async create(name: string, path: string): Promise<Result<SecretText>> {
    const created = this.folder.createSecret(name, `${await newSecret(this.settings.scheme)}\n`);
    if (!created.ok) return created;
    if (created.value) this.log.info('A signing key was created.', { path, scheme: this.settings.scheme });
    // Whoever was quicker made the key that counts.
    const text = this.folder.readSecret(name);
    if (!text.ok) return text;
    if (text.value === undefined)
      return fail('key_missing', `The signing key ${path} disappeared while it was created.`);
    return ok({ name, path, text: text.value });
  }

  private backUp(name: string, text: string): Result<void> {
    const known = this.folder.readSecret(name + BACKUP);
    if (!known.ok) return known;
    if (known.value !== undefined) return ok(undefined);
    const made = this.folder.createSecret(name + BACKUP, text);
    return made.ok ? ok(undefined) : made;
  }

  /** Adds the key to the published ones; those of earlier keys stay, so that their receipts still verify. */
  private publish(entry: PublicKeyEntry): Result<void> {
    const text = this.folder.readPublic(PUBLIC_KEYS_FILE);
    if (!text.ok) return text;
    const published = text.value === undefined ? ok([]) : parsePublicKeys(text.value);
    if (!published.ok) {
      const aside = this.folder.setAside(PUBLIC_KEYS_FILE);
      if (!aside.ok) return aside;
    }
    const entries = published.ok ? published.value : [];
    const known = entries.find(({ keyid }) => keyid === entry.keyid);
    if (known !== undefined && isAlwaysStated(known) === isAlwaysStated(entry)) return ok(undefined);
    const others = entries.filter(({ keyid }) => keyid !== entry.keyid);
    return this.folder.writePublic(PUBLIC_KEYS_FILE, serializePublicKeys([...others, entry]));
  }
}

function makeSigner(
  { scheme, entry, verifier }: Loaded & { readonly verifier: SignatureVerifier },
  keyPath: string,
  sign: ReceiptSigner['sign'],
): ReceiptSigner {
  return {
    scheme,
    keyPath,
    keyId: entry.keyid,
    sign,
    verify: (message, form, signature) =>
      verifier.check(keyPath, entry.keyid, message, form, signature).kind === 'good',
  };
}

/** The file that holds a scheme's key, or that would: `master.key`, unless that holds another's. */
function findSecret(folder: KeyFolder, scheme: SigningScheme): Result<{ name: string; text: string | undefined }> {
  const main = folder.readSecret(MASTER);
  if (!main.ok) return main;
  const path = join(folder.path, MASTER);
  const own = folder.readSecret(ownName(scheme));
  if (!own.ok) return own;
  if (own.value !== undefined) return ok({ name: ownName(scheme), text: own.value });
  if (main.value === undefined) return ok({ name: MASTER, text: undefined });
  const held = schemeOfSecret(main.value);
  if (held === undefined) return noKey(path, main.value);
  return ok(held === scheme ? { name: MASTER, text: main.value } : { name: ownName(scheme), text: undefined });
}

async function newSecret(scheme: SigningScheme): Promise<string> {
  if (scheme === 'ed25519') return randomBytes(ED25519_SEED_BYTES).toString('hex');
  const { makeMasterKey } = await import('./bsv');
  return makeMasterKey(randomBytes(SEED_BYTES));
}

async function readSecret(path: string, text: string, scheme: SigningScheme, account: string): Promise<Result<Loaded>> {
  const held = schemeOfSecret(text);
  if (held === undefined) return noKey(path, text);
  if (held !== scheme) {
    return fail('key_other_scheme', `The key file ${path} contains a key of scheme "${held}", not "${scheme}".`, {
      hint: 'Replace it with a key of the right scheme, or change signing.scheme in config.yaml.',
    });
  }
  if (scheme === 'ed25519') {
    const key = parseEd25519Secret(path, text);
    if (!key.ok) return key;
    return ok({ scheme, key: key.value, entry: ed25519Entry(ed25519PublicBytes(key.value), !isGoSecret(text)) });
  }
  const parsed = await parseHdSecret(path, text, account);
  if (!parsed.ok) return parsed;
  return ok({ scheme, account: parsed.value.node, entry: hdEntry(account, parsed.value.xpub) });
}

/**
 * The keys that receipts verify with: the published ones, and where none were published those of the private keys that
 * are there, derived in memory. Writes nothing.
 * @param accounts the paths of the accounts that are derived then; the configured one where there are none
 */
export async function readPublicKeys(
  folder: KeyFolder,
  derivation: KeyDerivation,
  accounts: readonly string[] = [],
): Promise<Result<PublicKeyEntry[]>> {
  const text = folder.readPublic(PUBLIC_KEYS_FILE);
  if (!text.ok) return text;
  if (text.value !== undefined) {
    return parsePublicKeys(text.value);
  }
  const entries: PublicKeyEntry[] = [];
  for (const scheme of SIGNING_SCHEMES) {
    const found = findSecret(folder, scheme);
    if (!found.ok) return found;
    if (found.value.text === undefined) continue;
    const path = join(folder.path, found.value.name);
    const wanted = scheme === 'hd' && accounts.length > 0 ? accounts : [accountPath(derivation)];
    for (const account of wanted) {
      const loaded = await readSecret(path, found.value.text, scheme, account);
      if (!loaded.ok) return loaded;
      entries.push(loaded.value.entry);
    }
  }
  return ok(entries);
}
