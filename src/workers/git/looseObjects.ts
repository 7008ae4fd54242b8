import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { constants as zlib, inflateSync } from 'node:zlib';
import { LIMITS } from '../../core/worker/limits';
import type { GitObject } from './objectReader';

const ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/u;
/** Holds the type and the size, at the beginning of the file. */
const HEAD_BYTES = 128;
const MAX_HEADER = 64;
/** What a compressed file may have beyond its content. */
const SLACK_BYTES = 1024;

/**
 * An object that lies in a file of its own (gitformat: "loose objects"), its content only where that is at most `limit` bytes;
 * `undefined` where it lies elsewhere, or is not sound.
 */
function readLoose(commonDir: string, id: string, limit: number): GitObject | undefined {
  if (!ID.test(id)) return undefined;
  try {
    const path = join(commonDir, 'objects', id.slice(0, 2), id.slice(2));
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return read(file, id, limit);
    } finally {
      closeSync(file);
    }
  } catch {
    // It is packed, or not here: git knows.
    return undefined;
  }
}

function read(file: number, id: string, limit: number): GitObject | undefined {
  const stat = fstatSync(file);
  if (!stat.isFile()) return undefined;
  const head = headerOf(
    inflateSync(readBytes(file, Math.min(stat.size, HEAD_BYTES)), { finishFlush: zlib.Z_SYNC_FLUSH }),
  );
  if (head === undefined) return undefined;
  const { type, size } = head;
  if (size > limit) return { id, type, size, bytes: undefined };
  if (stat.size > size + Math.ceil(size / 100) + SLACK_BYTES) return undefined;
  const content = inflateSync(readBytes(file, stat.size), { maxOutputLength: size + MAX_HEADER });
  const bytes = content.subarray(content.indexOf(0) + 1);
  return bytes.length === size ? { id, type, size, bytes } : undefined;
}

function readBytes(file: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  for (let count = -1; count !== 0 && filled < length; filled += count)
    count = readSync(file, bytes, filled, length - filled, filled);
  return bytes.subarray(0, filled);
}

function headerOf(content: Buffer): { readonly type: string; readonly size: number } | undefined {
  const end = content.subarray(0, MAX_HEADER).indexOf(0);
  const [, type, size] =
    /^(commit|tree|blob|tag) (\d{1,15})$/u.exec(content.toString('latin1', 0, Math.max(0, end))) ?? [];
  return type === undefined ? undefined : { type, size: Number(size) };
}

/** The object that a name means: an id, or `<commit>^{tree}`. `undefined`: git has to be asked. */
export function readNamed(commonDir: string, name: string, limit: number = LIMITS.treeBytes): GitObject | undefined {
  const [, commit] = /^([0-9a-f]{40,64})\^\{tree\}$/u.exec(name) ?? [];
  if (commit === undefined) return readLoose(commonDir, name, limit);
  const found = readLoose(commonDir, commit, LIMITS.commitBytes);
  if (found?.type !== 'commit' || found.bytes === undefined) return undefined;
  const tree = /^tree ([0-9a-f]+)\n/u.exec(Buffer.from(found.bytes).toString('latin1', 0, 80))?.[1] ?? '';
  return readLoose(commonDir, tree, limit);
}
