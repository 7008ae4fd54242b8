import { join } from 'node:path';
import { AtlasError, type Result, fail, ok } from '../core/errors';
import { fileError } from '../storage/fileErrors';
import { ForgeFolder, type WorkerPorts } from './forgeFolder';
import { type CommitAuthor, GitObjects, type RefMove, type TreeFiles, authorOf, buildCommit } from './gitObjects';
import { type NewObject, type TreeEntry, hashOfId, newObject } from './gitPack';
import { type FolderFile, isSafePath, writeFolder } from './hookTree';
import { WorkerGit } from './workerGit';
import { ForgeWorktrees } from './worktrees';
import type { Repository } from '../core/ports';

/** In each of our trees: bytes stay as they are wherever git checks them out, so that hashes hold. */
const ATTRIBUTES = { path: '.gitattributes', text: '* -text -filter -ident\n' } as const;
const PREFIX = 'refs/heads/forge/';

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
  /** The folder is left as it is. */
  readonly unseen?: boolean;
  readonly message: string;
  readonly author: CommitAuthor;
}

/** What another commit can go on from. */
export interface CommitBefore {
  readonly commit: string;
  /** All its files. */
  readonly files: TreeFiles;
  /** What git has to keep before a branch can have it. */
  readonly objects: readonly NewObject[];
}

/** A commit that was made, and that its branch does not have yet. */
export interface MadeCommit extends Change, CommitBefore {}

/** Has commits come about, all or none. */
export type Publish = (made: readonly MadeCommit[]) => Promise<Result<void>>;

/** The file of a hook that is written last: where it is what the branch says, all else is. */
const LAST = 'status.json';

function lastLast(changes: Changes): Changes {
  const rest = [...changes].filter(([path]) => path !== LAST);
  return changes.has(LAST) ? new Map([...rest, [LAST, changes.get(LAST)]]) : changes;
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
    private readonly ports: WorkerPorts,
  ) {
    this.git = new WorkerGit(repository);
    this.forge = new ForgeFolder(repository, ports);
    this.worktrees = new ForgeWorktrees(this.git, this.forge, ports);
    this.objects = new GitObjects(this.git, ports);
  }

  /** The commits of all our branches, by full name. */
  async tips(): Promise<Result<ReadonlyMap<string, string>>> {
    return this.objects.branches([PREFIX]);
  }

  /** Where a remote's branches of ours were when we last heard of them, by the name that they have there. */
  async tipsOf(remote: string): Promise<Result<ReadonlyMap<string, string>>> {
    const prefix = `refs/remotes/${remote}/forge/`;
    const tips = await this.objects.branches([prefix]);
    if (!tips.ok) return tips;
    return ok(new Map([...tips.value].map(([ref, commit]) => [PREFIX + ref.slice(prefix.length), commit])));
  }

  /**
   * Some files at the top of each commit, commit by commit; `undefined` where there is none.
   * @param seen what lies where such a file is shown: taken where it is what the commit has, instead of asking git for it
   */
  async read(
    commits: readonly string[],
    paths: readonly string[],
    seen: (index: number, path: string) => Uint8Array | undefined = () => undefined,
  ): Promise<Result<(Uint8Array | undefined)[]>> {
    const trees = await this.objects.treesOf(commits);
    if (!trees.ok) return trees;
    const wanted = commits.flatMap((commit, index) => {
      const tree = trees.value[index];
      return paths.map((path) => {
        // Of what is not here, git says itself what it knows.
        const id = tree === undefined ? `${commit}:${path}` : tree.find(({ name }) => name === path)?.id;
        const bytes = id === undefined ? undefined : seen(index, path);
        const isSame = bytes !== undefined && newObject(hashOfId(commit), 'blob', bytes).id === id;
        return { id, bytes: isSame ? bytes : undefined };
      });
    });
    const asked = wanted.flatMap(({ id, bytes }) => (id === undefined || bytes !== undefined ? [] : [id]));
    const contents = await this.objects.read(asked);
    if (!contents.ok) return contents;
    const answers = contents.value.values();
    return ok(wanted.map(({ id, bytes }) => (id === undefined || bytes !== undefined ? bytes : answers.next().value)));
  }

  /** All files of a commit that can lie in a folder. */
  async readAll(commit: string): Promise<Result<ReadonlyMap<string, FolderFile>>> {
    const listed = await this.objects.files(commit);
    if (!listed.ok) return listed;
    const entries = [...listed.value].filter(([path]) => isSafePath(path));
    const contents = await this.objects.read(entries.map(([, { id }]) => id));
    if (!contents.ok) return contents;
    return ok(
      new Map(
        entries.flatMap(([path, { mode }], index): [string, FolderFile][] => {
          const bytes = contents.value[index];
          return bytes === undefined ? [] : [[path, { bytes, executable: mode === '100755' }]];
        }),
      ),
    );
  }

  /** Makes a commit, in memory: nothing is written before it is published. */
  async make(change: Change): Promise<Result<MadeCommit>> {
    const { onto, from, merging, message, author } = change;
    const hash = await this.objects.hash();
    if (!hash.ok) return hash;
    const before = onto !== undefined ? ok(onto.files) : await this.filesOf(from);
    if (!before.ok) return before;
    const changes = new Map<string, FolderFile | undefined>([
      ...(before.value.has(ATTRIBUTES.path) ? [] : [[ATTRIBUTES.path, textFile(ATTRIBUTES.text)] as const]),
      ...change.changes,
    ]);
    const files = new Map<string, TreeEntry>(before.value);
    const blobs: NewObject[] = [];
    for (const [path, file] of changes) {
      files.delete(path);
      if (file === undefined) continue;
      const blob = newObject(hash.value, 'blob', file.bytes);
      blobs.push(blob);
      files.set(path, { mode: file.executable ? '100755' : '100644', id: blob.id });
    }
    const parents = [onto?.commit ?? from, merging].filter((parent) => parent !== undefined);
    const built = buildCommit(hash.value, { files, parents, message, author, at: this.ports.clock.now() });
    const commit = built.at(-1)?.id ?? '';
    this.objects.remember(commit, files);
    return ok({ ...change, changes, commit, files, objects: [...(onto?.objects ?? []), ...blobs, ...built] });
  }

  /** A commit that is there, to go on from. */
  async before(commit: string): Promise<Result<CommitBefore>> {
    const files = await this.objects.files(commit);
    return files.ok ? ok({ commit, files: files.value, objects: [] }) : files;
  }

  private async filesOf(commit: string | undefined): Promise<Result<TreeFiles>> {
    return commit === undefined ? ok(new Map()) : this.objects.files(commit);
  }

  /**
   * Moves the branches to the commits that were made for them, all or none, and has the folders show them. Then it is recorded: where
   * a folder can't be written, that is said (`recorded_not_written`), and it is made again when it is needed.
   */
  async publish(made: readonly MadeCommit[]): Promise<Result<void>> {
    const stored = this.store(made);
    return stored.ok ? this.settle(made) : stored;
  }

  /** Keeps commits, before any branch has them. What can't be shown at all is not begun. */
  store(made: readonly MadeCommit[]): Result<void> {
    for (const { branch, unseen } of made) {
      const safe = unseen === true ? ok(undefined) : this.prepare(branch);
      if (!safe.ok) return safe;
    }
    try {
      this.objects.store(made.flatMap((each) => each.objects));
      return ok(undefined);
    } catch (error) {
      return { ok: false, error: fileError('write_failed', "Git's objects can't be written", error) };
    }
  }

  /** Moves the branches to commits that are kept, and `also` those that follow a remote's, all or none; has the folders show them. */
  async settle(made: readonly MadeCommit[], also: readonly RefMove[] = []): Promise<Result<void>> {
    const moves = [
      ...made.map(({ branch, from, commit }): RefMove => ({ ref: branch.ref, from, to: commit })),
      ...also,
    ];
    if (moves.length === 0) return ok(undefined);
    const { author, message } = made[0] ?? { author: authorOf('atlas'), message: 'sync' };
    const moved = await this.objects.move(moves, author, message);
    if (!moved.ok) return moved;
    for (const each of made) {
      if (each.unseen === true) continue;
      const shown = await this.show(each.branch, each.commit, each.shown ?? each.changes);
      if (!shown.ok)
        return fail(
          'recorded_not_written',
          `"${each.message}" is recorded, but ${each.branch.folder} can't show it: ${shown.error.message}`,
          {
            mend: 'Nothing is lost: recover the worker, and its folder is made again.',
            cause: shown.error,
          },
        );
    }
    return ok(undefined);
  }

  /** Whether a file in a branch's folder has the size that it should: what is only added to is then as it should be. */
  hasSize({ folder }: ForgeBranch, path: string, size: number): boolean {
    return this.ports.files.stat(join(folder, path))?.size === size;
  }

  private prepare({ folder }: ForgeBranch): Result<void> {
    try {
      return this.forge.prepare(folder);
    } catch (error) {
      return { ok: false, error: fileError('write_failed', `${folder} can't be made`, error) };
    }
  }

  /** Has a branch's folder show a commit: adds it where it is not there, else only writes what is named. */
  async show(branch: ForgeBranch, commit: string, changes: Changes): Promise<Result<{ readonly added: boolean }>> {
    try {
      const ensured = await this.worktrees.ensure(branch.folder, branch.ref);
      if (!ensured.ok) return ensured;
      const indexed = await this.objects.files(commit);
      if (!indexed.ok) return indexed;
      const { files, ids } = this.ports;
      const hash = hashOfId(commit);
      if (this.worktrees.shows(branch.folder)) {
        this.worktrees.showFiles(branch.folder, hash, indexed.value);
        writeFolder(files, ids, branch.folder, lastLast(changes));
        return ensured;
      }
      const all = await this.readAll(commit);
      if (!all.ok) return all;
      writeFolder(files, ids, branch.folder, all.value);
      this.worktrees.showFiles(branch.folder, hash, indexed.value);
      return ensured;
    } catch (error) {
      if (error instanceof AtlasError) return { ok: false, error };
      return { ok: false, error: fileError('write_failed', `${branch.folder} can't be written`, error) };
    }
  }
}
