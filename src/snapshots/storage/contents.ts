import { ok } from '../../core/shared/errors';
import { refuse } from '../../core/snapshot/problem';
import { type TreePath, isWithin, parsePath, quotePath } from '../../core/snapshot/treePath';
import type { PrivateGit } from './privateGit';
import { type FileEntry, type ReadSnapshot, modeOf, readSnapshot } from './snapshotTree';
import type { Outcome } from './snapshotPorts';

/** A file of a snapshot. */
export interface SnapshotFile {
  readonly path: TreePath;
  readonly kind: 'file' | 'link';
  readonly executable: boolean;
  /** Permission bits; they say nothing of a link. */
  readonly mode: number;
  readonly id: string;
}

/** How a path differs between two snapshots. */
export interface SnapshotChange {
  readonly path: TreePath;
  /** `mode`: only permission bits; `type`: a file became a link or the reverse. */
  readonly kind: 'added' | 'modified' | 'removed' | 'mode' | 'type';
  /** Lines; absent for binary files, and where they weren't asked for. */
  readonly additions?: number;
  readonly deletions?: number;
  readonly binary?: boolean;
}

/** How two snapshots differ. */
export interface SnapshotDiff {
  /** Sorted by path. */
  readonly changes: readonly SnapshotChange[];
  /** Paths that one of both says nothing about, as `quotePath` writes them. */
  readonly unknown: readonly string[];
}

/** A file's content. */
export interface FileContent extends SnapshotFile {
  /** Of the whole content, in bytes. */
  readonly size: number;
  /** The first bytes, as many as were asked for; of a link, where it leads. */
  readonly bytes: Buffer;
}

/** A path whose entry differs between two trees of files; an entry is absent where the tree hasn't the path. */
export interface EntryChange {
  readonly path: TreePath;
  readonly before: FileEntry | undefined;
  readonly after: FileEntry | undefined;
}

const ENTRY = /^(\d+) (\w+) ([0-9a-f]+)\t([^]+)$/u;
const RAW = /^:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])$/u;
const LINES = /^(-|\d+)\t(-|\d+)\t([^]+)$/u;

function isEntryMode(mode: string): mode is FileEntry['mode'] {
  return mode === '100644' || mode === '100755' || mode === '120000';
}

/** The permission bits that a snapshot has for an entry. */
export function permissionsOf({ base, modes }: ReadSnapshot, path: TreePath, entry: FileEntry): number {
  return modes.get(path) ?? (entry.mode === '100755' ? base[1] : base[0]);
}

/** The differences of two trees of files, before to after. */
export async function entryChanges(git: PrivateGit, before: string, after: string): Promise<Outcome<EntryChange[]>> {
  if (before === after) return ok([]);
  const changes: EntryChange[] = [];
  let raw: RegExpExecArray | null = null;
  const listed = await git.records(['diff-tree', '-r', '-z', '--raw', '--no-renames', before, after], {}, (records) => {
    for (const record of records) {
      if (raw === null) {
        raw = RAW.exec(record);
        continue;
      }
      const [, modeA = '', modeB = '', idA = '', idB = ''] = raw;
      const entry = (mode: string, id: string): FileEntry | undefined => (isEntryMode(mode) ? { mode, id } : undefined);
      changes.push({ path: record, before: entry(modeA, idA), after: entry(modeB, idB) });
      raw = null;
    }
  });
  return listed.ok ? ok(changes) : listed;
}

/** What snapshots hold. Needs no worktree. */
export class SnapshotContents {
  constructor(private readonly git: PrivateGit) {}

  /** A snapshot without its files. */
  async meta(tree: string): Promise<Outcome<ReadSnapshot>> {
    return readSnapshot(this.git, tree);
  }

  /** The files of a snapshot, or those below some paths. */
  async list(tree: string, below: readonly TreePath[] = []): Promise<Outcome<SnapshotFile[]>> {
    const meta = await this.meta(tree);
    if (!meta.ok) return meta;
    const entries = await this.entries(meta.value.filesTree);
    if (!entries.ok) return entries;
    const chosen = entries.value.filter(([path]) => isWithin(path, below));
    return ok(chosen.map(([path, entry]) => fileOf(meta.value, path, entry)));
  }

  /** All entries of a tree of files. */
  async entries(tree: string): Promise<Outcome<[TreePath, FileEntry][]>> {
    const entries: [TreePath, FileEntry][] = [];
    const listed = await this.git.records(['ls-tree', '-r', '-z', tree], {}, (records) => {
      for (const record of records) {
        const [, mode = '', , id = '', path = ''] = ENTRY.exec(record) ?? [];
        if (isEntryMode(mode)) entries.push([path, { mode, id }]);
      }
    });
    return listed.ok ? ok(entries) : refuse('lost', 'Parts of the snapshot are missing.', { cause: listed.error });
  }

  /** A file as it was; `undefined` where the snapshot has none at the path. At most `maxBytes` of it are read. */
  async read(tree: string, path: TreePath, maxBytes: number): Promise<Outcome<FileContent | undefined>> {
    const meta = await this.meta(tree);
    if (!meta.ok) return meta;
    const found = await this.find(meta.value.filesTree, path);
    if (!found.ok || found.value === undefined) return found as Outcome<undefined>;
    const size = await this.git.run(['cat-file', '-s', found.value.id]);
    const bytes = size.ok ? await this.bytesOf(found.value.id, Math.min(maxBytes, Number(size.value))) : size;
    if (!size.ok || !bytes.ok)
      return refuse('lost', `The content of ${quotePath(path)} is no longer in the object database.`);
    return ok({ ...fileOf(meta.value, path, found.value), size: Number(size.value), bytes: bytes.value });
  }

  private async bytesOf(id: string, length: number): Promise<Outcome<Buffer>> {
    const pieces: Buffer[] = [];
    let read = 0;
    const enough = new Error('enough was read');
    try {
      const said = await this.git.stream(['cat-file', 'blob', id], {}, (piece) => {
        pieces.push(piece);
        read += piece.length;
        if (read > length) throw enough;
      });
      if (!said.ok) return said;
    } catch (error) {
      if (error !== enough) throw error;
    }
    return ok(Buffer.concat(pieces).subarray(0, length));
  }

  /** Goes down folder by folder: a path that is no text can't be an argument. */
  private async find(tree: string, path: TreePath): Promise<Outcome<FileEntry | undefined>> {
    let id = tree;
    const parts = path.split('/');
    for (const [at, part] of parts.entries()) {
      const listed = await this.git.run(['ls-tree', '-z', id]);
      if (!listed.ok) return refuse('lost', 'Parts of the snapshot are missing.', { cause: listed.error });
      const entry = listed.value.split('\0').find((record) => record.endsWith(`\t${part}`)) ?? '';
      const [, mode = '', type = '', entryId = ''] = ENTRY.exec(entry) ?? [];
      if (at === parts.length - 1) return ok(isEntryMode(mode) ? { mode, id: entryId } : undefined);
      if (type !== 'tree') return ok(undefined);
      id = entryId;
    }
    return ok(undefined);
  }

  /** How two snapshots differ, with numbers of lines where `stat` asks for them. */
  async diff(before: string, after: string, options: { readonly stat?: boolean } = {}): Promise<Outcome<SnapshotDiff>> {
    const [a, b] = [await this.meta(before), await this.meta(after)];
    if (!a.ok) return a;
    if (!b.ok) return b;
    const entries = await entryChanges(this.git, a.value.filesTree, b.value.filesTree);
    if (!entries.ok) return refuse('lost', 'Parts of the snapshots are missing.', { cause: entries.error });
    const lines = options.stat === true ? await this.lines(a.value.filesTree, b.value.filesTree) : ok(undefined);
    if (!lines.ok) return lines;
    const listed = new Set(entries.value.map(({ path }) => path));
    const unknown = unknownIn(a.value, b.value);
    const changes = entries.value
      .filter(({ path, before: was }) => !(was === undefined ? unknown.before : unknown.after)(path))
      .map((change): SnapshotChange => ({ path: change.path, kind: kindOf(change), ...lines.value?.get(change.path) }));
    const modes = modeChanges(a.value, b.value, listed).map((path): SnapshotChange => ({ path, kind: 'mode' }));
    const all = [...changes, ...modes].sort((x, y) => (x.path < y.path ? -1 : 1));
    return ok({ changes: all, unknown: unknown.paths });
  }

  /**
   * How the files of two snapshots differ, line by line, as `git diff` prints it, one character a byte.
   * @param paths files or folders; all where none are given
   * @param maxBytes what is beyond is left out
   */
  async patch(
    before: string,
    after: string,
    paths: readonly TreePath[],
    maxBytes: number,
  ): Promise<Outcome<{ readonly text: string; readonly isCut: boolean }>> {
    const [a, b] = [await this.meta(before), await this.meta(after)];
    if (!a.ok) return a;
    if (!b.ok) return b;
    const named = paths.map((path) => Buffer.from(path, 'latin1').toString('utf8'));
    const odd = named.find((name, at) => Buffer.from(name, 'utf8').toString('latin1') !== paths[at]);
    if (odd !== undefined)
      return refuse('failed', 'A path that is not valid UTF-8 can only be compared with --stat or --name-only.');
    const options = ['-r', '-p', '--no-color', '--no-renames', '--no-ext-diff', '--no-textconv'];
    const pieces: Buffer[] = [];
    let read = 0;
    const enough = new Error('enough was read');
    try {
      const args = ['diff-tree', ...options, a.value.filesTree, b.value.filesTree, '--', ...named];
      const said = await this.git.stream(args, {}, (piece) => {
        pieces.push(piece);
        read += piece.length;
        if (read > maxBytes) throw enough;
      });
      if (!said.ok) return refuse('lost', 'Parts of the snapshots are missing.', { cause: said.error });
    } catch (error) {
      if (error !== enough) throw error;
    }
    return ok({ text: Buffer.concat(pieces).subarray(0, maxBytes).toString('latin1'), isCut: read > maxBytes });
  }

  private async lines(before: string, after: string): Promise<Outcome<ReadonlyMap<TreePath, LineCounts>>> {
    const counts = new Map<TreePath, LineCounts>();
    const args = ['diff-tree', '-r', '-z', '--numstat', '--no-renames', '--no-ext-diff', '--no-textconv'];
    const listed = await this.git.records([...args, before, after], {}, (records) => {
      for (const record of records) {
        const [, added = '', removed = '', path = ''] = LINES.exec(record) ?? [];
        if (added === '-') counts.set(path, { binary: true });
        else if (path !== '') counts.set(path, { additions: Number(added), deletions: Number(removed) });
      }
    });
    return listed.ok ? ok(counts) : refuse('lost', 'Parts of the snapshots are missing.', { cause: listed.error });
  }
}

type LineCounts = Pick<SnapshotChange, 'additions' | 'deletions' | 'binary'>;

function fileOf(meta: ReadSnapshot, path: TreePath, entry: FileEntry): SnapshotFile {
  const { id, mode } = entry;
  const kind = mode === '120000' ? 'link' : 'file';
  return { path, kind, executable: mode === '100755', mode: permissionsOf(meta, path, entry), id };
}

function kindOf({ before, after }: EntryChange): SnapshotChange['kind'] {
  if (before === undefined) return 'added';
  if (after === undefined) return 'removed';
  if ((before.mode === '120000') !== (after.mode === '120000')) return 'type';
  return before.id === after.id ? 'mode' : 'modified';
}

/** Paths of which only the permission bits differ, beside those that differ otherwise. */
export function modeChanges(a: ReadSnapshot, b: ReadSnapshot, listed: ReadonlySet<TreePath>): TreePath[] {
  const paths = new Set([...a.modes.keys(), ...b.modes.keys()]);
  return [...paths].filter((path) => {
    const [inA, inB] = [a.modes.get(path), b.modes.get(path)];
    const like = inA ?? inB ?? 0;
    return !listed.has(path) && (inA ?? modeOf(a.base, like)) !== (inB ?? modeOf(b.base, like));
  });
}

/** Tells for which paths a snapshot can't say whether they were there. */
export function unknownPaths({ leftOut, notCheckedOut }: ReadSnapshot): (path: TreePath) => boolean {
  const names = leftOut.map(({ path }) => parsePath(path) ?? path);
  const single = new Set([...names.filter((path) => !path.endsWith('/')), ...notCheckedOut]);
  const folders = names.filter((path) => path.endsWith('/')).map((path) => path.slice(0, -1));
  return (path) => single.has(path) || (folders.length > 0 && isWithin(path, folders));
}

function unknownIn(a: ReadSnapshot, b: ReadSnapshot) {
  const [before, after] = [unknownPaths(a), unknownPaths(b)];
  const paths = [...new Set([...a.leftOut, ...b.leftOut].map(({ path }) => path))].sort();
  return { before, after, paths };
}
