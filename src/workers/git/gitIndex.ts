import { createHash } from 'node:crypto';
import type { HashName, TreeEntry } from './gitPack';

const HEADER_BYTES = 12;
/** Times, device, inode, owner and size, all unknown: git compares contents once it is asked. */
const STAT_BYTES = 24;
const MAX_NAME_LENGTH = 0xfff;

/** An index, version 2 (gitformat-index), that holds these files and has seen none of them yet, as `git read-tree` makes it. */
export function indexOf(hash: HashName, files: ReadonlyMap<string, TreeEntry>): Buffer {
  const entries = [...files]
    .map(([path, entry]) => ({ name: Buffer.from(path, 'utf8'), entry }))
    .sort((a, b) => Buffer.compare(a.name, b.name));
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('DIRC', 'latin1');
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(entries.length, 8);
  const body = Buffer.concat([header, ...entries.map(({ name, entry }) => entryOf(name, entry))]);
  return Buffer.concat([body, createHash(hash).update(body).digest()]);
}

function entryOf(name: Buffer, { mode, id }: TreeEntry): Buffer {
  const stat = Buffer.alloc(STAT_BYTES + 16);
  stat.writeUInt32BE(Number.parseInt(mode, 8), STAT_BYTES);
  const flags = Buffer.alloc(2);
  flags.writeUInt16BE(Math.min(name.length, MAX_NAME_LENGTH));
  const fixed = Buffer.concat([stat, Buffer.from(id, 'hex'), flags, name]);
  // Ends with one to eight zeros, at a multiple of eight.
  return Buffer.concat([fixed, Buffer.alloc(8 - (fixed.length % 8))]);
}
