import { dirname, join } from 'node:path';
import { AtlasError, type KeyErrorCode, type Result, fail, messageOf, ok } from '../../core/shared/errors';
import type { Clock, FileStat, FileSystem, Ids, KeyFolder, Logger } from '../../core/shared/ports';
import { createFile, ensureFolder, renameWithRetry, replaceFile } from '../../system/files/atomicFile';
import { codeOf, fileError } from '../../system/files/fileErrors';

const FOLDER_MODE = 0o700;
const SECRET_MODE = 0o600;
const PUBLIC_MODE = 0o644;
const OTHERS = 0o077;
/** Far more than any key has. */
const MAX_KEY_BYTES = 16 * 1024;
const MAX_PUBLIC_BYTES = 1024 * 1024;

interface KeyFolderPorts {
  readonly files: FileSystem;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly log: Logger;
}

/** keys/: private keys for their owner alone, the public ones for all who read the store. */
export class StoreKeyFolder implements KeyFolder {
  /**
   * @param path the folder
   * @param hasModes whether this system has permission bits; Windows keeps a user's folder to its user
   */
  constructor(
    readonly path: string,
    private readonly ports: KeyFolderPorts,
    private readonly hasModes = process.platform !== 'win32',
  ) {}

  readSecret(name: string): Result<string | undefined> {
    const path = join(this.path, name);
    return this.guard('key_unreadable', `The key file ${path} could not be read`, () => {
      const stat = this.ports.files.stat(path);
      if (stat === undefined) return ok(undefined);
      if (stat.kind !== 'file') {
        return fail('key_unreadable', `The key file ${path} is ${stat.kind === 'link' ? 'a link' : 'not a file'}.`, {
          hint: 'Replace it with the key file itself. Atlas does not create another key.',
        });
      }
      const folder = this.narrow(this.path, this.ports.files.stat(this.path), FOLDER_MODE);
      const file = folder.ok ? this.narrow(path, stat, SECRET_MODE) : folder;
      if (!file.ok) return file;
      if (stat.size > MAX_KEY_BYTES)
        return fail('key_size', `The key file ${path} has ${stat.size} bytes, too many for a key.`, PUT_BACK);
      return ok(Buffer.from(this.ports.files.read(path, MAX_KEY_BYTES)).toString('utf8'));
    });
  }

  createSecret(name: string, text: string): Result<boolean> {
    const path = join(this.path, name);
    return this.guard('write_failed', `The key file ${path} could not be created`, () => {
      ensureFolder(this.ports.files, this.path, FOLDER_MODE);
      const folder = this.narrow(this.path, this.ports.files.stat(this.path), FOLDER_MODE);
      if (!folder.ok) return folder;
      return ok(createFile(this.ports.files, this.ports.ids, path, text, SECRET_MODE));
    });
  }

  readPublic(name: string): Result<string | undefined> {
    const path = join(this.path, name);
    return this.guard('unreadable', `The public key file ${path} could not be read`, () => {
      if (this.ports.files.stat(path) === undefined) return ok(undefined);
      return ok(Buffer.from(this.ports.files.read(path, MAX_PUBLIC_BYTES)).toString('utf8'));
    });
  }

  writePublic(name: string, text: string): Result<void> {
    const path = join(this.path, name);
    return this.guard('write_failed', `The public key file ${path} could not be written`, () => {
      replaceFile(this.ports.files, this.ports.ids, path, text, { durable: true, mode: PUBLIC_MODE });
      return ok(undefined);
    });
  }

  setAside(name: string): Result<void> {
    const path = join(this.path, name);
    const stamp = new Date(this.ports.clock.now()).toISOString().replace(/[-:.]/gu, '');
    return this.guard('write_failed', `${path} could not be moved aside`, () => {
      renameWithRetry(this.ports.files, path, `${path}.corrupt-${stamp}`);
      this.ports.files.syncFolder(dirname(path));
      this.ports.log.warn('A public key file could not be read. It was set aside and is regenerated.', { path });
      return ok(undefined);
    });
  }

  /** Takes away what others may do with a file of keys. */
  private narrow(path: string, stat: FileStat | undefined, mode: number): Result<void> {
    if (!this.hasModes || stat === undefined || (stat.mode & OTHERS) === 0) return ok(undefined);
    const wide = stat.mode.toString(8);
    try {
      this.ports.files.chmod(path, mode);
    } catch (error) {
      return fail('key_too_open', `Other users can access ${path} (mode ${wide}): ${messageOf(error)}`, {
        hint: `Run chmod ${mode.toString(8)} on it as its owner.`,
        cause: error,
      });
    }
    this.ports.log.warn('Other users could access a key file. They no longer can.', { path, mode: wide });
    return ok(undefined);
  }

  private guard<T>(code: KeyErrorCode | 'write_failed' | 'unreadable', what: string, use: () => Result<T>): Result<T> {
    try {
      return use();
    } catch (error) {
      if (error instanceof AtlasError) return { ok: false, error };
      // Another program's half-made file is the one case that a second try fixes.
      return {
        ok: false,
        error: fileError(codeOf(error) === 'EFBIG' && code === 'key_unreadable' ? 'key_size' : code, what, error),
      };
    }
  }
}

const PUT_BACK = { hint: 'Restore the right file, for example from its .bak. Atlas does not create another key.' };
