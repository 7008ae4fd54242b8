import { join } from 'node:path';
import type { FileSystem, Logger, Repository } from '../../core/shared/ports';
import { type Concerns, FolderWatches, type Wanted } from '../../system/files/folderWatches';

interface WatchPorts {
  readonly files: FileSystem;
  readonly log: Logger;
}

/** More hooks than this are followed by their branches only. */
const MAX_FOLDERS = 200;

/** What programs write for a moment. Some systems don't name the file; then it may have been any. */
const isLasting: Concerns = (_event, name) => name === null || !/\.(?:lock|tmp)$/u.test(name);
const only =
  (wanted: string): Concerns =>
  (_event, name) =>
    name === null || name === wanted;

/**
 * Tells what happens to the workers of some repositories, by whatever process: where their branches lie in git's folder, and, while
 * anybody looks, in the hooks' folders.
 */
export class WorkersWatch {
  private readonly watches: FolderWatches;
  private readonly followed = new Set<string>();

  constructor(
    private readonly ports: WatchPorts,
    private readonly tell: () => void,
  ) {
    this.watches = new FolderWatches(ports.log);
  }

  /**
   * Watches a repository, as it is now. To be called before each look: folders come and go.
   * @param hooks the folders of hooks that somebody looks at; `undefined` while nobody does
   */
  follow(repository: Repository, hooks: readonly string[] | undefined): void {
    const wanted = [...this.branches(repository), ...(hooks === undefined ? [] : this.folders(repository, hooks))];
    this.watches.follow(repository.main, wanted);
    this.followed.add(repository.main);
  }

  private branches({ commonDir }: Repository): Wanted[] {
    const { tell } = this;
    const heads = join(commonDir, 'refs', 'heads');
    const forge = join(heads, 'forge');
    const hooks = join(forge, 'hooks');
    return [
      { folder: heads, concerns: only('forge'), tell },
      // Where git keeps branches in tables instead of files.
      { folder: join(commonDir, 'reftable'), concerns: isLasting, tell },
      ...[forge, hooks, ...this.foldersIn(hooks)].map((folder) => ({ folder, concerns: isLasting, tell })),
    ];
  }

  private folders({ main }: Repository, hooks: readonly string[]): Wanted[] {
    const { tell } = this;
    const base = join(main, '.forge', 'hooks');
    const inside = hooks.slice(0, MAX_FOLDERS).flatMap((folder) => [folder, join(folder, 'evidence')]);
    return [
      { folder: main, concerns: only('.forge'), tell },
      ...[base, ...this.foldersIn(base), ...inside].map((folder) => ({ folder, concerns: isLasting, tell })),
    ];
  }

  private foldersIn(folder: string): string[] {
    const { files } = this.ports;
    if (files.stat(folder)?.kind !== 'folder') return [];
    const all = files.list(folder).map((name) => join(folder, name));
    return all.filter((each) => files.stat(each)?.kind === 'folder').slice(0, MAX_FOLDERS);
  }

  /** Forgets all repositories but these. */
  keepOnly(repositories: readonly Repository[]): void {
    const kept = new Set(repositories.map(({ main }) => main));
    for (const main of this.followed) {
      if (kept.has(main)) continue;
      this.watches.follow(main, []);
      this.followed.delete(main);
    }
  }

  /** Stops watching. */
  close(): void {
    this.watches.close();
  }
}
