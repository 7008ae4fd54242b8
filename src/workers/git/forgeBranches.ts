import { join } from 'node:path';
import { AtlasError, messageOf } from '../../core/shared/errors';
import { failureOf, fileError } from '../../system/files/fileErrors';
import { ForgeFolder, type WorkerPorts } from '../forgeFolder';
import { LIMITS, bytesAllowed, tooLarge } from '../../core/worker/limits';
import { sizeText } from '../../core/shared/text';
import {
  ATTRIBUTES,
  type CommitAuthor,
  GitObjects,
  type RefMove,
  type TopFile,
  type TreeFiles,
  authorOf,
  buildCommit,
} from './gitObjects';
import { type NewObject, type TreeEntry, hashOfId, newObject } from './gitPack';
import { type FolderFile, writeFolder } from '../slot/slotTree';
import { withinLimit } from './objectReader';
import { refusedPath } from './treePaths';
import { WorkerGit } from './workerGit';
import { ForgeWorktrees } from './worktrees';
import type { Repository } from '../../core/shared/ports';

const PREFIX = 'refs/heads/forge/';
const NO_FILES: TreeFiles = new Map();

/** A branch of ours and the folder that shows it. */
export interface ForgeBranch {
  readonly ref: string;
  readonly folder: string;
}

/** What a commit changes; `undefined` removes a file. */
export type Changes = ReadonlyMap<string, FolderFile | undefined>;

/** A commit that is to be made on a branch. */
export interface Change {
  readonly branch: ForgeBranch;
  /** Where the branch is; `undefined` where it is not there yet. */
  readonly from: string | undefined;
  /** The commit before, where that is not the branch's: one that was only just made and comes about with this one, or a remote's. */
  readonly onto?: CommitBefore | undefined;
  /** Another commit whose history this one goes on with, and none of whose files it takes. */
  readonly merging?: string | undefined;
  readonly changes: Changes;
  /** What of it is written to the folder; all, unless given: what came from there may have been changed again since. */
  readonly shown?: Changes;
  readonly unseen?: boolean;
  readonly message: string;
  readonly author: CommitAuthor;
}

/** What another commit can go on from. */
export interface CommitBefore {
  readonly commit: string;
  readonly files: TreeFiles;
  /** What git has to keep before a branch can have it. */
  readonly objects: readonly NewObject[];
}

/** A commit that was made, and that its branch does not have yet. */
export interface MadeCommit extends Change, CommitBefore {}

/** Has commits come about, all or none. */
export type Publish = (made: readonly MadeCommit[]) => Promise<void>;

/** The file of a hook that is written last: where it is what the branch says, all else is. */
const LAST = 'status.json';

function lastLast(changes: Changes): Changes {
  const rest = [...changes].filter(([path]) => path !== LAST);
  return changes.has(LAST) ? new Map([...rest, [LAST, changes.get(LAST)]]) : changes;
}

/** A file to be read, of the commit with this index. */
interface Asked {
  readonly id: string;
  readonly path: string;
  readonly index: number;
}

/** A file that is read from git, or what is known of it already. */
type Wanted = { readonly id: string; readonly path: string } | { readonly known: TopFile };

/** Whether files that are to be committed can be read back: what is refused when it is read is not written either. */
function checkFiles(changes: Changes): void {
  for (const [path, file] of changes) {
    if (file === undefined) continue;
    const why = refusedPath(path);
    if (why !== undefined) throw new AtlasError('unsafe_path', `${JSON.stringify(path)} can't be committed: ${why}.`);
    if (file.bytes.length > bytesAllowed(path))
      throw new AtlasError('usage', `${tooLarge(path, file.bytes.length)}.`, {
        hint: 'Store large content in other files.',
      });
  }
}

/** Nothing can be both a file and a folder: what is set later takes the place. */
function makeRoom(files: Map<string, TreeEntry>, path: string): void {
  for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1))
    files.delete(path.slice(0, slash));
  if (files.has(path)) return;
  for (const other of files.keys()) if (other.startsWith(`${path}/`)) files.delete(other);
}

/** A text as a file. */
export function textFile(text: string): FolderFile {
  return { bytes: Buffer.from(text, 'utf8'), executable: false };
}

/** The branches below `forge/`: read from git's objects, changed by commits, shown in worktrees. What the branches say is what counts. */
export class ForgeBranches {
  readonly forge: ForgeFolder;
  readonly worktrees: ForgeWorktrees;
  readonly git: WorkerGit;
  readonly objects: GitObjects;

  constructor(
    repository: Repository,
    readonly ports: WorkerPorts,
  ) {
    this.git = new WorkerGit(repository);
    this.forge = new ForgeFolder(repository, ports);
    this.worktrees = new ForgeWorktrees(this.git, this.forge, ports);
    this.objects = new GitObjects(this.git, ports);
  }

  /** The commits of all our branches, by full name. */
  async tips(): Promise<ReadonlyMap<string, string>> {
    return this.objects.branches([PREFIX]);
  }

  /** Where a remote's branches of ours were when we last heard of them, by the name that they have there. */
  async tipsOf(remote: string): Promise<ReadonlyMap<string, string>> {
    const prefix = `refs/remotes/${remote}/forge/`;
    const tips = await this.objects.branches([prefix]);
    return new Map([...tips].map(([ref, commit]) => [PREFIX + ref.slice(prefix.length), commit]));
  }

  /**
   * Some files at the top of each commit, commit by commit. All files of one commit together count for `total`; where that is not enough
   * for all, the commits with the smallest are read.
   * @param seen what lies where such a file is shown: taken where it is what the commit has, instead of asking git for it
   */
  async read(
    commits: readonly string[],
    paths: readonly string[],
    total: number,
    seen: (index: number, path: string) => Uint8Array | undefined = () => undefined,
  ): Promise<TopFile[][]> {
    const summaries = await this.objects.trees.summaries(commits);
    const wanted = summaries.map(({ top, problem, isMissing }, index) => {
      if (problem !== undefined) return paths.map((): Wanted => ({ known: { problem, isMissing } }));
      return paths.map((path): Wanted => {
        const id = top.get(path)?.id;
        if (id === undefined) return { known: undefined };
        const bytes = seen(index, path);
        const isSame = bytes !== undefined && newObject(hashOfId(id), 'blob', bytes).id === id;
        return isSame ? { known: { bytes } } : { id, path };
      });
    });
    const asked = wanted.flatMap((files, index) => files.flatMap((file) => ('id' in file ? [{ ...file, index }] : [])));
    const found = await this.contents(asked, total);
    const crowded = { problem: `all branches together have more than ${sizeText(total)}`, isMissing: true };
    const answer = (file: Wanted): TopFile => ('id' in file ? (found.get(file.path + file.id) ?? crowded) : file.known);
    return wanted.map((files) => files.map(answer));
  }

  /** What is found of files, by path and id; nothing of the largest commits, where all are more than `total` bytes. */
  private async contents(asked: readonly Asked[], total: number): Promise<ReadonlyMap<string, TopFile>> {
    const sizes = await this.objects.sizes(asked.map(({ id }) => id));
    const found = new Map<string, TopFile>();
    const sums = new Map<number, number>();
    for (const [at, { id, path, index }] of asked.entries()) {
      const size = sizes[at]?.size;
      if (size === undefined) found.set(path + id, { problem: `${path} is missing or damaged`, isMissing: true });
      else if (size > bytesAllowed(path)) found.set(path + id, { problem: tooLarge(path, size), isMissing: false });
      else sums.set(index, (sums.get(index) ?? 0) + size);
    }
    const order = [...sums];
    const all = order.map(([, sum]) => sum);
    const read = new Set([...withinLimit(all, { each: total, total })].map((at) => order[at]?.[0]));
    const wanted = asked.filter(({ id, path, index }) => read.has(index) && !found.has(path + id));
    const ids = [...new Set(wanted.map(({ id }) => id))];
    const contents = await this.objects.read(ids, { each: total, total });
    const byId = new Map(ids.map((id, at) => [id, contents[at]] as const));
    for (const { id, path } of wanted) {
      const bytes = byId.get(id);
      found.set(path + id, bytes === undefined ? { problem: `${path} is damaged`, isMissing: true } : { bytes });
    }
    return found;
  }

  /** All files of a commit that are used, with their content. */
  async readAll(commit: string): Promise<ReadonlyMap<string, FolderFile>> {
    const entries = [...(await this.objects.files(commit))];
    const ids = entries.map(([, { id }]) => id);
    const contents = await this.objects.read(ids, { each: LIMITS.branchBytes, total: LIMITS.branchBytes });
    const files = new Map<string, FolderFile>();
    for (const [index, [path, { mode }]] of entries.entries()) {
      const bytes = contents[index];
      if (bytes !== undefined) files.set(path, { bytes, executable: mode === '100755' });
    }
    return files;
  }

  /** Makes a commit, in memory: nothing is written before it is published. */
  async make(change: Change): Promise<MadeCommit> {
    const { onto, from, merging, message, author } = change;
    const hash = await this.objects.hash();
    const before = onto?.files ?? (from === undefined ? NO_FILES : await this.objects.files(from));
    const own = before.has(ATTRIBUTES.path) ? [] : [[ATTRIBUTES.path, textFile(ATTRIBUTES.text)] as const];
    const changes = new Map<string, FolderFile | undefined>([...own, ...change.changes]);
    const shown = change.shown === undefined ? {} : { shown: new Map([...own, ...change.shown]) };
    checkFiles(changes);
    const files = new Map(before);
    const blobs: NewObject[] = [];
    for (const [path, file] of changes) {
      files.delete(path);
      if (file === undefined) continue;
      const blob = newObject(hash, 'blob', file.bytes);
      blobs.push(blob);
      makeRoom(files, path);
      files.set(path, { mode: file.executable ? '100755' : '100644', id: blob.id });
    }
    const parents = [onto?.commit ?? from, merging].filter((parent) => parent !== undefined);
    const built = buildCommit(hash, { files, parents, message, author, at: this.ports.clock.now() });
    const commit = built.at(-1)?.id ?? '';
    this.objects.remember(commit, files);
    return { ...change, ...shown, changes, commit, files, objects: [...(onto?.objects ?? []), ...blobs, ...built] };
  }

  /** A commit that is there, to go on from. */
  async before(commit: string): Promise<CommitBefore> {
    return { commit, files: await this.objects.files(commit), objects: [] };
  }

  /**
   * Moves the branches to the commits that were made for them, all or none, and has the folders show them. Then it is recorded: where
   * a folder can't be written, that is said (`recorded_not_written`), and it is made again when it is needed.
   */
  async publish(made: readonly MadeCommit[]): Promise<void> {
    this.store(made);
    await this.settle(made);
  }

  /** Keeps commits, before any branch has them. What can't be shown at all is not begun. */
  store(made: readonly MadeCommit[]): void {
    for (const { branch, unseen } of made) if (unseen !== true) this.prepare(branch.folder);
    try {
      this.objects.store(made.flatMap((each) => each.objects));
    } catch (error) {
      throw fileError('write_failed', 'Git objects could not be written', error);
    }
  }

  private prepare(folder: string): void {
    try {
      this.forge.prepare(folder);
    } catch (error) {
      throw failureOf('write_failed', `${folder} could not be created`, error).error;
    }
  }

  /** Moves the branches to commits that are kept, and `also` those that follow a remote's, all or none; has the folders show them. */
  async settle(made: readonly MadeCommit[], also: readonly RefMove[] = []): Promise<void> {
    const moves = [
      ...made.map(({ branch, from, commit }): RefMove => ({ ref: branch.ref, from, to: commit })),
      ...also,
    ];
    if (moves.length === 0) return;
    const { author, message } = made[0] ?? { author: authorOf('atlas'), message: 'sync' };
    await this.objects.move(moves, author, message);
    for (const each of made) {
      if (each.unseen === true) continue;
      try {
        await this.show(each.branch, each.commit, each.shown ?? each.changes);
      } catch (error) {
        throw new AtlasError(
          'recorded_not_written',
          `"${each.message}" is recorded, but ${each.branch.folder} could not be updated: ${messageOf(error)}`,
          { hint: 'Nothing is lost. Recover the worker to restore its folder.', cause: error },
        );
      }
    }
  }

  /** Whether a file in a branch's folder has the size that it should: what is only added to is then as it should be. */
  hasSize({ folder }: ForgeBranch, path: string, size: number): boolean {
    return this.ports.files.stat(join(folder, path))?.size === size;
  }

  /** Has a branch's folder show a commit: adds it where it is not there, else only writes what is named. */
  async show(branch: ForgeBranch, commit: string, changes: Changes): Promise<{ readonly added: boolean }> {
    try {
      const ensured = await this.worktrees.ensure(branch.folder, branch.ref);
      const indexed = await this.objects.files(commit);
      const { files, ids } = this.ports;
      const hash = hashOfId(commit);
      if (this.worktrees.shows(branch.folder)) {
        this.worktrees.showFiles(branch.folder, hash, indexed);
        writeFolder(files, ids, branch.folder, lastLast(changes));
      } else {
        writeFolder(files, ids, branch.folder, await this.readAll(commit));
        this.worktrees.showFiles(branch.folder, hash, indexed);
      }
      return ensured;
    } catch (error) {
      throw failureOf('write_failed', `${branch.folder} could not be written`, error).error;
    }
  }
}
