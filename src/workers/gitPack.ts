import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';

/** How a repository names its objects. */
export type HashName = 'sha1' | 'sha256';

/** An object of git's that is to be written. */
export interface NewObject {
  readonly type: 'commit' | 'tree' | 'blob';
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** A file in a tree. */
export interface TreeEntry {
  /** As git writes it: `100644`, `100755`. */
  readonly mode: string;
  readonly id: string;
}

/** What stands in a tree, as it stands there: files, folders (`40000`) and others. */
export interface NamedEntry extends TreeEntry {
  readonly name: string;
}

const PACK_TYPES = { commit: 1, tree: 2, blob: 3 } as const;

/** The hash that made an id. */
export function hashOfId(id: string): HashName {
  return id.length === 64 ? 'sha256' : 'sha1';
}

/** An object with its id: the hash of its type, length and bytes (gitformat: "loose objects"). */
export function newObject(hash: HashName, type: NewObject['type'], content: Uint8Array | string): NewObject {
  const bytes = typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
  const id = createHash(hash).update(`${type} ${bytes.length}\0`).update(bytes).digest('hex');
  return { type, id, bytes };
}

/** A tree of entries; git's order is that of bytes, a folder counting as if its name ended with `/`. */
export function newTree(hash: HashName, entries: readonly NamedEntry[]): NewObject {
  const key = ({ mode, name }: NamedEntry): Buffer => Buffer.from(mode === '40000' ? `${name}/` : name, 'utf8');
  const lines = entries
    .map((entry) => ({ entry, key: key(entry) }))
    .sort((a, b) => Buffer.compare(a.key, b.key))
    .flatMap(({ entry: { mode, name, id } }) => [Buffer.from(`${mode} ${name}\0`, 'utf8'), Buffer.from(id, 'hex')]);
  return newObject(hash, 'tree', Buffer.concat(lines));
}

/** The entries of a tree's bytes; `undefined` where they are none. */
export function parseTree(bytes: Uint8Array, hash: HashName): NamedEntry[] | undefined {
  const tree = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = hash === 'sha1' ? 20 : 32;
  const entries: NamedEntry[] = [];
  let at = 0;
  while (at < tree.length) {
    const end = tree.indexOf(0, at);
    const [, mode = '', name = ''] = /^([0-7]+) (.+)$/su.exec(tree.toString('utf8', at, end < 0 ? at : end)) ?? [];
    if (name === '' || end + 1 + size > tree.length) return undefined;
    entries.push({ mode, name, id: tree.toString('hex', end + 1, end + 1 + size) });
    at = end + 1 + size;
  }
  return entries;
}

/** The objects as git's pack format has them (gitformat-pack), whole, without deltas: one call of git takes them all. */
export function packOf(hash: HashName, objects: Iterable<NewObject>): Buffer {
  const unique = [...new Map([...objects].map((each) => [each.id, each])).values()];
  const header = Buffer.alloc(12);
  header.write('PACK', 'latin1');
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(unique.length, 8);
  const parts = unique.flatMap(({ type, bytes }) => [entryHeader(PACK_TYPES[type], bytes.length), deflateSync(bytes)]);
  const body = Buffer.concat([header, ...parts]);
  return Buffer.concat([body, createHash(hash).update(body).digest()]);
}

/** Type and length: four bits of the length, then seven a byte, the lowest first. */
function entryHeader(type: number, length: number): Buffer {
  const bytes: number[] = [];
  let rest = Math.floor(length / 16);
  let byte = (type << 4) | (length % 16);
  while (rest > 0) {
    bytes.push(byte | 0x80);
    byte = rest % 128;
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, byte]);
}
