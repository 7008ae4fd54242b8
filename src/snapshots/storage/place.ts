import { createHash } from 'node:crypto';
import { realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, relative, sep } from 'node:path';
import { ok } from '../../core/shared/errors';
import { workspaceNameFrom } from '../../core/shared/ids';
import type { Repository } from '../../core/shared/ports';
import { refuse } from '../../core/snapshot/problem';
import { waitsFor } from '../../git/read/blockedGit';
import { locateRepository } from '../../git/read/locate';
import type { Outcome, SnapshotPorts } from './snapshotPorts';

/** Where a worktree's snapshots are kept. */
export interface Place {
  /** Real path. */
  readonly worktree: string;
  /** Absent for a folder without git. */
  readonly repository: Repository | undefined;
  readonly objectFormat: 'sha1' | 'sha256';
  /** The user's `core.excludesFile`, where one is set. */
  readonly excludesFile: string | undefined;
  /** The folder of the repository: `<root>/snapshots/<name>`. */
  readonly base: string;
  /** The object database that all worktrees of the repository share. */
  readonly objects: string;
  /** The private folder of this worktree, which git takes for its own. */
  readonly home: string;
  /** The store's folder relative to the worktree, where it lies in it. */
  readonly storeInside: string | undefined;
}

/** The folder below a store's root that holds all snapshots. */
export function snapshotsFolder(root: string): string {
  return join(root, 'snapshots');
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function real(path: string): string | undefined {
  try {
    const found = realpathSync.native(path);
    return statSync(found).isDirectory() ? found : undefined;
  } catch {
    return undefined;
  }
}

function contains(outer: string, inner: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith(sep) ? outer : `${outer}${sep}`);
}

/** Which worktrees are never captured. */
function refusalOf(worktree: string, home: string): ReturnType<typeof refuse> | undefined {
  if (dirname(worktree) === worktree)
    return refuse('root_folder', `${worktree} is the root of a file system, which Atlas doesn't capture.`);
  if (contains(worktree, real(home) ?? home))
    return refuse('home_folder', `${worktree} is a home folder or holds one, which Atlas doesn't capture.`, {
      hint: 'Work in a folder of its own for each project.',
    });
  return undefined;
}

/** What the user's git is set to: each `name` and `value` of the settings that matter here. */
async function userSettings(ports: SnapshotPorts, repository: Repository): Promise<Outcome<Map<string, string>>> {
  const args = ['config', '-z', '--type=path', '--get-regexp', '^(core\\.excludesfile|extensions\\.objectformat)$'];
  const run = await ports.git.run(repository.worktree, args, { bytes: false });
  if (!run.ok) return refuse('failed', run.error.message, { cause: run.error });
  const values = run.value.stdout.split('\0').map((record): [string, string] => {
    const [name = '', ...value] = record.split('\n');
    return [name, value.join('\n')];
  });
  return ok(new Map(values));
}

/**
 * Finds out where a worktree's snapshots belong. Refuses folders that are never captured.
 * @param home the user's home folder
 */
export async function findPlace(
  ports: SnapshotPorts,
  root: string,
  worktree: string,
  home = homedir(),
): Promise<Outcome<Place>> {
  const folder = real(worktree);
  if (folder === undefined) return refuse('no_folder', `${worktree} is not a folder, or can't be read.`);
  const refused = refusalOf(folder, home);
  if (refused !== undefined) return refused;
  const located = locateRepository(folder);
  // A folder inside a repository is not its worktree.
  const repository = located?.worktree === folder ? located : undefined;
  const pipe = repository === undefined ? undefined : waitsFor(repository);
  if (pipe !== undefined)
    return refuse('pipe', `${pipe} is a pipe, which would make git wait.`, { hint: 'Move it away.' });
  const settings = repository === undefined ? ok(new Map<string, string>()) : await userSettings(ports, repository);
  if (!settings.ok) return settings;
  const objectFormat = settings.value.get('extensions.objectformat') === 'sha256' ? 'sha256' : 'sha1';
  const shared = repository?.commonDir ?? folder;
  const named = workspaceNameFrom(basename(repository?.main ?? folder)).slice(0, 40);
  const base = join(snapshotsFolder(root), `${named}-${digest(`${objectFormat}\0${shared}`)}`);
  const excludesFile = settings.value.get('core.excludesfile');
  const realRoot = real(root) ?? root;
  return ok({
    ...{ worktree: folder, repository, objectFormat, base },
    excludesFile: excludesFile === '' ? undefined : excludesFile,
    objects: join(base, 'objects'),
    home: join(base, 'worktrees', digest(folder)),
    storeInside: contains(folder, realRoot) ? relative(folder, realRoot).split(sep).join('/') : undefined,
  });
}
