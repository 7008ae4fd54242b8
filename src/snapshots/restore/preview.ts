import { existsSync, readdirSync } from 'node:fs';
import { ok } from '../../core/shared/errors';
import {
  type DiskEntry,
  type Goal,
  type PlanFacts,
  type PlannedPath,
  type WantedChange,
  planRestore,
} from '../../core/snapshot/restorePlan';
import { type TreePath, isWithin } from '../../core/snapshot/treePath';
import type { GitOperation } from '../../core/task/worktreeState';
import { pathBelow } from '../../git/read/gitPath';
import { operationIn } from '../../git/read/operation';
import { readHead } from '../../git/read/refs';
import { SnapshotContents, entryChanges, modeChanges, permissionsOf, unknownPaths } from '../storage/contents';
import { type DiskContent, readDisk } from './diskFiles';
import { type FileLook, ParentLook } from '../capture/fileLook';
import { ignoredNow, ignoredThen } from '../capture/ignoreRules';
import { type PrivateGit, ignoresCase } from '../storage/privateGit';
import type { FileEntry, ReadSnapshot } from '../storage/snapshotTree';
import type { Outcome, SnapshotPorts } from '../storage/snapshotPorts';

const RECENT_MS = 60_000;
const IGNORE_FILE = /(?:^|\/)\.gitignore$/u;

/** What is to be restored. */
export interface RestoreTarget {
  /** The snapshot. */
  readonly tree: string;
  /** The commit that HEAD named when it was made. */
  readonly head?: string | undefined;
  /** Files, or folders with all that is in them; the whole worktree where none are given. */
  readonly chosen?: readonly TreePath[];
}

/** What a restore would do; bound to the snapshot of the worktree that it was made for. */
export interface RestorePreview {
  readonly target: RestoreTarget;
  /** The snapshot of the worktree as it is. */
  readonly now: string;
  /** Every path that would be written, removed, left alone or blocked; sorted. */
  readonly paths: readonly PlannedPath[];
  readonly headNow?: string;
  /** Whether HEAD is at another commit than at the target's time, where both are known. */
  readonly headDiffers: boolean;
  /** What git is in the middle of. */
  readonly operation?: GitOperation;
}

/** A preview with what a restore needs beside it. */
export interface PlannedRestore {
  readonly preview: RestorePreview;
  readonly target: ReadSnapshot;
  readonly now: ReadSnapshot;
  /** What the capture of now has at paths that change. */
  readonly captured: ReadonlyMap<TreePath, FileEntry>;
  /** What lies at the paths that change. */
  readonly disk: ReadonlyMap<TreePath, DiskContent>;
}

/** Plans a restore. `now` is a snapshot that was just made. */
export async function planFor(
  ports: SnapshotPorts,
  git: PrivateGit,
  wanted: RestoreTarget,
  nowTree: string,
): Promise<Outcome<PlannedRestore>> {
  const contents = new SnapshotContents(git);
  const target = await contents.meta(wanted.tree);
  if (!target.ok) return target;
  const now = await contents.meta(nowTree);
  if (!now.ok) return now;
  const changes = await wantedChanges(git, target.value, now.value, wanted.chosen ?? []);
  if (!changes.ok) return changes;
  const { list, captured } = changes.value;
  const { worktree } = git.place;
  const parents = new ParentLook(worktree);
  const existing = list.map(({ path }) => path).filter((path) => isContent(parents.tryLookAt(path)));
  const disk = await readDisk(git, existing, false);
  if (!disk.ok) return disk;
  const facts = await factsFor(ports, git, target.value, changes.value, disk.value);
  if (!facts.ok) return facts;
  const { repository } = git.place;
  const head = repository === undefined ? undefined : readHead(repository).commit;
  const operation = repository === undefined ? undefined : operationIn(repository);
  const preview: RestorePreview = {
    ...{ target: wanted, now: nowTree, paths: planRestore(list, facts.value) },
    headDiffers: head !== undefined && wanted.head !== undefined && head !== wanted.head,
    ...(head === undefined ? {} : { headNow: head }),
    ...(operation === undefined ? {} : { operation }),
  };
  return ok({ preview, target: target.value, now: now.value, captured, disk: disk.value });
}

interface Changes {
  readonly list: readonly WantedChange[];
  readonly captured: ReadonlyMap<TreePath, FileEntry>;
  readonly rulesDiffer: boolean;
}

async function wantedChanges(
  git: PrivateGit,
  target: ReadSnapshot,
  now: ReadSnapshot,
  chosen: readonly TreePath[],
): Promise<Outcome<Changes>> {
  const entries = await entryChanges(git, now.filesTree, target.filesTree);
  if (!entries.ok) return entries;
  const kept = await protectedEntries(git, target);
  if (!kept.ok) return kept;
  const rulesDiffer =
    entries.value.some(({ path }) => IGNORE_FILE.test(path)) ||
    JSON.stringify(target.rules) !== JSON.stringify(now.rules) ||
    target.exclude !== now.exclude ||
    target.excludesFile !== now.excludesFile;
  const captured = new Map<TreePath, FileEntry>();
  const wanted = new Map<TreePath, WantedChange>();
  const put = (path: TreePath, after: FileEntry | undefined, more: Partial<WantedChange> = {}): void => {
    if (!isWithin(path, chosen)) return;
    const goal = after === undefined ? {} : { goal: goalOf(target, path, after) };
    wanted.set(path, { path, captured: captured.has(path), ...goal, ...more });
  };
  for (const { path, before, after } of entries.value) {
    if (before !== undefined) captured.set(path, before);
    put(path, after);
  }
  const bits = await entriesAt(git, target, modeChanges(now, target, new Set(entries.value.map(({ path }) => path))));
  if (!bits.ok) return bits;
  for (const [path, entry] of bits.value) {
    captured.set(path, entry);
    put(path, entry, { modeOnly: true });
  }
  for (const [path, entry] of kept.value) put(path, entry);
  const same = await alreadyThere(git, target, wanted, captured);
  if (!same.ok) return same;
  for (const path of same.value.there) wanted.delete(path);
  for (const { path } of target.absent)
    if (same.value.undone.has(path) && isWithin(path, chosen))
      wanted.set(path, { path, captured: captured.has(path), undone: true });
  return ok({ list: [...wanted.values()], captured, rulesDiffer });
}

function goalOf(target: ReadSnapshot, path: TreePath, entry: FileEntry): Goal {
  return { ...entry, permissions: permissionsOf(target, path, entry) };
}

/** The entries of those paths that a snapshot has. */
async function entriesAt(
  git: PrivateGit,
  { filesTree }: ReadSnapshot,
  paths: readonly TreePath[],
): Promise<Outcome<[TreePath, FileEntry][]>> {
  if (paths.length === 0) return ok([]);
  const wanted = new Set(paths);
  const entries = await new SnapshotContents(git).entries(filesTree);
  return entries.ok ? ok(entries.value.filter(([path]) => wanted.has(path))) : entries;
}

async function protectedEntries(git: PrivateGit, target: ReadSnapshot): Promise<Outcome<Map<TreePath, FileEntry>>> {
  if (target.protectedTree === undefined) return ok(new Map());
  const listed = await new SnapshotContents(git).entries(target.protectedTree);
  return listed.ok ? ok(new Map(listed.value)) : listed;
}

/** What isn't in the capture of now, since it is ignored or was left out, but lies there as the target has it. */
async function alreadyThere(
  git: PrivateGit,
  target: ReadSnapshot,
  wanted: ReadonlyMap<TreePath, WantedChange>,
  captured: ReadonlyMap<TreePath, FileEntry>,
): Promise<Outcome<{ readonly there: readonly TreePath[]; readonly undone: ReadonlySet<TreePath> }>> {
  const { worktree } = git.place;
  const parents = new ParentLook(worktree);
  const unseen = [...wanted.values()].filter(
    ({ path, goal }) => goal !== undefined && !captured.has(path) && parents.tryLookAt(path) !== undefined,
  );
  const paths = [...unseen.map(({ path }) => path), ...target.absent.map(({ path }) => path)];
  const read = await readDisk(git, paths, false);
  if (!read.ok) return read;
  const there = unseen.filter(({ path, goal }) => isGoal(read.value.get(path), goal)).map(({ path }) => path);
  const undone = target.absent.filter((each) => {
    const found = read.value.get(each.path);
    return typeof found === 'object' && found.id === each.id && found.mode === each.mode;
  });
  return ok({ there, undone: new Set(undone.map(({ path }) => path)) });
}

/** Whether what lies at a path is what is wanted there. */
export function isGoal(found: DiskContent, goal: Goal | undefined): boolean {
  if (goal === undefined) return found === undefined;
  if (typeof found !== 'object' || found.id !== goal.id || found.mode !== goal.mode) return false;
  return goal.mode === '120000' || process.platform === 'win32' || found.permissions === goal.permissions;
}

async function factsFor(
  ports: SnapshotPorts,
  git: PrivateGit,
  target: ReadSnapshot,
  { list: changes, captured, rulesDiffer }: Changes,
  disk: ReadonlyMap<TreePath, DiskContent>,
): Promise<Outcome<PlanFacts>> {
  const { worktree } = git.place;
  const removals = changes.filter(({ goal, undone }) => goal === undefined && undone !== true).map(({ path }) => path);
  const now = await ignoredNow(git, removals);
  if (!now.ok) return now;
  const then = rulesDiffer ? await ignoredThen(ports, git, target, removals) : now;
  if (!then.ok) return then;
  const isUnknown = unknownPaths({ ...target, notCheckedOut: [] });
  const absent = new Set(target.notCheckedOut);
  const looks = new Map<TreePath, DiskEntry | undefined>();
  const parents = new ParentLook(worktree);
  const since = ports.clock.now() - RECENT_MS;
  const at = (path: TreePath): DiskEntry | undefined => {
    if (!looks.has(path)) {
      const look = parents.tryLookAt(path);
      looks.set(path, look === undefined ? undefined : { kind: look.kind, recent: look.changedMs > since });
    }
    return looks.get(path);
  };
  const isRepository = (folder: TreePath): boolean => existsSync(pathBelow(worktree, `${folder}/.git`));
  const reasonThen = (path: TreePath) =>
    absent.has(path) ? ('not_checked_out_then' as const) : isUnknown(path) ? ('left_out_then' as const) : undefined;
  return ok({
    ...{ at, isRepository, unknownThen: reasonThen },
    below: (folder) => filesBelow(worktree, folder, isRepository),
    ignoredThen: (path) => then.value.has(path),
    ignoredNow: (path) => now.value.has(path),
    problem: (path) => problemOf(disk.get(path), captured.get(path)),
    caseless: ignoresCase(worktree),
    windows: process.platform === 'win32',
  });
}

function isContent(look: FileLook | undefined): boolean {
  return look?.kind === 'file' || look?.kind === 'link';
}

function problemOf(found: DiskContent, captured: FileEntry | undefined): 'unreadable' | 'changed' | undefined {
  if (found === undefined) return undefined;
  if (found === 'unreadable') return 'unreadable';
  return captured === undefined || (captured.id === found.id && captured.mode === found.mode) ? undefined : 'changed';
}

function filesBelow(worktree: string, folder: TreePath, isRepository: (folder: TreePath) => boolean): TreePath[] {
  const entries = readdirSync(pathBelow(worktree, folder), { encoding: 'buffer', withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = `${folder}/${entry.name.toString('latin1')}`;
    if (!entry.isDirectory()) return [path];
    return isRepository(path) ? [`${path}/`] : filesBelow(worktree, path, isRepository);
  });
}
