import { join } from 'node:path';
import { AtlasError, type Result, fail, ok } from '../../core/shared/errors';
import { fileError } from '../../system/files/fileErrors';
import { ForgeFolder, type WorkerPorts } from '../forgeFolder';
import { LIMITS, bytesAllowed, sizeText, tooLarge } from '../../core/worker/limits';
import {
  ATTRIBUTES,
  type CommitAuthor,
  type CommitFiles,
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

/** A file to be read, of the commit with this index. */
interface Asked {
  readonly id: string;
  readonly path: string;
  readonly index: number;
}

/** A file that is read from git, or what is known of it already. */
type Wanted = { readonly id: string; readonly path: string } | { readonly known: TopFile };

/** Whether files that are to be committed can be read back: what is refused when it is read is not written either. */
function checkFiles(changes: Changes): Result<void> {
  for (const [path, file] of changes) {
    if (file === undefined) continue;
    const why = refusedPath(path);
    if (why !== undefined) return fail('unsafe_path', `${JSON.stringify(path)} can't be committed: ${why}.`);
    if (file.bytes.length > bytesAllowed(path))
      return fail('usage', `${tooLarge(path, file.bytes.length)}.`, { hint: 'Store large content in other files.' });
  }
  return ok(undefined);
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
   * Some files at the top of each commit, commit by commit. All files of one commit together count for `total`; where that is not enough
   * for all, the commits with the smallest are read.
   * @param seen what lies where such a file is shown: taken where it is what the commit has, instead of asking git for it
   */
  async read(
    commits: readonly string[],
    paths: readonly string[],
    total: number,
    seen: (index: number, path: string) => Uint8Array | undefined = () => undefined,
  ): Promise<Result<TopFile[][]>> {
    const summaries = await this.objects.summaries(commits);
    if (!summaries.ok) return summaries;
    const wanted = summaries.value.map(({ top, problem, isMissing }, index) => {
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
    if (!found.ok) return found;
    const crowded = { problem: `all branches together have more than ${sizeText(total)}`, isMissing: true };
    const answer = (file: Wanted): TopFile =>
      'id' in file ? (found.value.get(file.path + file.id) ?? crowded) : file.known;
    return ok(wanted.map((files) => files.map(answer)));
  }

  /** What is found of files, by path and id; nothing of the largest commits, where all are more than `total` bytes. */
  private async contents(asked: readonly Asked[], total: number): Promise<Result<ReadonlyMap<string, TopFile>>> {
    const sizes = await this.objects.sizes(asked.map(({ id }) => id));
    if (!sizes.ok) return sizes;
    const found = new Map<string, TopFile>();
    const sums = new Map<number, number>();
    for (const [at, { id, path, index }] of asked.entries()) {
      const size = sizes.value[at]?.size;
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
    if (!contents.ok) return contents;
    const byId = new Map(ids.map((id, at) => [id, contents.value[at]] as const));
    for (const { id, path } of wanted) {
      const bytes = byId.get(id);
      found.set(path + id, bytes === undefined ? { problem: `${path} is damaged`, isMissing: true } : { bytes });
    }
    return ok(found);
  }

  /** The files of a commit that are used, and what was left out of it. */
  async checked(commit: string): Promise<Result<CommitFiles>> {
    return this.objects.checkedFiles(commit);
  }

  /** All files of a commit that are used, with their content. */
  async readAll(commit: string): Promise<Result<ReadonlyMap<string, FolderFile>>> {
    const listed = await this.objects.files(commit);
    if (!listed.ok) return listed;
    const entries = [...listed.value];
    const limit = { each: LIMITS.branchBytes, total: LIMITS.branchBytes };
    const contents = await this.objects.read(
      entries.map(([, { id }]) => id),
      limit,
    );
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
    const own = before.value.has(ATTRIBUTES.path) ? [] : [[ATTRIBUTES.path, textFile(ATTRIBUTES.text)] as const];
    const changes = new Map<string, FolderFile | undefined>([...own, ...change.changes]);
    const shown = change.shown === undefined ? {} : { shown: new Map([...own, ...change.shown]) };
    const fits = checkFiles(changes);
    if (!fits.ok) return fits;
    const files = new Map<string, TreeEntry>(before.value);
    const blobs: NewObject[] = [];
    for (const [path, file] of changes) {
      files.delete(path);
      if (file === undefined) continue;
      const blob = newObject(hash.value, 'blob', file.bytes);
      blobs.push(blob);
      makeRoom(files, path);
      files.set(path, { mode: file.executable ? '100755' : '100644', id: blob.id });
    }
    const parents = [onto?.commit ?? from, merging].filter((parent) => parent !== undefined);
    const built = buildCommit(hash.value, { files, parents, message, author, at: this.ports.clock.now() });
    const commit = built.at(-1)?.id ?? '';
    this.objects.remember(commit, files);
    return ok({ ...change, ...shown, changes, commit, files, objects: [...(onto?.objects ?? []), ...blobs, ...built] });
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
      return { ok: false, error: fileError('write_failed', 'Git objects could not be written', error) };
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
          `"${each.message}" is recorded, but ${each.branch.folder} could not be updated: ${shown.error.message}`,
          {
            hint: 'Nothing is lost. Recover the worker to restore its folder.',
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
      return { ok: false, error: fileError('write_failed', `${folder} could not be created`, error) };
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
      return { ok: false, error: fileError('write_failed', `${branch.folder} could not be written`, error) };
    }
  }
}
