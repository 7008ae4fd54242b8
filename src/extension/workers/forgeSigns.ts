import { join } from 'node:path';
import type { FileSystem, Repository } from '../../core/shared/ports';
import { LEDGER_BRANCH } from '../../core/worker/names';

const MAX_PACKED_BYTES = 32 * 1024 * 1024;

/** Finds out cheaply, without starting git, whether repositories have workers: each first sling makes the ledger's branch. */
export class ForgeSigns {
  /** What packed-refs files said: one is read again only once it changed. */
  private readonly packed = new Map<string, { readonly mark: string; readonly isOurs: boolean }>();

  constructor(private readonly files: FileSystem) {}

  /** Whether a repository has workers, or had some whose branches were lost, or was cloned from one that shares them. */
  has({ commonDir, main }: Repository): boolean {
    const { files } = this;
    return (
      files.stat(join(commonDir, ...LEDGER_BRANCH.split('/'))) !== undefined ||
      files.stat(join(main, '.forge', 'ledger')) !== undefined ||
      this.isPacked(join(commonDir, 'packed-refs'))
    );
  }

  private isPacked(path: string): boolean {
    const stat = this.files.stat(path);
    if (stat?.kind !== 'file' || stat.size > MAX_PACKED_BYTES) return false;
    const mark = `${stat.ino}:${stat.mtimeMs}:${stat.size}`;
    const known = this.packed.get(path);
    if (known?.mark === mark) return known.isOurs;
    const isOurs = this.read(path);
    this.packed.set(path, { mark, isOurs });
    return isOurs;
  }

  private read(path: string): boolean {
    try {
      return Buffer.from(this.files.read(path, MAX_PACKED_BYTES)).includes('/forge/ledger\n');
    } catch {
      // git replaces it; the next look finds the new one.
      return false;
    }
  }
}
