import type { FileData, FileStat, FileSystem } from '../../../src/core/shared/ports';
import { bytesOf, nodeError } from '../fixtures/store';

/** The part of a disk that is written as a whole, in bytes. */
export const SECTOR = 512;

interface Inode {
  readonly kind: 'file' | 'folder';
  readonly mode: number;
  readonly data: Uint8Array;
  readonly entries: ReadonlyMap<string, number>;
}

/** Something that was asked of the disk and that it may still forget. `of`: the file or folder whose sync makes it last. */
export type Pending = { readonly of: number; readonly what: string } & (
  | { readonly type: 'link'; readonly name: string; readonly id: number; readonly made: Inode }
  | { readonly type: 'unlink'; readonly name: string }
  | { readonly type: 'rename'; readonly from: string; readonly to: string; readonly id: number; readonly made: Inode }
  | { readonly type: 'data'; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly type: 'size'; readonly size: number }
  | { readonly type: 'mode'; readonly mode: number }
);

/**
 * What a loss of power makes of something pending. `torn`: of a write only some sectors arrive, though the file's length
 * did (what is between is zeros or garbage), or the file ends with the last sector that arrived (`short`).
 */
export type Fate =
  'kept' | 'lost' | { readonly torn: readonly boolean[]; readonly filler: 'zeros' | 'garbage' | 'short' };

type Inodes = Map<number, Inode>;

const ROOT = 1;
const FOLDER: Inode = { kind: 'folder', mode: 0o755, data: new Uint8Array(), entries: new Map() };

/** How many sectors a write touches; borders are those of the file. */
export function sectorsOf({ offset, bytes }: { readonly offset: number; readonly bytes: Uint8Array }): number {
  return bytes.length === 0 ? 0 : Math.ceil((offset + bytes.length) / SECTOR) - Math.floor(offset / SECTOR);
}

function resized(data: Uint8Array, size: number, filler = 0): Uint8Array {
  const next = new Uint8Array(size).fill(filler);
  next.set(data.subarray(0, size));
  return next;
}

function tornData(
  before: Uint8Array,
  { offset, bytes }: { offset: number; bytes: Uint8Array },
  fate: Fate,
): Uint8Array {
  if (fate === 'lost') return before;
  const torn = fate === 'kept' ? undefined : fate;
  const end = offset + bytes.length;
  const first = Math.floor(offset / SECTOR);
  const arrives = (at: number): boolean => torn?.torn[Math.floor(at / SECTOR) - first] ?? true;
  const next = resized(before, Math.max(before.length, end), torn?.filler === 'garbage' ? 0xa5 : 0);
  let last = before.length;
  for (let at = offset; at < end; at += 1) {
    if (!arrives(at)) continue;
    next[at] = bytes[at - offset] ?? 0;
    last = Math.max(last, at + 1);
  }
  return torn?.filler === 'short' ? next.subarray(0, last) : next;
}

function apply(inodes: Inodes, op: Pending, fate: Fate = 'kept'): void {
  if (fate === 'lost') return;
  const isEntry = op.type === 'link' || op.type === 'unlink' || op.type === 'rename';
  const inode = inodes.get(op.of) ?? { ...FOLDER, kind: isEntry ? 'folder' : 'file' };
  if (isEntry) {
    const entries = new Map(inode.entries);
    if (op.type === 'unlink') entries.delete(op.name);
    else {
      if (op.type === 'rename') entries.delete(op.from);
      entries.set(op.type === 'rename' ? op.to : op.name, op.id);
      if (!inodes.has(op.id)) inodes.set(op.id, op.made);
    }
    inodes.set(op.of, { ...inode, entries });
  } else if (op.type === 'mode') inodes.set(op.of, { ...inode, mode: op.mode });
  else if (op.type === 'size') inodes.set(op.of, { ...inode, data: resized(inode.data, op.size) });
  else inodes.set(op.of, { ...inode, data: tornData(inode.data, op, fate) });
}

interface State {
  readonly live: Inodes;
  readonly durable: Inodes;
  readonly pending: readonly Pending[];
  readonly times: ReadonlyMap<number, number>;
  readonly next: number;
}

/**
 * A disk in memory that knows what it may forget: a write until its file is synced, an entry (create, link, rename,
 * unlink) until its folder is. Syncing a file doesn't sync its entry, which is the least that POSIX promises. A rename
 * is one thing: it is there or it isn't. There are no symbolic links, and no renames between folders.
 */
export class SimulatedDisk implements FileSystem {
  /** Called after each single thing that reached the disk, un-synced writes inside of a synced one included. */
  onStep: ((disk: SimulatedDisk) => void) | undefined;
  private live: Inodes = new Map([[ROOT, FOLDER]]);
  private durable: Inodes = new Map([[ROOT, FOLDER]]);
  private waiting: Pending[] = [];
  private times = new Map<number, number>();
  private next = ROOT + 1;

  constructor(private readonly now: () => number = Date.now) {}

  /** What may be forgotten now, in the order in which it was asked for. */
  get pending(): readonly Pending[] {
    return this.waiting;
  }

  /** The disk as it is now, to go on from another time. */
  save(): State {
    return {
      live: new Map(this.live),
      durable: new Map(this.durable),
      pending: [...this.waiting],
      times: new Map(this.times),
      next: this.next,
    };
  }

  /** A disk in a state that was saved. */
  static at(state: State, now: () => number = Date.now): SimulatedDisk {
    const disk = new SimulatedDisk(now);
    disk.live = new Map(state.live);
    disk.durable = new Map(state.durable);
    disk.waiting = [...state.pending];
    disk.times = new Map(state.times);
    disk.next = state.next;
    return disk;
  }

  /** What is left of a state after a loss of power: what lasts, and of the rest what fate keeps, in its order. */
  static afterPowerLoss(
    state: State,
    fateOf: (op: Pending, index: number) => Fate,
    now: () => number = Date.now,
  ): SimulatedDisk {
    const left: Inodes = new Map(state.durable);
    state.pending.forEach((op, index) => {
      apply(left, op, fateOf(op, index));
    });
    return SimulatedDisk.at({ ...state, live: left, durable: left, pending: [] }, now);
  }

  /** Makes all last, as a long time without a failure does. */
  settle(): void {
    for (const op of this.waiting) apply(this.durable, op);
    this.waiting = [];
  }

  private step(op: Pending): void {
    apply(this.live, op);
    this.waiting.push(op);
    this.times.set(op.of, this.now());
    this.onStep?.(this);
  }

  private sync(id: number): void {
    for (const op of this.waiting.filter(({ of }) => of === id)) apply(this.durable, op);
    this.waiting = this.waiting.filter(({ of }) => of !== id);
    this.onStep?.(this);
  }

  private find(path: string): number | undefined {
    let id = ROOT;
    for (const name of path.split(/[\\/]/u).filter((part) => part !== '')) {
      const inode = this.live.get(id);
      if (inode?.kind === 'file') throw nodeError('ENOTDIR');
      const next = inode?.entries.get(name);
      if (next === undefined) return undefined;
      id = next;
    }
    return id;
  }

  private get(path: string, kind?: Inode['kind']): { id: number; inode: Inode } {
    const id = this.find(path);
    const inode = id === undefined ? undefined : this.live.get(id);
    if (id === undefined || inode === undefined) throw nodeError('ENOENT');
    if (kind === 'file' && inode.kind === 'folder') throw nodeError('EISDIR');
    if (kind === 'folder' && inode.kind === 'file') throw nodeError('ENOTDIR');
    return { id, inode };
  }

  private parent(path: string): { folder: number; name: string } {
    const cut = Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\'));
    return { folder: this.get(path.slice(0, cut), 'folder').id, name: path.slice(cut + 1) };
  }

  private make(path: string, inode: Inode): number {
    const { folder, name } = this.parent(path);
    const id = this.next;
    this.next += 1;
    this.times.set(id, this.now());
    this.step({ of: folder, what: `create ${path}`, type: 'link', name, id, made: inode });
    return id;
  }

  private put(id: number, path: string, offset: number, data: FileData): void {
    const bytes = Uint8Array.from(bytesOf(data));
    if (bytes.length > 0) this.step({ of: id, what: `write ${path}`, type: 'data', offset, bytes });
  }

  read(path: string, maxBytes: number): Uint8Array {
    const { data } = this.get(path, 'file').inode;
    if (data.length > maxBytes) throw nodeError('EFBIG');
    return Uint8Array.from(data);
  }

  readAt(path: string, position: number, length: number): Uint8Array {
    return this.get(path, 'file').inode.data.slice(position, position + length);
  }

  write(path: string, data: FileData, options: { mode?: number; exclusive?: boolean; sync?: boolean } = {}): void {
    let id = this.find(path);
    if (id !== undefined && options.exclusive === true) throw nodeError('EEXIST');
    if (id === undefined) id = this.make(path, { ...FOLDER, kind: 'file', mode: options.mode ?? 0o644 });
    else if (this.get(path, 'file').inode.data.length > 0) {
      this.step({ of: id, what: `empty ${path}`, type: 'size', size: 0 });
    }
    this.put(id, path, 0, data);
    if (options.sync === true) this.sync(id);
  }

  append(path: string, data: string | Uint8Array, options: { sync?: boolean } = {}): void {
    const id = this.find(path) ?? this.make(path, { ...FOLDER, kind: 'file', mode: 0o644 });
    this.put(id, path, this.get(path, 'file').inode.data.length, data);
    if (options.sync === true) this.sync(id);
  }

  truncate(path: string, size: number): void {
    const { id } = this.get(path, 'file');
    this.step({ of: id, what: `truncate ${path}`, type: 'size', size });
    this.sync(id);
  }

  rename(from: string, to: string): void {
    const { id, inode } = this.get(from);
    const [source, target] = [this.parent(from), this.parent(to)];
    if (source.folder !== target.folder) throw nodeError('EXDEV');
    if (this.find(to) === id) return;
    const names = { from: source.name, to: target.name };
    this.step({
      of: source.folder,
      what: `rename ${from} to ${names.to}`,
      type: 'rename',
      ...names,
      id,
      made: blank(inode),
    });
  }

  link(existing: string, path: string): void {
    const { id, inode } = this.get(existing, 'file');
    if (this.find(path) !== undefined) throw nodeError('EEXIST');
    const { folder, name } = this.parent(path);
    this.step({ of: folder, what: `link ${path}`, type: 'link', name, id, made: blank(inode) });
  }

  symlink(): void {
    throw nodeError('EPERM');
  }

  unlink(path: string): void {
    this.get(path, 'file');
    const { folder, name } = this.parent(path);
    this.step({ of: folder, what: `unlink ${path}`, type: 'unlink', name });
  }

  removeFolder(path: string): void {
    if (this.find(path) === undefined) return;
    for (const [name, id] of this.get(path, 'folder').inode.entries) {
      if (this.live.get(id)?.kind === 'folder') this.removeFolder(`${path}/${name}`);
      else this.unlink(`${path}/${name}`);
    }
    const { folder, name } = this.parent(path);
    this.step({ of: folder, what: `remove ${path}`, type: 'unlink', name });
  }

  removeEmptyFolder(path: string): void {
    if (this.list(path).length > 0) throw nodeError('ENOTEMPTY');
    this.removeFolder(path);
  }

  makeFolder(path: string, mode = 0o755): void {
    if (this.find(path) !== undefined) throw nodeError('EEXIST');
    this.make(path, { ...FOLDER, mode });
  }

  list(path: string): string[] {
    return [...this.get(path, 'folder').inode.entries.keys()];
  }

  exists(path: string): boolean {
    return this.stat(path) !== undefined;
  }

  stat(path: string): FileStat | undefined {
    try {
      const { id, inode } = this.get(path);
      const { kind, mode, data } = inode;
      return { kind, size: data.length, mtimeMs: this.times.get(id) ?? 0, ino: String(id), mode };
    } catch {
      return undefined;
    }
  }

  touch(path: string, mtimeMs: number): void {
    this.times.set(this.get(path).id, mtimeMs);
  }

  chmod(path: string, mode: number): void {
    this.step({ of: this.get(path).id, what: `chmod ${path}`, type: 'mode', mode });
  }

  realPath(path: string): string {
    this.get(path);
    return path;
  }

  syncFolder(path: string): void {
    this.sync(this.get(path, 'folder').id);
  }
}

/** What an entry leads to if nothing that was written to it lasts. */
function blank({ kind, mode }: Inode): Inode {
  return { ...FOLDER, kind, mode };
}
