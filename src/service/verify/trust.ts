import { join } from 'node:path';
import { type Result, fail, ok } from '../../core/shared/errors';
import type { Repository } from '../../core/shared/ports';
import { accountPath, derivationFor } from '../../core/receipt/keyPath';
import { ED25519_KEY_PATH } from '../../core/receipt/receipt';
import { toTimestamp } from '../../core/shared/time';
import { type SignerKind, TRUSTED_KEYS_FILE } from '../../core/verify/policy';
import { parseTrustedKeys, serializeTrustedKeys } from '../../core/verify/trustedKeys';
import { rootsOf } from '../../git/read/roots';
import { gitOn } from '../../git/notes/objects';
import { FileKeyManager } from '../../signing/keyManager';
import { ensureFolder, replaceFile } from '../../system/files/atomicFile';
import { fileError } from '../../system/files/fileErrors';
import { placedAt } from '../../system/files/placedFile';
import type { AtlasReader } from '../atlasReader';

const MAX_BYTES = 1024 * 1024;

/** What `trustOwnKey` did. */
export interface Trusted {
  readonly path: string;
  readonly name: string;
  readonly kind: SignerKind;
  readonly keyId: string;
  readonly keyPath: string;
  /** Whether the file has it only since. */
  readonly added: boolean;
}

/** The key manager of the account that signs for a repository. */
export async function keysFor(atlas: AtlasReader, roots: readonly string[]): Promise<FileKeyManager> {
  const { config } = await atlas.configs.forWorktree(undefined);
  const receipts = await atlas.receipts();
  const settings = { scheme: config.signing.scheme, derivation: derivationFor(config.keyDerivation, roots) };
  return new FileKeyManager(receipts.keys, settings, atlas.ports.log, receipts.curve);
}

/** Adds the key that signs for a repository on this machine to its trusted ones, in the worktree. Commits nothing. */
export async function trustOwnKey(
  atlas: AtlasReader,
  repository: Repository,
  { name, kind }: { readonly name: string | undefined; readonly kind: SignerKind },
): Promise<Result<Trusted>> {
  const roots = await rootsOf(repository);
  if (roots.length === 0) {
    return fail('git_failed', 'This repository has no first commit here, from which its key is derived.', {
      hint: 'Commit something first; in a shallow clone, run: git fetch --unshallow',
    });
  }
  const keys = await keysFor(atlas, roots);
  const signer = await keys.newSigner({ task: 0, receipt: 0 });
  if (!signer.ok) return signer;
  const published = await (await atlas.receipts()).publicKeys();
  if (!published.ok) return published;
  const own = published.value.find(({ keyid }) => keyid === signer.value.keyId);
  if (own === undefined) return fail('key_missing', 'The public key was not published.');
  const { config } = await atlas.configs.forWorktree(undefined);
  const keyPath = own.scheme === 'hd' ? accountPath(derivationFor(config.keyDerivation, roots)) : ED25519_KEY_PATH;
  const key = own.scheme === 'hd' ? own.xpub : own.public_key;
  const who = name ?? (await ownName(repository));
  if (who === undefined)
    return fail('usage', 'Whose key it is, is not known.', { hint: 'Name yourself: atlas keys trust --name "Ana"' });
  const path = join(repository.worktree, TRUSTED_KEYS_FILE);
  const { files, ids, clock } = atlas.ports;
  try {
    const placed = placedAt(files, path, 'file', repository.worktree);
    if (placed.kind === 'refused') return fail('unsafe_path', `${path}: ${placed.why}`);
    const text =
      placed.kind === 'absent' ? undefined : Buffer.from(files.read(placed.real, MAX_BYTES)).toString('utf8');
    const trusted = text === undefined ? ok([]) : parseTrustedKeys(text);
    if (!trusted.ok) return fail('invalid_config', trusted.error.message, { hint: 'Fix the file and try again.' });
    const known = trusted.value.find((entry) => entry.keys.includes(key));
    const said = { path, keyId: signer.value.keyId, keyPath };
    if (known !== undefined) return ok({ ...said, name: known.name, kind: known.kind, added: false });
    const entry = {
      name: who,
      scheme: own.scheme,
      path: keyPath,
      keys: [key],
      kind,
      added: toTimestamp(clock.now()).slice(0, 10),
    };
    ensureFolder(files, join(repository.worktree, '.atlas'));
    replaceFile(files, ids, path, serializeTrustedKeys([...trusted.value, entry]), { durable: true });
    return ok({ ...said, name: who, kind, added: true });
  } catch (error) {
    return { ok: false, error: fileError('write_failed', `${path} could not be changed`, error) };
  }
}

async function ownName(repository: Repository): Promise<string | undefined> {
  const run = await gitOn(repository, ['config', '--get', 'user.name']);
  const name = run.ok ? run.value.trim() : '';
  return name === '' ? undefined : name.slice(0, 100);
}
