import { type Result, ok, unwrap } from '../../src/core/errors';
import type { SigningScheme } from '../../src/core/receipt';
import type { Atlas } from '../../src/service/atlas';
import { FileKeyManager } from '../../src/signing/keyManager';
import type { TaskRef } from '../../src/storage/paths';
import type { CrashWorld } from './crashWorld';
import { DERIVATION } from './memoryKeys';

/** Throws what is wrong unless it holds. */
export function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** Does something synchronous that throws where it fails, as one that returns. */
export async function tried<T>(act: () => T | Promise<T>): Promise<Result<T>> {
  return ok(await act());
}

/** Many times faster than the other scheme, whose key has use cases of its own. */
export const ED25519 = 'hooks:\n  signing:\n    scheme: ed25519\n';

/** Writes config.yaml. */
export function config(world: CrashWorld, text: string): void {
  const { root, files } = world.stage;
  if (files.stat(root) === undefined) files.makeFolder(root);
  files.write(`${root}/config.yaml`, text, { sync: true });
  files.syncFolder(root);
}

function keyManager(atlas: Atlas, scheme: SigningScheme): Promise<FileKeyManager> {
  return atlas
    .receipts()
    .then(({ keys, curve }) => new FileKeyManager(keys, { scheme, derivation: DERIVATION }, atlas.ports.log, curve));
}

/** Loads the signing key of a scheme, made if need be; gives its id. */
export const keyOf = async (atlas: Atlas, scheme: SigningScheme): Promise<string> =>
  unwrap(await (await keyManager(atlas, scheme)).newSigner({ task: 0, receipt: 0 })).keyId;

/** Each receipt of a task has its statement, and all of it verifies. */
export async function checkReceipts(atlas: Atlas, ref: TaskRef): Promise<void> {
  const stored = unwrap(atlas.store.read(ref));
  const reports = unwrap(await (await atlas.receipts()).reports(stored));
  must(reports.size === stored.hook.receipts.length, 'a receipt has no report');
  for (const { verdict } of reports.values()) must(verdict === 'valid', `a receipt is ${verdict}`);
}
