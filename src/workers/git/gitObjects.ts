import { LruCache } from '../../core/shared/lru';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { AtlasError, unwrap } from '../../core/shared/errors';
import type { FileSystem, Ids } from '../../core/shared/ports';
import { readSmall } from '../../git/read/locate';
import {
  type HashName,
  type NamedEntry,
  type NewObject,
  type TreeEntry,
  hashOfId,
  newObject,
  newTree,
  writeLoose,
} from './gitPack';
import { LIMITS, bytesAllowed } from '../../core/worker/limits';
import { sizeText } from '../../core/shared/text';
import { readNamed } from './looseObjects';
import { type GitObject, ObjectReader, type ReadLimit, SIZES_ONLY, withinLimit } from './objectReader';
import { type TreeListing, TreeReader, takeOut } from './treeReader';
import type { WorkerGit } from './workerGit';

const OBJECT_ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/u;
const FOLDER = '40000';
/** For a branch that may be anywhere, or not at all. */
export const ANYWHERE = 'anywhere';
const MAX_KNOWN = 32;
/** How many objects are looked for one by one. */
const FEW = 24;

/** In each of our trees: bytes stay as they are wherever git checks them out, so that hashes hold. */
export const ATTRIBUTES = { path: '.gitattributes', text: '* -text -filter -ident\n' } as const;

/** The files of a tree by path, with `/`. */
export type TreeFiles = ReadonlyMap<string, TreeEntry>;

/** The files of a commit that can be used, and what was left out. */
export type CommitFiles = Readonly<Omit<TreeListing, 'files'>> & { readonly files: TreeFiles };

/** A file at the top of a commit: its content, or why that can't be used. `undefined`: there is none. */
export type TopFile =
  { readonly bytes: Uint8Array } | { readonly problem: string; readonly isMissing: boolean } | undefined;

/** Who made a commit: a worker, or the tool itself. */
export interface CommitAuthor {
  readonly name: string;
  readonly email: string;
}

/** A commit that is to be made. */
export interface NewCommit {
  readonly files: TreeFiles;
  readonly parents: readonly string[];
  readonly message: string;
  readonly author: CommitAuthor;
  /** ms since the epoch. */
  readonly at: number;
}

/** A branch that is moved. */
export interface RefMove {
  readonly ref: string;
  /** Where it is known to be; `undefined` where it must not be there yet, {@link ANYWHERE} where that doesn't matter. */
  readonly from: string | undefined;
  readonly to: string;
}

/** Who makes the commits of a worker. */
export function authorOf(worker: string): CommitAuthor {
  return { name: `${worker} (Atlas worker)`, email: `${worker}@worker.atlas.invalid` };
}

/** The objects that make up a commit, none of them written yet; the commit is the last. */
export function buildCommit(hash: HashName, { files, parents, message, author, at }: NewCommit): NewObject[] {
  const objects: NewObject[] = [];
  const tree = buildTree(hash, [...files], objects);
  const when = `${Math.floor(at / 1000)} +0000`;
  const text = [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${author.name} <${author.email}> ${when}`,
    `committer ${author.name} <${author.email}> ${when}`,
    '',
    `${message}\n`,
  ].join('\n');
  return [...objects, newObject(hash, 'commit', text)];
}

function buildTree(hash: HashName, files: readonly (readonly [string, TreeEntry])[], objects: NewObject[]): string {
  const entries: NamedEntry[] = [];
  const folders = new Map<string, [string, TreeEntry][]>();
  for (const [path, entry] of files) {
    const slash = path.indexOf('/');
    if (slash < 0) entries.push({ ...entry, name: path });
    else {
      const inside = folders.get(path.slice(0, slash)) ?? [];
      inside.push([path.slice(slash + 1), entry]);
      folders.set(path.slice(0, slash), inside);
    }
  }
  for (const [name, inside] of folders) entries.push({ name, mode: FOLDER, id: buildTree(hash, inside, objects) });
  const tree = newTree(hash, entries);
  objects.push(tree);
  return tree.id;
}

/** Reads and writes git's objects and branches, with no index and no worktree. */
export class GitObjects {
  private readonly reader: ObjectReader;
  readonly trees: TreeReader;
  private format: HashName | undefined;
  /** The newest commits that were asked for: a commit never changes. */
  private readonly known = new LruCache<CommitFiles>(MAX_KNOWN);

  constructor(
    private readonly git: WorkerGit,
    private readonly ports: { readonly files: FileSystem; readonly ids: Ids },
  ) {
    this.reader = new ObjectReader(git);
    this.trees = new TreeReader(async (names, limit, known) => this.objects(names, limit, known));
  }

  async hash(): Promise<HashName> {
    if (this.format === undefined) {
      const said = unwrap(await this.git.run(['rev-parse', '--show-object-format']));
      this.format = said === 'sha256' ? 'sha256' : 'sha1';
    }
    return this.format;
  }

  /** The commits of all branches whose name begins with one of these, by full name. Each ends with `/`. */
  async branches(prefixes: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { commonDir } = this.git.repository;
    const refs = existsSync(join(commonDir, 'reftable'))
      ? new Map(await this.listed(prefixes))
      : new Map([...packedRefs(commonDir, prefixes), ...looseRefs(commonDir, prefixes)]);
    const [known] = refs.values();
    if (known !== undefined) this.format = hashOfId(known);
    return refs;
  }

  private async listed(prefixes: readonly string[]): Promise<Iterable<[string, string]>> {
    const args = ['for-each-ref', '--format=%(objectname) %(refname)', ...prefixes];
    return refLines(unwrap(await this.git.run(args)), prefixes);
  }

  /** The files of a commit that can be used. Fails with `damaged` where it is over a limit or can't be read. */
  async files(commit: string): Promise<TreeFiles> {
    return (await this.checkedFiles(commit)).files;
  }

  /** The same, with what was left out, and why. */
  async checkedFiles(commit: string): Promise<CommitFiles> {
    const known = this.known.get(commit);
    if (known !== undefined) return known;
    const read = await this.readFiles(commit);
    this.known.set(commit, read);
    return read;
  }

  /** Keeps the files of a commit in mind, which was made of them. */
  remember(commit: string, files: TreeFiles): void {
    this.known.set(commit, { files, refused: [], refusedCount: 0 });
  }

  private async readFiles(commit: string): Promise<CommitFiles> {
    const { problem, files, ...listing } = await this.trees.listing(commit);
    if (problem !== undefined)
      throw new AtlasError('damaged', `Commit ${commit.slice(0, 12)} can't be used: ${problem}.`);
    const checked: TreeListing = { ...listing, files };
    const attributes = files.get(ATTRIBUTES.path);
    if (attributes !== undefined && attributes.id !== newObject(hashOfId(commit), 'blob', ATTRIBUTES.text).id)
      takeOut(checked, ATTRIBUTES.path, 'its attributes differ from those of Atlas');
    const paths = [...files.keys()];
    const blobs = await this.sizes([...files.values()].map(({ id }) => id));
    const found = blobs.map((object, index) => {
      const isTooLarge = object !== undefined && object.size > bytesAllowed(paths[index] ?? '');
      if (object !== undefined && object.type !== 'blob')
        takeOut(checked, paths[index] ?? '', 'its content is not a file');
      return isTooLarge ? undefined : (object?.size ?? 0);
    });
    const used = withinLimit(found, { each: LIMITS.branchBytes, total: LIMITS.branchBytes });
    for (const [index, path] of paths.entries())
      if (!used.has(index)) takeOut(checked, path, `it has ${sizeText(blobs[index]?.size ?? 0)}, which is too large`);
    return checked;
  }

  /** The first parent of a commit; `undefined` where it has none. */
  async parentOf(commit: string): Promise<string | undefined> {
    const [found] = await this.objects([commit], { each: LIMITS.commitBytes, total: LIMITS.commitBytes });
    const [header = ''] = Buffer.from(found?.bytes ?? [])
      .toString('utf8')
      .split('\n\n');
    return /^parent ([0-9a-f]+)$/mu.exec(header)?.[1];
  }

  /**
   * Of commits that are reached from `tips` and not from `others`, their parents. What two branches have in common is in neither's.
   */
  async newCommits(tips: readonly string[], others: readonly string[]): Promise<ReadonlyMap<string, string[]>> {
    const input = [...tips, ...others.map((other) => `^${other}`)].map((line) => `${line}\n`).join('');
    const listed = unwrap(await this.git.run(['rev-list', '--parents', '--stdin'], { input }));
    const lines = listed.split('\n').map((line) => line.split(' '));
    return new Map(lines.map(([commit = '', ...parents]) => [commit, parents]));
  }

  /** Objects, as {@link ObjectReader.read}. A few that nobody packed yet are read without a git, which takes longer to start. */
  private async objects(
    names: readonly string[],
    limit: ReadLimit,
    sizes?: readonly (GitObject | undefined)[],
  ): Promise<(GitObject | undefined)[]> {
    if (names.length > FEW) return this.reader.read(names, limit, sizes);
    const { commonDir } = this.git.repository;
    let left = limit.total;
    const objects = names.map((name) => {
      const object = readNamed(commonDir, name, Math.min(limit.each, left));
      left -= object?.bytes?.length ?? 0;
      return object;
    });
    const rest = names.filter((_name, index) => objects[index] === undefined);
    const others = await this.reader.read(rest, { each: limit.each, total: left });
    const found = new Map(rest.map((name, index) => [name, others[index]]));
    return names.map((name, index) => objects[index] ?? found.get(name));
  }

  async sizes(names: readonly string[]): Promise<(GitObject | undefined)[]> {
    return this.objects(names, SIZES_ONLY);
  }

  /** The contents of blobs, by id; `undefined` where there is none, or it is over the limit. */
  async read(ids: readonly string[], limit: ReadLimit): Promise<(Uint8Array | undefined)[]> {
    const objects = await this.objects(ids, limit);
    return objects.map((object) => (object?.type === 'blob' ? object.bytes : undefined));
  }

  /** Keeps objects; once this is over, they are on disk. Throws file errors. */
  store(objects: readonly NewObject[]): void {
    writeLoose(this.ports.files, this.ports.ids, this.git.repository.commonDir, objects);
  }

  /** Moves branches, all or none: none where one is no longer where it was. `author` stands in their logs. */
  async move(moves: readonly RefMove[], author: CommitAuthor, reason: string): Promise<void> {
    const lines = moves.map(({ ref, from, to }) => {
      if (from === undefined) return `create ${ref} ${to}\n`;
      return from === ANYWHERE ? `update ${ref} ${to}\n` : `update ${ref} ${to} ${from}\n`;
    });
    const env = { GIT_COMMITTER_NAME: author.name, GIT_COMMITTER_EMAIL: author.email };
    const input = `start\n${lines.join('')}prepare\ncommit\n`;
    const moved = await this.git.run(['update-ref', '-m', reason, '--stdin'], { env, input });
    if (moved.ok) return;
    throw new AtlasError('git_failed', `The branches under forge/ could not be updated: ${moved.error.message}`, {
      hint: 'Another process may have just updated them. Try again.',
      cause: moved.error,
    });
  }
}

function* refLines(text: string, prefixes: readonly string[]): Generator<[string, string]> {
  for (const line of text.split('\n')) {
    const space = line.indexOf(' ');
    const [id, ref] = [line.slice(0, space), line.slice(space + 1)];
    if (OBJECT_ID.test(id) && prefixes.some((prefix) => ref.startsWith(prefix))) yield [ref, id];
  }
}

/** Those that git keeps in one file; a branch that has a file of its own is no longer where this says. */
function packedRefs(commonDir: string, prefixes: readonly string[]): Iterable<[string, string]> {
  return refLines(readSmall(join(commonDir, 'packed-refs')) ?? '', prefixes);
}

function* looseRefs(commonDir: string, prefixes: readonly string[]): Generator<[string, string]> {
  for (const prefix of prefixes) {
    const folder = join(commonDir, prefix);
    if (!existsSync(folder)) continue;
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      const id = entry.isFile() ? readSmall(path)?.trim() : undefined;
      if (id !== undefined && OBJECT_ID.test(id)) yield [path.slice(commonDir.length + 1).replaceAll('\\', '/'), id];
    }
  }
}
