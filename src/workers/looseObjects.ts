import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { hashOfId, parseTree } from './gitPack';
import type { GitObject } from './objectReader';

const ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/u;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_FILE_BYTES = 16 * 1024 * 1024;

/** An object that lies in a file of its own (gitformat: "loose objects"); `undefined` where it doesn't, or is not sound. */
function readLoose(commonDir: string, id: string): GitObject | undefined {
  if (!ID.test(id)) return undefined;
  try {
    const file = readFileSync(join(commonDir, 'objects', id.slice(0, 2), id.slice(2)));
    if (file.length > MAX_FILE_BYTES) return undefined;
    const content = inflateSync(file, { maxOutputLength: MAX_BYTES });
    const end = content.indexOf(0);
    const [, type, size] = /^(commit|tree|blob) (\d+)$/u.exec(content.toString('latin1', 0, end)) ?? [];
    const bytes = content.subarray(end + 1);
    return type === undefined || bytes.length !== Number(size) ? undefined : { type, bytes };
  } catch {
    // It is packed, or not here: git knows.
    return undefined;
  }
}

/** The object that a name means: an id, `<commit>^{tree}`, or `<commit>:<path>`. `undefined`: git has to be asked. */
export function readNamed(commonDir: string, name: string): GitObject | undefined {
  const [, commit = '', path] = /^([0-9a-f]{40,64})(?:\^\{tree\}|:(.+))$/su.exec(name) ?? [];
  if (commit === '') return readLoose(commonDir, name);
  const found = readLoose(commonDir, commit);
  if (found?.type !== 'commit') return undefined;
  let id = /^tree ([0-9a-f]+)\n/u.exec(Buffer.from(found.bytes).toString('latin1'))?.[1] ?? '';
  for (const part of path?.split('/') ?? []) {
    const tree = readLoose(commonDir, id);
    const entries = tree?.type === 'tree' ? parseTree(tree.bytes, hashOfId(id)) : undefined;
    id = entries?.find((entry) => entry.name === part)?.id ?? '';
  }
  return readLoose(commonDir, id);
}
