import { type Result, ok, unwrap } from '../../src/core/errors';
import type { KeyFolder } from '../../src/core/ports';
import type { SigningScheme } from '../../src/core/receipt';
import { silentLog } from '../../src/service/ports';
import { FileKeyManager, readPublicKeys } from '../../src/signing/keyManager';
import { type PublicKeyEntry } from '../../src/signing/publicKeys';
import { loadWasm } from '../../src/signing/secp256k1';

/** The derivation that holds where no setting says otherwise. */
export const DERIVATION = { purpose: 44, coinType: 236, account: 0 } as const;

/** A folder of keys in memory alone. */
export class MemoryKeyFolder implements KeyFolder {
  readonly path = 'keys';
  readonly files = new Map<string, string>();

  readSecret(name: string): Result<string | undefined> {
    return ok(this.files.get(name));
  }

  createSecret(name: string, text: string): Result<boolean> {
    if (this.files.has(name)) return ok(false);
    this.files.set(name, text);
    return ok(true);
  }

  readPublic(name: string): Result<string | undefined> {
    return ok(this.files.get(name));
  }

  writePublic(name: string, text: string): Result<void> {
    this.files.set(name, text);
    return ok(undefined);
  }

  setAside(name: string): Result<void> {
    this.files.delete(name);
    return ok(undefined);
  }
}

/** Keys that are made for one test, and what is published of them. */
export async function memoryKeys(
  scheme: SigningScheme,
): Promise<{ folder: MemoryKeyFolder; manager: FileKeyManager; published: PublicKeyEntry[] }> {
  const folder = new MemoryKeyFolder();
  const manager = new FileKeyManager(folder, { scheme, derivation: DERIVATION }, silentLog, loadWasm);
  unwrap(await manager.load());
  return { folder, manager, published: unwrap(await readPublicKeys(folder, DERIVATION)) };
}
