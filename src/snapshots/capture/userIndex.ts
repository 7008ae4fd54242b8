import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ok } from '../../core/shared/errors';
import type { TreePath } from '../../core/snapshot/treePath';
import { ParentLook } from './fileLook';
import type { PrivateGit } from '../storage/privateGit';
import type { Outcome, SnapshotPorts } from '../storage/snapshotPorts';
import type { UserIndexFacts } from './worktreeCache';

/** What there is to know where there is no index. */
const NOTHING: UserIndexFacts = { stamp: '', ignoredTracked: [], submodules: {}, isSparse: false, hidesRules: false };

/** Larger shared parts of an index than this aren't copied, in bytes. */
const MAX_SHARED_BYTES = 512 * 1024 * 1024;

const IGNORE_FILE = /(?:^|\/)\.gitignore$/u;

/** An entry of `git ls-files -s -t -z`: tag, mode, id, stage and path. */
const ENTRY = /^(\S) (\d+) ([0-9a-f]+) \d\t([^]+)$/u;

/** Reads the index of the user's git, and nothing else of it, so that not even a time stamp there changes. */
export class UserIndex {
  private readonly path: string | undefined;
  /** The user's object database: the index of a sparse checkout names whole folders, whose content is there. */
  private readonly objects: string | undefined;

  constructor(
    private readonly ports: SnapshotPorts,
    private readonly git: PrivateGit,
  ) {
    const { repository } = git.place;
    this.path = repository === undefined ? undefined : join(repository.gitDir, 'index');
    this.objects = repository === undefined ? undefined : join(repository.commonDir, 'objects');
  }

  get worktree(): string {
    return this.git.place.worktree;
  }

  /** Changes with each change of the index; empty where there is none. */
  get stamp(): string {
    const stat = this.path === undefined ? undefined : lstatSync(this.path, { bigint: true, throwIfNoEntry: false });
    return stat === undefined ? '' : [stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(':');
  }

  /** What the index says, taken from `known` where it hasn't changed since. */
  async facts(known: UserIndexFacts | undefined): Promise<Outcome<UserIndexFacts>> {
    const { path, stamp } = this;
    if (path === undefined || stamp === '') return ok(NOTHING);
    this.copySharedParts();
    const ignored = await this.ignoredTracked(path);
    if (!ignored.ok) return ignored;
    if (known?.stamp === stamp) return ok({ ...known, ignoredTracked: ignored.value });
    const submodules: Record<TreePath, string> = {};
    let [isSparse, hidesRules] = [false, false];
    const listed = await this.entries((tag, mode, id, entry) => {
      if (mode === '160000') submodules[entry] = id;
      if (tag !== 'S') return;
      isSparse = true;
      if (IGNORE_FILE.test(entry)) hidesRules = true;
    });
    return listed.ok ? ok({ stamp, ignoredTracked: ignored.value, submodules, isSparse, hidesRules }) : listed;
  }

  /**
   * All that the user's git tracks, or would: it goes by ignore files that aren't checked out, too.
   * @param folders the only ones to look in
   */
  async visible(folders: readonly TreePath[] = []): Promise<Outcome<ReadonlySet<TreePath>>> {
    const paths = new Set<TreePath>();
    // Without an index, nothing is tracked: git takes a file that isn't there for an empty one.
    const index = this.path ?? join(this.git.place.home, 'no-index');
    const among = folders.length === 0 ? [] : ['--', ...folders.map((path) => Buffer.from(path, 'latin1').toString())];
    const args = ['ls-files', '-c', '-o', '--exclude-standard', '-z', ...among];
    const listed = await this.git.records(args, { index, reads: this.objects }, (records) => {
      for (const record of records) paths.add(record);
    });
    return listed.ok ? ok(paths) : listed;
  }

  /** Each entry of the index, a path in conflict more than once. */
  async entries(take: (tag: string, mode: string, id: string, path: TreePath) => void): Promise<Outcome<string>> {
    if (this.path === undefined || this.stamp === '') return ok('');
    this.copySharedParts();
    const call = { index: this.path, reads: this.objects };
    return this.git.records(['ls-files', '-s', '-t', '-z'], call, (records) => {
      for (const record of records) {
        const [, tag = '', mode = '', id = '', path = ''] = ENTRY.exec(record) ?? [];
        if (path !== '') take(tag, mode, id, path);
      }
    });
  }

  /** The files that git is told to leave out of the worktree, and that aren't there. */
  async notCheckedOut(facts: UserIndexFacts): Promise<Outcome<TreePath[]>> {
    const paths: TreePath[] = [];
    if (!facts.isSparse) return ok(paths);
    const parents = new ParentLook(this.git.place.worktree);
    const listed = await this.entries((tag, _mode, _id, path) => {
      if (tag === 'S' && parents.tryLookAt(path) === undefined) paths.push(path);
    });
    return listed.ok ? ok(paths.sort()) : listed;
  }

  private async ignoredTracked(index: string): Promise<Outcome<TreePath[]>> {
    const paths: TreePath[] = [];
    const args = ['ls-files', '-c', '-i', '--exclude-standard', '-z'];
    const listed = await this.git.records(args, { index, reads: this.objects }, (records) => {
      paths.push(...records);
    });
    return listed.ok ? ok(paths) : listed;
  }

  /** A split index has a second file, which git looks for in its own folder and whose time it sets when it reads it. */
  private copySharedParts(): void {
    const { repository, home } = this.git.place;
    if (repository === undefined) return;
    const { files } = this.ports;
    for (const name of readdirSync(repository.gitDir)) {
      const copy = join(home, name);
      if (!name.startsWith('sharedindex.') || files.stat(copy) !== undefined) continue;
      const bytes = files.read(join(repository.gitDir, name), MAX_SHARED_BYTES);
      files.write(`${copy}.tmp`, bytes, { mode: 0o600 });
      files.rename(`${copy}.tmp`, copy);
    }
  }
}
