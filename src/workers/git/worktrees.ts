import { basename, dirname, join, resolve, sep } from 'node:path';
import { AtlasError, unwrap } from '../../core/shared/errors';
import type { FileSystem, Ids } from '../../core/shared/ports';
import { locateRepository, readSmall } from '../../git/read/locate';
import { ensureFolder, renameWithRetry, replaceFile, unlinkWithRetry } from '../../system/files/atomicFile';
import { readForeignFile } from '../../system/files/foreignFile';
import type { ForgeFolder } from '../forgeFolder';
import { indexOf } from './gitIndex';
import { type TreeFiles, authorOf } from './gitObjects';
import type { HashName } from './gitPack';
import { type FolderFile, writeFolder } from '../slot/slotTree';
import type { WorkerGit } from './workerGit';

const MAX_LINK_BYTES = 64 * 1024;

/** Git's worktrees below `.forge/`, one a branch. They show what the branches hold; nothing is kept by them alone. */
export class ForgeWorktrees {
  constructor(
    private readonly git: WorkerGit,
    private readonly forge: ForgeFolder,
    private readonly ports: { readonly files: FileSystem; readonly ids: Ids },
  ) {}

  /** Git's own folder of the worktree at a path; `undefined` where there is no worktree of this repository. */
  gitDirOf(folder: string): string | undefined {
    if (!this.forge.isPlain(folder)) return undefined;
    // What git writes there itself; whatever else names the place takes a closer look.
    const link = readForeignFile(folder + sep + '.git', MAX_LINK_BYTES);
    const named = link.ok ? /^gitdir: (.+)\r?\n?$/u.exec(Buffer.from(link.value).toString('utf8'))?.[1] : undefined;
    if (named === undefined) return undefined;
    const plain = [this.forge.repository.commonDir, 'worktrees', basename(named)].join(sep);
    if (resolve(named) === plain && this.ports.files.stat(plain + sep + 'HEAD') !== undefined) return plain;
    const found = locateRepository(folder);
    const { commonDir } = this.forge.repository;
    // Whoever works in the folder can write there what they like: only what git itself has on its list is a worktree.
    const isListed = found !== undefined && dirname(found.gitDir) === join(commonDir, 'worktrees');
    const isOurs = found?.worktree === folder && found.commonDir === commonDir && isListed;
    return isOurs ? found.gitDir : undefined;
  }

  /** Whether files lie in a folder that is no worktree of ours any more: somebody removed or replaced its `.git`. */
  isDetached(folder: string): boolean {
    const { files } = this.ports;
    if (!this.forge.isPlain(folder) || this.gitDirOf(folder) !== undefined) return false;
    return files.list(folder).some((name) => name !== '.git');
  }

  /** Whether the worktree at a path has been written whole once: its index is made when that is done. */
  shows(folder: string): boolean {
    const gitDir = this.gitDirOf(folder);
    return gitDir !== undefined && this.ports.files.stat(gitDir + sep + 'index') !== undefined;
  }

  /**
   * Makes sure that a branch, which has to be there, has its worktree; adds it again where it was removed. Files that lie in a folder
   * without a worktree stay, or are moved aside. Says whether it was added, that is, holds nothing yet.
   */
  async ensure(folder: string, ref: string): Promise<{ readonly added: boolean }> {
    this.forge.prepare(folder);
    const other = this.otherBranch(folder, ref);
    if (other !== undefined)
      throw new AtlasError('unsafe_path', `${folder} has another branch checked out: ${other}.`, {
        hint: `Switch back: git -C "${folder}" checkout ${ref.replace(/^refs\/heads\//u, '')}`,
      });
    if (this.gitDirOf(folder) !== undefined) return { added: false };
    const { files } = this.ports;
    if (files.stat(folder) !== undefined && files.list(folder).length > 0) {
      if (this.reattach(folder)) return { added: false };
      // All that a git leaves that was killed while it added the worktree.
      if (files.list(folder).join() === '.git' && files.stat(join(folder, '.git'))?.kind !== 'folder')
        unlinkWithRetry(files, join(folder, '.git'));
      else renameWithRetry(files, folder, this.prepareAside(folder));
    }
    // --force: git still has the worktree on its list whose folder was removed; twice, where one that was killed while it added it left it locked.
    const args = ['worktree', 'add', '--force', '--force', '--no-checkout', folder, ref.replace(/^refs\/heads\//u, '')];
    const tool = authorOf('atlas');
    unwrap(await this.git.run(args, { env: { GIT_COMMITTER_NAME: tool.name, GIT_COMMITTER_EMAIL: tool.email } }));
    return { added: true };
  }

  /**
   * Has the worktree's index say what a commit holds. Not by git's own lock: a kill in between would leave it to keep out everybody, and
   * the index only says what the branch does. Throws file errors.
   */
  showFiles(folder: string, hash: HashName, shown: TreeFiles): void {
    const gitDir = this.gitDirOf(folder);
    if (gitDir === undefined) return;
    // What is half written lies in our own folder, where it is in nobody's way.
    const beside = join(this.forge.repository.commonDir, 'atlas', 'index');
    const { files, ids } = this.ports;
    replaceFile(files, ids, join(gitDir, 'index'), indexOf(hash, shown), { durable: false, beside });
  }

  /** Writes the file again that makes a folder a worktree, where git has it on its list. */
  private reattach(folder: string): boolean {
    const { files } = this.ports;
    const link = join(folder, '.git');
    const list = join(this.forge.repository.commonDir, 'worktrees');
    if (files.stat(link) !== undefined || files.stat(list) === undefined) return false;
    const name = files.list(list).find((each) => {
      const pointer = readSmall(join(list, each, 'gitdir'))?.trim();
      return pointer !== undefined && resolve(join(list, each), pointer) === link;
    });
    if (name === undefined) return false;
    files.write(link, `gitdir: ${join(list, name).replaceAll('\\', '/')}\n`, { exclusive: true });
    return this.gitDirOf(folder) !== undefined;
  }

  /** Keeps copies of files that somebody edited, where they are in nobody's way. Throws file errors. */
  keepAside(folder: string, edited: ReadonlyMap<string, FolderFile>): void {
    if (edited.size === 0) return;
    const target = this.prepareAside(folder);
    ensureFolder(this.ports.files, target);
    writeFolder(this.ports.files, this.ports.ids, target, edited);
  }

  private prepareAside(folder: string): string {
    const name = folder.slice(this.forge.path.length + 1).replaceAll(/[\\/]/gu, '.');
    const target = join(this.forge.path, 'set-aside', `${name}.${this.ports.ids.hex(4)}`);
    this.forge.prepare(target);
    return target;
  }

  /** The branch, or the commit, that somebody checked out in a folder of ours; `undefined` where it is its own. */
  otherBranch(folder: string, ref: string): string | undefined {
    const gitDir = this.gitDirOf(folder);
    const head = gitDir === undefined ? undefined : readSmall(join(gitDir, 'HEAD'))?.trim();
    return head === undefined || head === `ref: ${ref}` ? undefined : head.replace(/^ref: (?:refs\/heads\/)?/u, '');
  }
}
