import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { AtlasError, Result } from '../../src/core/errors';
import type { FileSystem, Logger } from '../../src/core/ports';
import type { SigningScheme } from '../../src/core/receipt';
import { FileKeyManager, type SigningSettings } from '../../src/signing/keyManager';
import { loadWasm } from '../../src/signing/secp256k1';
import { StoreKeyFolder } from '../../src/storage/keyFolder';
import { NodeFileSystem } from '../../src/storage/nodeFileSystem';
import { systemClock, systemIds } from '../../src/storage/systemPorts';
import { DERIVATION } from './memoryKeys';

/** A log that keeps what it is told, as text. */
export class CollectingLog implements Logger {
  readonly lines: string[] = [];
  readonly debug = this.keeper('debug');
  readonly info = this.keeper('info');
  readonly warn = this.keeper('warn');
  readonly error = this.keeper('error');

  private keeper(level: string): Logger['info'] {
    return (message, data) => void this.lines.push(`${level} ${message} ${JSON.stringify(data ?? {})}`);
  }
}

/** A folder of keys on disk, and managers for it. */
export class KeyFolders {
  private readonly base = mkdtempSync(path.join(os.tmpdir(), 'atlas-keys-'));
  readonly path = path.join(this.base, 'home', 'keys');
  readonly log = new CollectingLog();

  constructor() {
    mkdirSync(path.dirname(this.path));
  }

  dispose(): void {
    rmSync(this.base, { recursive: true, force: true });
  }

  folder(files: FileSystem = new NodeFileSystem(), hasModes = true): StoreKeyFolder {
    return new StoreKeyFolder(this.path, { files, ids: systemIds, clock: systemClock, log: this.log }, hasModes);
  }

  manager(scheme: SigningScheme = 'hd', more: Partial<SigningSettings> = {}, folder = this.folder()): FileKeyManager {
    return new FileKeyManager(folder, { scheme, derivation: DERIVATION, ...more }, this.log, loadWasm);
  }

  /** Writes a file of the folder as something other than Atlas would. */
  put(name: string, text: string, mode = 0o600): void {
    mkdirSync(this.path, { recursive: true, mode: 0o700 });
    writeFileSync(this.file(name), text, { mode });
  }

  file(name: string): string {
    return path.join(this.path, name);
  }

  text(name: string): string {
    return readFileSync(this.file(name), 'utf8');
  }

  names(): string[] {
    return readdirSync(this.path).sort();
  }

  /** The permission bits of a file, or of the folder. */
  mode(name = ''): string {
    return (statSync(this.file(name)).mode & 0o777).toString(8);
  }
}

/** The error of a failure that has to be one. */
export function errorOf(result: Result<unknown>): AtlasError {
  if (result.ok) throw new Error('it went well');
  return result.error;
}
