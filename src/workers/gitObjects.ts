import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Result, fail, messageOf, ok } from '../core/errors';
import type { WorkerGit } from './workerGit';

const OBJECT_ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/u;

/** A file in a tree. */
export interface TreeEntry {
  /** As git writes it: `100644`, `100755`. */
  readonly mode: string;
  readonly id: string;
}

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
  readonly parent: string | undefined;
  readonly message: string;
  readonly author: CommitAuthor;
  /** ms since the epoch. */
  readonly at: number;
}

/** A branch that is moved: from where it is known to be, `undefined` where it must not be there yet. */
export interface RefMove {
  readonly ref: string;
  readonly from: string | undefined;
  readonly to: string;
}

/** Who makes the commits of a worker. */
export function authorOf(worker: string): CommitAuthor {
  return { name: `${worker} (Atlas worker)`, email: `${worker}@worker.atlas.invalid` };
}

function objectId(said: Result<string>): Result<string> {
  if (!said.ok || OBJECT_ID.test(said.value)) return said;
  return fail('git_failed', `git answered ${JSON.stringify(said.value.slice(0, 100))} where an object's id belongs.`);
}

/** Reads and writes git's objects and branches, with no index and no worktree. */
export class GitObjects {
  constructor(private readonly git: WorkerGit) {}

  /** The commits of all branches whose name begins so, by full name. */
  async branches(prefix: string): Promise<Result<ReadonlyMap<string, string>>> {
    const listed = await this.git.text(['for-each-ref', '--format=%(objecttype) %(objectname) %(refname)', prefix]);
    if (!listed.ok) return listed;
    const refs = listed.value.split('\n').flatMap((line): [string, string][] => {
      const [type, id = '', ...name] = line.split(' ');
      return type === 'commit' ? [[name.join(' '), id]] : [];
    });
    return ok(new Map(refs));
  }

  /** The files of a commit; what is neither a file nor a folder is left out. */
  async files(commit: string): Promise<Result<TreeFiles>> {
    const listed = await this.git.text(['ls-tree', '-r', '-z', '--full-tree', commit]);
    if (!listed.ok) return listed;
    const entries = listed.value.split('\0').flatMap((line): [string, TreeEntry][] => {
      const [, mode = '', id = '', path = ''] = /^(100\d{3}) blob (\S+)\t(.+)$/su.exec(line) ?? [];
      return path === '' ? [] : [[path, { mode, id }]];
    });
    return ok(new Map(entries));
  }

  /** The contents of blobs, named by id or as `<commit>:<path>`; `undefined` where there is none. Names hold no line break. */
  async read(names: readonly string[]): Promise<Result<(Uint8Array | undefined)[]>> {
    if (names.length === 0) return ok([]);
    const printed = await this.git.run(['cat-file', '--batch'], { input: names.map((name) => `${name}\n`).join('') });
    return printed.ok ? parseBatch(printed.value, names) : printed;
  }

  /** Keeps contents as blobs, byte for byte whatever attributes say; gives their ids. */
  async write(contents: readonly (string | Uint8Array)[]): Promise<Result<string[]>> {
    if (contents.length === 0) return ok([]);
    let folder: string | undefined;
    try {
      folder = mkdtempSync(join(tmpdir(), 'atlas-blobs-'));
      const paths: string[] = [];
      for (const [index, content] of contents.entries()) {
        const path = join(folder, String(index));
        writeFileSync(path, content);
        paths.push(path);
      }
      const input = paths.map((path) => `${path}\n`).join('');
      const written = await this.git.text(['hash-object', '-w', '--no-filters', '--stdin-paths'], { input });
      if (!written.ok) return written;
      const ids = written.value.split('\n');
      if (ids.length === contents.length && ids.every((id) => OBJECT_ID.test(id))) return ok(ids);
      return fail('git_failed', 'git hash-object did not answer with an id for each content.');
    } catch (error) {
      return fail('write_failed', `Contents can't be given to git: ${messageOf(error)}`, { cause: error });
    } finally {
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    }
  }

  /** Makes a commit that no branch has yet. */
  async commit({ files, parent, message, author, at }: NewCommit): Promise<Result<string>> {
    const tree = await this.tree(files);
    if (!tree.ok) return tree;
    const date = `@${Math.floor(at / 1000)} +0000`;
    const env = {
      ...{ GIT_AUTHOR_NAME: author.name, GIT_AUTHOR_EMAIL: author.email, GIT_AUTHOR_DATE: date },
      ...{ GIT_COMMITTER_NAME: author.name, GIT_COMMITTER_EMAIL: author.email, GIT_COMMITTER_DATE: date },
    };
    const parents = parent === undefined ? [] : ['-p', parent];
    const args = ['commit-tree', '--no-gpg-sign', ...parents, '-F', '-', tree.value];
    return objectId(await this.git.text(args, { env, input: `${message}\n` }));
  }

  private async tree(files: TreeFiles): Promise<Result<string>> {
    const lines: string[] = [];
    const folders = new Map<string, Map<string, TreeEntry>>();
    for (const [path, entry] of files) {
      const slash = path.indexOf('/');
      if (slash < 0) lines.push(`${entry.mode} blob ${entry.id}\t${path}\0`);
      else {
        const [folder, rest] = [path.slice(0, slash), path.slice(slash + 1)];
        const inside = folders.get(folder) ?? new Map<string, TreeEntry>();
        folders.set(folder, inside.set(rest, entry));
      }
    }
    for (const [folder, inside] of folders) {
      const tree = await this.tree(inside);
      if (!tree.ok) return tree;
      lines.push(`040000 tree ${tree.value}\t${folder}\0`);
    }
    return objectId(await this.git.text(['mktree', '-z'], { input: lines.join('') }));
  }

  /** Moves branches, all or none: none where one is no longer where it was. `author` stands in their logs. */
  async move(moves: readonly RefMove[], author: CommitAuthor, reason: string): Promise<Result<void>> {
    const lines = moves.map(({ ref, from, to }) =>
      from === undefined ? `create ${ref} ${to}\n` : `update ${ref} ${to} ${from}\n`,
    );
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

/** What `git cat-file --batch` prints: a line with id, type and size, the content, a line break; or `<name> missing`. */
function parseBatch(printed: Buffer, names: readonly string[]): Result<(Uint8Array | undefined)[]> {
  const contents: (Uint8Array | undefined)[] = [];
  let at = 0;
  for (const name of names) {
    const end = printed.indexOf('\n', at);
    const header = printed.toString('utf8', at, end < 0 ? at : end);
    const [, type, size] = /^[0-9a-f]+ (\S+) (\d+)$/u.exec(header) ?? [];
    at = end + 1;
    if (size === undefined) {
      if (!header.endsWith(' missing')) return fail('git_failed', `git cat-file did not answer for ${name}.`);
      contents.push(undefined);
      continue;
    }
    const content = printed.subarray(at, at + Number(size));
    if (content.length !== Number(size)) return fail('git_failed', `git cat-file ended within ${name}.`);
    at += Number(size) + 1;
    contents.push(type === 'blob' ? content : undefined);
  }
  return ok(contents);
}
