import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ok } from '../../core/shared/errors';
import { refuse } from '../../core/snapshot/problem';
import { type LeftOut, SNAPSHOT_FORMAT, isTreeId, parseLeftOut } from '../../core/snapshot/snapshotRecord';
import type { TreePath } from '../../core/snapshot/treePath';
import { jsonOf } from '../../system/files/readJson';
import { type PrivateGit, userExclude } from './privateGit';
import type { Outcome } from './snapshotPorts';

/*
 * A snapshot is one tree in the object database:
 *   files         the worktree's files, contents raw
 *   meta          JSON: format, usual permission bits, what was left out, what a safety snapshot found absent
 *   modes         permission bits that aren't the usual ones: `0600 path\0`…
 *   notCheckedOut files that git left out of the worktree: `path\0`…
 *   exclude       the user's info/exclude           excludesFile  the user's core.excludesFile
 *   rules         JSON: path and text of the ignore files that are ignored themselves
 *   protected     files that a restore was about to replace and that `files` hasn't (only in safety snapshots)
 */

/** The usual permission bits of files and of programs. */
export type BaseModes = readonly [file: number, program: number];

/** Git takes a file for a program by this bit. */
export const PROGRAM = 0o100;

/** The usual bits of a file like one with these. */
export function modeOf([file, program]: BaseModes, like: number): number {
  return (like & PROGRAM) === 0 ? file : program;
}

/** An entry of a tree of files. */
export interface FileEntry {
  readonly mode: '100644' | '100755' | '120000';
  readonly id: string;
}

/** A path that was not there when a safety snapshot was made, and what the restore put there. */
export interface AbsentPath extends FileEntry {
  readonly path: TreePath;
}

/** What a snapshot says beside its files. */
export interface SnapshotMeta {
  readonly base: BaseModes;
  /** Sorted by path. */
  readonly leftOut: readonly LeftOut[];
  readonly absent: readonly AbsentPath[];
}

/** All that a snapshot is made of; `filesTree` and `protectedTree` are ids. */
export interface SnapshotParts extends SnapshotMeta {
  readonly filesTree: string;
  readonly modes: ReadonlyMap<TreePath, number>;
  readonly notCheckedOut: readonly TreePath[];
  /** Path and text of ignore files that `files` hasn't; both with one character a byte. */
  readonly rules: readonly (readonly [TreePath, string])[];
  readonly protectedTree?: string;
}

/** Ids of blobs by name, with digests of their contents. */
export type KnownParts = Readonly<Record<string, readonly [digest: string, id: string]>>;

function excludesOf({ excludesFile }: PrivateGit['place']): string {
  const config = process.env['XDG_CONFIG_HOME'];
  const standard = join(config === undefined || config === '' ? join(homedir(), '.config') : config, 'git', 'ignore');
  try {
    return readFileSync(excludesFile ?? standard, 'latin1');
  } catch {
    return '';
  }
}

function contentsOf(git: PrivateGit, parts: SnapshotParts): Record<string, string> {
  const { base, leftOut, absent, modes, notCheckedOut, rules } = parts;
  const meta = { format: SNAPSHOT_FORMAT, base, leftOut, ...(absent.length === 0 ? {} : { absent }) };
  const sortedModes = [...modes].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    meta: Buffer.from(`${JSON.stringify(meta)}\n`).toString('latin1'),
    modes: sortedModes.map(([path, mode]) => `${mode.toString(8).padStart(4, '0')} ${path}\0`).join(''),
    notCheckedOut: notCheckedOut.map((path) => `${path}\0`).join(''),
    rules: Buffer.from(JSON.stringify(rules)).toString('latin1'),
    exclude: userExclude(git.place),
    excludesFile: excludesOf(git.place),
  };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text, 'latin1').digest('hex');
}

/** Whether the user's ignore files outside the worktree are those of a snapshot. */
export function areExcludesOf(git: PrivateGit, parts: KnownParts): boolean {
  const { exclude, excludesFile } = parts;
  return exclude?.[0] === digestOf(userExclude(git.place)) && excludesFile?.[0] === digestOf(excludesOf(git.place));
}

/** What the last capture wrote. */
export interface WrittenBefore {
  readonly tree: string;
  readonly filesTree: string;
  readonly parts: KnownParts;
}

/** Writes a snapshot; what the last one had is not written again. */
export async function writeSnapshot(
  git: PrivateGit,
  parts: SnapshotParts,
  before?: WrittenBefore,
): Promise<Outcome<{ readonly tree: string; readonly parts: KnownParts }>> {
  const ids: Record<string, readonly [string, string]> = {};
  const written = await Promise.all(
    Object.entries(contentsOf(git, parts)).map(async ([name, text]): Promise<Outcome<void>> => {
      const digest = digestOf(text);
      const known = before?.parts[name];
      if (known?.[0] === digest) {
        ids[name] = known;
        return ok(undefined);
      }
      const blob = await git.run(['hash-object', '-w', '--stdin', '--no-filters'], { input: text });
      if (!blob.ok) return blob;
      ids[name] = [digest, blob.value.trim()];
      return ok(undefined);
    }),
  );
  for (const each of written) if (!each.ok) return each;
  const isSame = before?.filesTree === parts.filesTree && parts.protectedTree === undefined;
  if (isSame && Object.entries(ids).every(([name, part]) => before.parts[name] === part))
    return ok({ tree: before.tree, parts: ids });
  const lines = Object.entries(ids).map(([name, [, id]]) => `100644 blob ${id}\t${name}\n`);
  lines.push(`040000 tree ${parts.filesTree}\tfiles\n`);
  if (parts.protectedTree !== undefined) lines.push(`040000 tree ${parts.protectedTree}\tprotected\n`);
  const made = await git.run(['mktree'], { input: lines.join('') });
  if (!made.ok) return made;
  const tree = made.value.trim();
  return isTreeId(tree) ? ok({ tree, parts: ids }) : refuse('failed', `git mktree answered ${JSON.stringify(tree)}.`);
}

/** What of a snapshot's parts is read: the small ones. */
export interface ReadSnapshot extends SnapshotParts {
  readonly tree: string;
  readonly exclude: string;
  readonly excludesFile: string;
}

function lost(tree: string): ReturnType<typeof refuse> {
  return refuse('lost', `The snapshot ${tree.slice(0, 12)} is no longer in the object database.`, {
    hint: 'Run "Atlas: Run Doctor" to see which checkpoints lost their files.',
  });
}

/** Reads what a snapshot says beside its files; `lost` where the database hasn't all of that. */
export async function readSnapshot(git: PrivateGit, tree: string): Promise<Outcome<ReadSnapshot>> {
  if (!isTreeId(tree)) return refuse('lost', `${JSON.stringify(tree)} is not the ID of a snapshot.`);
  const listed = await git.run(['ls-tree', '-z', tree]);
  if (!listed.ok) return lost(tree);
  const ids = new Map<string, string>();
  for (const record of listed.value.split('\0')) {
    const [, id, name] = /^\d+ \w+ ([0-9a-f]+)\t(\w+)$/u.exec(record) ?? [];
    if (id !== undefined && name !== undefined) ids.set(name, id);
  }
  const names = ['meta', 'modes', 'notCheckedOut', 'rules', 'exclude', 'excludesFile'];
  const blobs = await readBlobs(
    git,
    names.map((name) => ids.get(name) ?? ''),
  );
  if (blobs === undefined) return lost(tree);
  const texts = Object.fromEntries(names.map((name, at) => [name, blobs[at]]));
  const meta = parseMeta(texts['meta'] ?? '');
  const filesTree = ids.get('files');
  if (meta === undefined || filesTree === undefined) return lost(tree);
  const protectedTree = ids.get('protected');
  return ok({
    ...meta,
    ...{ tree, filesTree, modes: parseModes(texts['modes'] ?? '') },
    notCheckedOut: (texts['notCheckedOut'] ?? '').split('\0').filter((path) => path !== ''),
    rules: parseRules(texts['rules'] ?? ''),
    exclude: texts['exclude'] ?? '',
    excludesFile: texts['excludesFile'] ?? '',
    ...(protectedTree === undefined ? {} : { protectedTree }),
  });
}

/** The contents of blobs; `undefined` where one of them is missing. */
export async function readBlobs(git: PrivateGit, ids: readonly string[]): Promise<string[] | undefined> {
  if (ids.length === 0) return [];
  if (!ids.every(isTreeId)) return undefined;
  const said = await git.run(['cat-file', '--batch'], { input: ids.map((id) => `${id}\n`).join('') });
  if (!said.ok) return undefined;
  const texts: string[] = [];
  for (let at = 0; at < said.value.length;) {
    const end = said.value.indexOf('\n', at);
    const size = / blob (\d+)$/u.exec(said.value.slice(at, end))?.[1];
    if (size === undefined) return undefined;
    texts.push(said.value.slice(end + 1, end + 1 + Number(size)));
    at = end + 1 + Number(size) + 1;
  }
  return texts.length === ids.length ? texts : undefined;
}

function parseMeta(latin1: string): SnapshotMeta | undefined {
  const value = jsonOf(Buffer.from(latin1, 'latin1').toString('utf8')) as
    { format?: unknown; base?: unknown; leftOut?: unknown; absent?: unknown } | undefined;
  if (value?.format !== SNAPSHOT_FORMAT || !Array.isArray(value.base) || !Array.isArray(value.leftOut))
    return undefined;
  const [file, program] = value.base as unknown[];
  if (typeof file !== 'number' || typeof program !== 'number') return undefined;
  const leftOut = value.leftOut.flatMap((each: unknown) => parseLeftOut(each) ?? []);
  const absent = Array.isArray(value.absent) ? (value.absent as AbsentPath[]) : [];
  return { base: [file, program], leftOut, absent };
}

function parseRules(latin1: string): [TreePath, string][] {
  const value = jsonOf(Buffer.from(latin1, 'latin1').toString('utf8'));
  return Array.isArray(value) ? (value as [TreePath, string][]) : [];
}

function parseModes(text: string): Map<TreePath, number> {
  return new Map(
    text
      .split('\0')
      .filter((record) => record !== '')
      .map((record) => [record.slice(5), Number.parseInt(record.slice(0, 4), 8)]),
  );
}
