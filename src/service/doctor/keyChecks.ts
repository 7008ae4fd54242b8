import { join } from 'node:path';
import { accountsOf, derivationFor } from '../../core/receipt/keyPath';
import { ok } from '../../core/shared/errors';
import type { KeyFolder } from '../../core/shared/ports';
import { count } from '../../core/shared/text';
import { FileKeyManager, readPublicKeys } from '../../signing/keyManager';
import { PUBLIC_KEYS_FILE, type PublicKeyEntry, openPublicKeys, parsePublicKeys } from '../../signing/publicKeys';
import { StoreKeyFolder } from '../../store/keys/keyFolder';
import type { Examination } from './report';

/** What only its user may read, beside the signing keys. */
const ALSO_SECRET = 'verdicts.key';
const SECRET = /^master(?:\.[a-z0-9]+)?\.key(?:\.bak)?$/u;
const OTHERS = 0o077;

/** Looks at keys/: who may read it, whether the key can be used, and whether its public key is published. */
export async function checkKeys(exam: Examination): Promise<void> {
  const { paths, files } = exam.atlas.ports;
  const kind = files.stat(paths.keys)?.kind;
  if (kind === undefined) return;
  if (kind !== 'folder') {
    exam.problem('keys', paths.keys, `The key folder is a ${kind}.`, 'Replace it with the folder itself.');
    return;
  }
  await narrow(exam, paths.keys, 0o700);
  const secrets = files.list(paths.keys).filter((name) => SECRET.test(name));
  for (const name of [...secrets, ALSO_SECRET]) {
    const path = join(paths.keys, name);
    if (files.stat(path)?.kind === 'file') await narrow(exam, path, 0o600);
  }
  if (secrets.length > 0) await checkUse(exam, secrets);
}

async function narrow(exam: Examination, path: string, mode: number): Promise<void> {
  const { files } = exam.atlas.ports;
  const found = files.stat(path)?.mode ?? mode;
  if (process.platform === 'win32' || (found & OTHERS) === 0) return;
  await exam.repair('keys', path, {
    wrong: `Other users can access it (mode ${found.toString(8)}).`,
    done: `Other users could access it (mode ${found.toString(8)}). They no longer can.`,
    byHand: `Run as its owner: chmod ${mode.toString(8)} "${path}"`,
    act: () => files.chmod(path, mode),
  });
}

async function checkUse(exam: Examination, secrets: readonly string[]): Promise<void> {
  const { atlas } = exam;
  const { config } = await atlas.configs.forWorktree(undefined);
  // It must not narrow anything by itself: without `fix` nothing is written.
  const folder = new StoreKeyFolder(atlas.ports.paths.keys, atlas.ports, false);
  const signed = signedAccounts(exam);
  // Where nothing was signed yet, whichever account is published will do: a repository's is, once its key is trusted.
  const accounts = signed.length > 0 ? signed : publishedAccounts(folder);
  const held = await readPublicKeys(withoutPublished(folder), derivationFor(config.keyDerivation), accounts);
  if (!held.ok) {
    exam.failed('keys', folder.path, held.error, 'Restore the right key file, for example from its .bak.');
    return;
  }
  for (const backup of secrets.filter((name) => name.endsWith('.bak'))) {
    const name = backup.slice(0, -'.bak'.length);
    if (secrets.includes(name)) continue;
    const hint = `Copy ${backup} to ${name} in ${folder.path}. Atlas does not create another key.`;
    exam.problem('keys', join(folder.path, name), 'The signing key is missing, but its backup exists.', hint);
  }
  if (held.value.length === 0) return;
  const missing = await unpublished(exam, folder, held.value);
  if (missing === 0) {
    exam.ok('keys', folder.path, 'The signing key is usable and its public key is published.');
    return;
  }
  await publish(exam, folder, missing, held.value);
}

/** The accounts that signed receipts of this store: each repository has one of its own. */
function signedAccounts({ atlas }: Examination): string[] {
  const receipts = atlas.workspaces.names().flatMap((workspace) =>
    [...atlas.catalog.open(workspace), ...atlas.catalog.finished(workspace)].flatMap((ref) => {
      const read = atlas.catalog.read(ref);
      return read.ok ? read.value.hook.receipts : [];
    }),
  );
  return accountsOf(receipts);
}

/** The accounts whose public keys are published. */
function publishedAccounts(folder: KeyFolder): string[] {
  const text = folder.readPublic(PUBLIC_KEYS_FILE);
  const parsed = text.ok && text.value !== undefined ? parsePublicKeys(text.value) : undefined;
  return parsed?.ok === true ? parsed.value.flatMap(({ scheme, path }) => (scheme === 'hd' ? [path] : [])) : [];
}

/** The folder as if nothing were published: then what is asked for is derived from the private keys. */
function withoutPublished(folder: KeyFolder): KeyFolder {
  return {
    path: folder.path,
    readSecret: (name) => folder.readSecret(name),
    createSecret: (name, text) => folder.createSecret(name, text),
    readPublic: () => ok(undefined),
    writePublic: (name, text) => folder.writePublic(name, text),
    setAside: (name) => folder.setAside(name),
  };
}

/** How many of these keys are not published; all of them where the file can't be read. */
async function unpublished(exam: Examination, folder: KeyFolder, held: readonly PublicKeyEntry[]): Promise<number> {
  const text = folder.readPublic(PUBLIC_KEYS_FILE);
  const parsed = text.ok && text.value !== undefined ? parsePublicKeys(text.value) : text;
  if (!parsed.ok || parsed.value === undefined) return held.length;
  const entries = typeof parsed.value === 'string' ? [] : parsed.value;
  const opened = await openPublicKeys(entries);
  if (!opened.ok) {
    const path = join(folder.path, PUBLIC_KEYS_FILE);
    exam.failed('keys', path, opened.error, 'Restore the file from a backup.');
  }
  return held.filter(({ keyid }) => !entries.some((entry) => entry.keyid === keyid)).length;
}

async function publish(
  exam: Examination,
  folder: KeyFolder,
  missing: number,
  held: readonly PublicKeyEntry[],
): Promise<void> {
  const { atlas } = exam;
  const path = join(folder.path, PUBLIC_KEYS_FILE);
  await exam.repair('keys', path, {
    wrong: `${count(missing, 'public key')} of this store ${missing === 1 ? 'is' : 'are'} missing here, so its receipts can't be verified.`,
    done: 'The public key was published again.',
    byHand: 'Restore the file from a backup, or check its permissions.',
    act: async () => {
      const { curve } = await atlas.receipts();
      const { config } = await atlas.configs.forWorktree(undefined);
      for (const { scheme, path: keyPath } of held) {
        const account = scheme === 'hd' ? Number(/(\d+)'$/u.exec(keyPath)?.[1] ?? 0) : 0;
        const settings = { scheme, derivation: { ...config.keyDerivation, account } };
        const loaded = await new FileKeyManager(folder, settings, atlas.ports.log, curve).load();
        if (!loaded.ok) throw loaded.error;
      }
    },
  });
}
