import type { KeyObject } from 'node:crypto';
import { type Result, fail, ok } from '../core/shared/errors';
import type { SigningScheme } from '../core/receipt/receipt';
import type { PrivateHdNode } from './bsv';
import { ed25519FromSeed, ed25519PublicBytes } from './ed25519';

const SEED_HEX = 64;
const SEED_AND_PUBLIC_HEX = 128;
const NO_OTHER = 'Restore the right key, for example from its .bak. Atlas does not create another key.';

/** Which scheme a key file's text is for, told by its form; `undefined` for a text that is no key. */
export function schemeOfSecret(text: string): SigningScheme | undefined {
  const trimmed = text.trim();
  if (trimmed.startsWith('xprv')) return 'hd';
  return /^[0-9a-f]+$/iu.test(trimmed) ? 'ed25519' : undefined;
}

function wrong(code: 'key_format' | 'key_size', path: string, why: string): ReturnType<typeof fail> {
  return fail(code, `The key file ${path} ${why}.`, { hint: NO_OTHER });
}

/** Whether a key file's text is an Ed25519 key as the Go ATLAS writes it, which signs receipts without statements. */
export function isGoSecret(text: string): boolean {
  return text.trim().length === SEED_AND_PUBLIC_HEX;
}

/**
 * Reads a key file's text as an Ed25519 key: 64 hex digits are the seed, 128 the seed and its public key, as the Go
 * ATLAS writes it. No message holds a part of it.
 */
export function parseEd25519Secret(path: string, text: string): Result<KeyObject> {
  const hex = text.trim();
  if (hex.length !== SEED_HEX && hex.length !== SEED_AND_PUBLIC_HEX) {
    return wrong('key_size', path, `has ${hex.length} hex digits; an Ed25519 key has 64 or 128`);
  }
  const bytes = Buffer.from(hex, 'hex');
  const key = ed25519FromSeed(bytes.subarray(0, 32));
  const stated = bytes.subarray(32);
  if (stated.length > 0 && !stated.equals(ed25519PublicBytes(key))) {
    return wrong('key_format', path, 'contains a public key that does not match its seed');
  }
  return ok(key);
}

/** An account's private node with its extended public key. */
export interface HdAccount {
  readonly node: PrivateHdNode;
  readonly xpub: string;
}

/** Reads a key file's text as a master key (`xprv…`) and derives the account at a path. */
export async function parseHdSecret(path: string, text: string, account: string): Promise<Result<HdAccount>> {
  const { isPrivateKey, parseExtendedKey, privateNode } = await import('./bsv');
  const parsed = parseExtendedKey(text.trim());
  if (!parsed.ok) return wrong('key_format', path, 'is not an extended private key: its format or checksum is wrong');
  if (!isPrivateKey(parsed.value)) return wrong('key_format', path, 'contains a public key');
  if (parsed.value.depth !== 0) return wrong('key_format', path, 'contains a derived key, not a master key');
  const key = parsed.value.derive(account);
  return ok({ node: privateNode(key), xpub: key.toPublic().toString() });
}

/** What is said of a file that is neither. */
export function noKey(path: string, text: string): ReturnType<typeof fail> {
  if (text.trim() === '') return wrong('key_size', path, 'is empty');
  return wrong('key_format', path, 'contains neither an xprv… key nor the hex digits of an Ed25519 key');
}
