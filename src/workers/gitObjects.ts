import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Result, fail, ok } from '../core/errors';
import type { FileSystem, Ids } from '../core/ports';
import { readSmall } from '../git/locate';
import {
  type HashName,
  type NamedEntry,
  type NewObject,
  type TreeEntry,
  hashOfId,
  newObject,
  newTree,
  parseTree,
  writeLoose,
} from './gitPack';
import { MAX_DEPTH } from './hookTree';
import { readNamed } from './looseObjects';
import { type GitObject, ObjectReader } from './objectReader';
import type { WorkerGit } from './workerGit';

const OBJECT_ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/u;
const FOLDER = '40000';
/** For a branch that may be anywhere, or not at all. */
export const ANYWHERE = 'anywhere';
/** More than any hook may hold; a tree from elsewhere can name itself a thousandfold. */
const MAX_ENTRIES = 10_000;

const MAX_KNOWN = 32;
/** How many objects are looked for one by one. */
const FEW = 24;

/** The files of a tree by path, with `/`. */
export type TreeFiles = ReadonlyMap<string, TreeEntry>;

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
  private format: HashName | undefined;
  /** The newest commits that were asked for: a commit never changes. */
  private readonly known = new Map<string, TreeFiles>();

  constructor(
    private readonly git: WorkerGit,
    private readonly ports: { readonly files: FileSystem; readonly ids: Ids },
  ) {
    this.reader = new ObjectReader(git);
  }

  /** How the repository names objects. */
  async hash(): Promise<Result<HashName>> {
    if (this.format === undefined) {
      const said = await this.git.text(['rev-parse', '--show-object-format']);
      if (!said.ok) return said;
      this.format = said.value === 'sha256' ? 'sha256' : 'sha1';
    }
    return ok(this.format);
  }

  /** The commits of all branches whose name begins with one of these, by full name. Each ends with `/`. */
  async branches(prefixes: readonly string[]): Promise<Result<ReadonlyMap<string, string>>> {
    const { commonDir } = this.git.repository;
    const refs = existsSync(join(commonDir, 'reftable'))
      ? await this.listed(prefixes)
      : ok(new Map([...packedRefs(commonDir, prefixes), ...looseRefs(commonDir, prefixes)]));
    const [known] = refs.ok ? refs.value.values() : [];
    if (known !== undefined) this.format = hashOfId(known);
    return refs;
  }

  private async listed(prefixes: readonly string[]): Promise<Result<ReadonlyMap<string, string>>> {
    const listed = await this.git.text(['for-each-ref', '--format=%(objectname) %(refname)', ...prefixes]);
    return listed.ok ? ok(new Map(refLines(listed.value, prefixes))) : listed;
  }

  /** The files of a commit; what is neither a file nor a folder is left out. Fails with `git_failed` where it has none. */
  async files(commit: string): Promise<Result<TreeFiles>> {
    const known = this.known.get(commit);
    if (known !== undefined) return ok(known);
    const read = await this.readFiles(commit);
    if (!read.ok) return read;
    this.remember(commit, read.value);
    return read;
  }

  /** Keeps the files of a commit in mind. */
  remember(commit: string, files: TreeFiles): void {
    const [oldest] = this.known.size < MAX_KNOWN ? [] : this.known.keys();
    if (oldest !== undefined) this.known.delete(oldest);
    this.known.set(commit, files);
  }

  private async readFiles(commit: string): Promise<Result<TreeFiles>> {
    const files = new Map<string, TreeEntry>();
    let folders: { readonly path: string; readonly name: string }[] = [{ path: '', name: `${commit}^{tree}` }];
    for (let depth = 0; folders.length > 0; depth += 1) {
      const trees = await this.objects(folders.map(({ name }) => name));
      if (!trees.ok) return trees;
      const deeper: typeof folders = [];
      for (const [index, { path }] of folders.entries()) {
        const tree = trees.value[index];
        const entries = tree?.type === 'tree' ? parseTree(tree.bytes, hashOfId(commit)) : undefined;
        if (entries === undefined)
          return fail('git_failed', `The files of ${commit} can't be read: a tree is missing.`);
        for (const { name, mode, id } of entries) {
          if (mode === FOLDER) deeper.push({ path: `${path}${name}/`, name: id });
          else if (mode.startsWith('100')) files.set(path + name, { mode, id });
        }
      }
      if (files.size + deeper.length > MAX_ENTRIES || depth > MAX_DEPTH)
        return fail('git_failed', `${commit} holds more files or deeper folders than a hook can.`);
      folders = deeper;
    }
    return ok(files);
  }

  /** What stands at the top of each commit's tree; `undefined` where that is not here, or no tree. */
  async treesOf(commits: readonly string[]): Promise<Result<(readonly NamedEntry[] | undefined)[]>> {
    const trees = await this.objects(commits.map((commit) => `${commit}^{tree}`));
    if (!trees.ok) return trees;
    return ok(
      trees.value.map((tree, index) =>
        tree?.type === 'tree' ? parseTree(tree.bytes, hashOfId(commits[index] ?? '')) : undefined,
      ),
    );
  }

  /** The first parent of a commit; `undefined` where it has none. */
  async parentOf(commit: string): Promise<Result<string | undefined>> {
    const objects = await this.objects([commit]);
    if (!objects.ok) return objects;
    const [found] = objects.value;
    const header =
      Buffer.from(found?.bytes ?? [])
        .toString('utf8')
        .split('\n\n')[0] ?? '';
    return ok(/^parent ([0-9a-f]+)$/mu.exec(header)?.[1]);
  }

  /**
   * Of commits that are reached from `tips` and not from `others`, their parents. What two branches have in common is in neither's.
   */
  async newCommits(tips: readonly string[], others: readonly string[]): Promise<Result<ReadonlyMap<string, string[]>>> {
    const input = [...tips, ...others.map((other) => `^${other}`)].map((line) => `${line}\n`).join('');
    const listed = await this.git.text(['rev-list', '--parents', '--stdin'], { input });
    if (!listed.ok) return listed;
    const lines = listed.value.split('\n').map((line) => line.split(' '));
    return ok(new Map(lines.map(([commit = '', ...parents]) => [commit, parents])));
  }

  /** Objects, as {@link ObjectReader.read}. A few that nobody packed yet are read without a git, which takes longer to start. */
  private async objects(names: readonly string[]): Promise<Result<(GitObject | undefined)[]>> {
    if (names.length > FEW) return this.reader.read(names);
    const objects = names.map((name) => readNamed(this.git.repository.commonDir, name));
    const rest = names.filter((_name, index) => objects[index] === undefined);
    const others = await this.reader.read(rest);
    if (!others.ok) return others;
    const found = new Map(rest.map((name, index) => [name, others.value[index]]));
    return ok(names.map((name, index) => objects[index] ?? found.get(name)));
  }

  /** The contents of blobs, named by id or as `<commit>:<path>`; `undefined` where there is none. Names hold no line break. */
  async read(names: readonly string[]): Promise<Result<(Uint8Array | undefined)[]>> {
    const objects = await this.objects(names);
    if (!objects.ok) return objects;
    return ok(objects.value.map((object) => (object?.type === 'blob' ? object.bytes : undefined)));
  }

  /** Keeps objects; once this is over, they are on disk. Throws file errors. */
  store(objects: readonly NewObject[]): void {
    writeLoose(this.ports.files, this.ports.ids, this.git.repository.commonDir, objects);
  }

  /** Moves branches, all or none: none where one is no longer where it was. `author` stands in their logs. */
  async move(moves: readonly RefMove[], author: CommitAuthor, reason: string): Promise<Result<void>> {
    const lines = moves.map(({ ref, from, to }) => {
      if (from === undefined) return `create ${ref} ${to}\n`;
      return from === ANYWHERE ? `update ${ref} ${to}\n` : `update ${ref} ${to} ${from}\n`;
    });
    const env = { GIT_COMMITTER_NAME: author.name, GIT_COMMITTER_EMAIL: author.email };
    const input = `start\n${lines.join('')}prepare\ncommit\n`;
    const moved = await this.git.run(['update-ref', '-m', reason, '--stdin'], { env, input });
    if (moved.ok) return ok(undefined);
    return fail('git_failed', `The branches under forge/ could not be moved: ${moved.error.message}`, {
      mend: 'Something else may have moved them just now: try again.',
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
