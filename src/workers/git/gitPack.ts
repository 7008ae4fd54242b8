import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import type { FileSystem, Ids } from '../../core/shared/ports';
import { discardFile, ensureFolder, renameWithRetry } from '../../system/files/atomicFile';

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

/**
 * Keeps objects as git itself does before it packs them (gitformat: "loose objects"), each whole and on disk; those that are there stay.
 * A process of git's would take as long for one as this for all. Throws file errors.
 */
export function writeLoose(files: FileSystem, ids: Ids, commonDir: string, objects: Iterable<NewObject>): void {
  const root = join(commonDir, 'objects');
  // In a repository that a group shares, git gives its folder the group's rights, and so do we.
  const mode = (files.stat(root)?.mode ?? 0o755) & 0o777;
  for (const { type, id, bytes } of objects) {
    const folder = join(root, id.slice(0, 2));
    const path = join(folder, id.slice(2));
    if (files.stat(path) !== undefined) continue;
    ensureFolder(files, folder, mode);
    // What is left of a write that was interrupted, git clears away by this name.
    const temporary = join(folder, `tmp_obj_${ids.hex(8)}`);
    const content = deflateSync(Buffer.concat([Buffer.from(`${type} ${bytes.length}\0`), bytes]));
    try {
      files.write(temporary, content, { exclusive: true, sync: true, mode: mode & 0o444 });
      renameWithRetry(files, temporary, path);
    } catch (error) {
      discardFile(files, temporary);
      if (files.stat(path) === undefined) throw error;
    }
  }
}
