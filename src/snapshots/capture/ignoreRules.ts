import { dirname, join } from 'node:path';
import { ok } from '../../core/shared/errors';
import { refuse } from '../../core/snapshot/problem';
import { type TreePath, isUnsafePath } from '../../core/snapshot/treePath';
import { pathBelow } from '../../git/read/gitPath';
import { ensureFolder } from '../../system/files/atomicFile';
import type { PrivateCall, PrivateGit } from '../storage/privateGit';
import { type ReadSnapshot, readBlobs } from '../storage/snapshotTree';
import type { Outcome, SnapshotPorts } from '../storage/snapshotPorts';

const ARGS = ['check-ignore', '--no-index', '-z', '--stdin'];
const PREFIX = './';
const ENTRY = /^100(?:644|755) blob ([0-9a-f]+)\t((?:[^]*\/)?\.gitignore)$/u;

async function ignored(
  git: PrivateGit,
  paths: readonly TreePath[],
  where: Pick<PrivateCall, 'worktree' | 'home' | 'settings'>,
): Promise<Outcome<ReadonlySet<TreePath>>> {
  if (paths.length === 0) return ok(new Set());
  // This command has no literal paths: a name that begins with a colon would be an instruction.
  const input = paths.map((path) => `${PREFIX}${path}\0`).join('');
  // 1: none of them is.
  const said = await git.run(ARGS, { input, codes: [0, 1], literal: false, ...where });
  if (!said.ok) return said;
  const records = said.value.split('\0').filter((record) => record !== '');
  return ok(new Set(records.map((record) => record.slice(PREFIX.length))));
}

/** Which of some paths are ignored now, whether tracked or not. */
export async function ignoredNow(git: PrivateGit, paths: readonly TreePath[]): Promise<Outcome<ReadonlySet<TreePath>>> {
  return ignored(git, paths, {});
}

/** Which of some paths are ignored by the rules that a snapshot has. */
export async function ignoredThen(
  ports: SnapshotPorts,
  git: PrivateGit,
  snapshot: ReadSnapshot,
  paths: readonly TreePath[],
): Promise<Outcome<ReadonlySet<TreePath>>> {
  if (paths.length === 0) return ok(new Set());
  const { files, ids } = ports;
  const folder = join(git.place.home, `rules-${ids.hex(6)}`);
  const [home, worktree] = [join(folder, 'git'), join(folder, 'files')];
  try {
    for (const each of [worktree, join(home, 'refs'), join(home, 'info')]) ensureFolder(files, each, 0o700);
    const config = files.read(join(git.place.home, 'config'), 1024 * 1024);
    files.write(join(home, 'HEAD'), 'ref: refs/heads/none\n');
    files.write(join(home, 'config'), config);
    files.write(join(home, 'info', 'exclude'), Buffer.from(snapshot.exclude, 'latin1'));
    files.write(join(home, 'excludes'), Buffer.from(snapshot.excludesFile, 'latin1'));
    const written = await writeRules(ports, git, snapshot, worktree);
    if (!written.ok) return written;
    return await ignored(git, paths, { worktree, home, settings: [`core.excludesFile=${join(home, 'excludes')}`] });
  } finally {
    files.removeFolder(folder);
  }
}

async function writeRules(
  { files }: SnapshotPorts,
  git: PrivateGit,
  { filesTree, rules }: ReadSnapshot,
  worktree: string,
): Promise<Outcome<void>> {
  const found: [path: TreePath, id: string][] = [];
  const listed = await git.records(['ls-tree', '-r', '-z', filesTree], {}, (records) => {
    for (const record of records) {
      const [, id, path] = ENTRY.exec(record) ?? [];
      if (id !== undefined && path !== undefined) found.push([path, id]);
    }
  });
  if (!listed.ok) return listed;
  const texts = await readBlobs(
    git,
    found.map(([, id]) => id),
  );
  if (texts === undefined) return refuse('lost', 'Ignore files of the snapshot are missing.');
  const all = new Map([...found.map(([path], at): [TreePath, string] => [path, texts[at] ?? '']), ...rules]);
  const plain = join(dirname(worktree), 'rule');
  for (const [path, text] of all) {
    if (isUnsafePath(path)) continue;
    makeParents(files, worktree, path);
    files.write(plain, Buffer.from(text, 'latin1'));
    files.rename(plain, pathBelow(worktree, path));
  }
  return ok(undefined);
}

function makeParents(files: SnapshotPorts['files'], worktree: string, path: TreePath): void {
  let at = '';
  for (const part of path.split('/').slice(0, -1)) {
    at = at === '' ? part : `${at}/${part}`;
    try {
      files.makeFolder(pathBelow(worktree, at), 0o700);
    } catch {
      // It is there already; anything else shows when the file is put into it.
    }
  }
}
