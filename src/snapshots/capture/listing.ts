import { readFileSync } from 'node:fs';
import { ok } from '../../core/shared/errors';
import { type LeftOut, type LeftOutReason } from '../../core/snapshot/snapshotRecord';
import { type TreePath, isUnsafePath, isWithin, parentsOf, quotePath } from '../../core/snapshot/treePath';
import { pathBelow } from '../../git/read/gitPath';
import { ParentLook, lookAt, tryLookAt } from './fileLook';
import { ignoredNow } from './ignoreRules';
import { type PrivateGit, ignoresCase } from '../storage/privateGit';
import { areExcludesOf } from '../storage/snapshotTree';
import type { Outcome } from '../storage/snapshotPorts';
import { asciiFolded, withoutOtherSpellings } from './spelling';
import type { UserIndex } from './userIndex';
import type { UserIndexFacts, WorktreeCache } from './worktreeCache';

/** How a worktree differs from the index of the last capture. */
export interface Differences {
  /** Files and links to read; of each, whether the index has it. */
  readonly changed: ReadonlyMap<TreePath, boolean>;
  /** Those of them whose change git doesn't see: it came within the second of the one before. */
  readonly unseenByGit: readonly TreePath[];
  /** What the index has and the worktree hasn't, or what is ignored now. */
  readonly gone: readonly TreePath[];
  /** Repositories in the worktree, with a slash at the end. */
  readonly nested: readonly TreePath[];
  /** Ignored paths that the index has. */
  readonly ignored: ReadonlySet<TreePath>;
  readonly leftOut: readonly LeftOut[];
  /** Path and text of ignore files that are ignored themselves: no files of the snapshot, but it has to know their rules. */
  readonly rules: readonly (readonly [TreePath, string])[];
  readonly user: UserIndexFacts;
}

/** A larger ignore file isn't one, in bytes. */
const MAX_RULE_BYTES = 1024 * 1024;
const IGNORE_FILE = /(?:^|\/)\.gitignore$/u;
/** Lists ignore files whatever names them; they are told apart afterwards. */
const OTHERS = ['ls-files', '-o', '--exclude-standard', '--exclude=!.gitignore', '-z'];

const UNREADABLE_FOLDER = /^warning: could not open directory '(.*)\/': /gmu;

/** Makes the entry of a path that is left out. */
export function leftOut(path: TreePath, reason: LeftOutReason, more: Partial<LeftOut> = {}): LeftOut {
  return { path: quotePath(path), reason, ...more };
}

/** What to compare. */
export interface ListingOptions {
  readonly index: string;
  readonly cache: WorktreeCache | undefined;
  /** The only paths that can have changed, where that is known. */
  readonly known: readonly TreePath[] | undefined;
}

/** Whether a path is text, and can be an argument. */
export function isText(path: TreePath): boolean {
  return Buffer.from(Buffer.from(path, 'latin1').toString('utf8')).toString('latin1') === path;
}

/** Paths as arguments: those that aren't text can't be. */
function asArguments(paths: readonly TreePath[]): string[] {
  return paths.map((path) => Buffer.from(path, 'latin1').toString('utf8'));
}

/** Compares a worktree with the index of the last capture, in one run of git for each question, all at once. */
export async function listDifferences(
  git: PrivateGit,
  user: UserIndex,
  { index, cache, known }: ListingOptions,
): Promise<Outcome<Differences>> {
  const call = { index };
  const among = known === undefined ? [] : ['--', ...asArguments(known)];
  const untracked: TreePath[] = [];
  const own: TreePath[] = [];
  const status: string[] = [];
  const into = (list: string[]) => (records: string[]) => {
    for (const record of records) list.push(record);
  };
  const isNew = cache === undefined;
  const [listed, compared] = await Promise.all([
    git.records([...OTHERS, ...among], call, into(untracked)),
    isNew ? ok('') : compareWithIndex(git, index, among, into(status)),
  ]);
  if (!listed.ok) return listed;
  if (!compared.ok) return compared;
  const left = [...listed.value.matchAll(UNREADABLE_FOLDER)].map(([, path = '']) => leftOut(`${path}/`, 'unreadable'));
  const told = await othersTold(git, user, untracked);
  if (!told.ok) return told;
  const { seen, rules } = told.value;
  const ruleFiles = readRules(git.place.worktree, [...rules].sort());
  const isSteady = known !== undefined || isSameRules(git, user, cache, ruleFiles, [...seen, ...status]);
  const [facts, ignored] = await Promise.all([
    isSteady && cache !== undefined ? ok(cache.user) : user.facts(cache?.user),
    isNew || isSteady
      ? ok('')
      : git.records(['ls-files', '-c', '-i', '--exclude-standard', '-z', ...among], call, into(own)),
  ]);
  if (!facts.ok) return facts;
  if (!ignored.ok) return ignored;
  const touched = [...seen, ...status.filter((_each, at) => at % 2 === 1)];
  const mayMislead = facts.value.hidesRules || (!isNew && isInRepository(git.place.worktree, touched));
  const visible = await visibleOnly(git, user, { index, others: seen, mayMislead });
  if (!visible.ok) return visible;
  const others = await withoutOtherSpellings(git, index, visible.value.others);
  if (!others.ok) return others;
  const unseen = new Set(visible.value.own);
  // What is ignored is as it was: what of it the index has is tracked, or it would not be there.
  if (isSteady) into(own)(tracedIn(cache));
  const differences = sorted(git, {
    others: others.value,
    own,
    unseen,
    status,
    user: facts.value,
    cache,
    known,
    left,
  });
  const isRule = ([path]: readonly [TreePath, string]): boolean => !differences.changed.has(path);
  return ok({ ...differences, rules: ruleFiles.filter(isRule) });
}

/** What git says of a path below a link that leads to itself. */
const LOOP = /: Too many levels of symbolic links$/mu;

/** Status and path of each file that isn't as the index has it. What lies behind a link in a circle is gone; git alone only complains. */
async function compareWithIndex(
  git: PrivateGit,
  index: string,
  among: readonly string[],
  take: (records: string[]) => void,
): Promise<Outcome<string>> {
  const args = ['diff-files', '--name-status', '-z', ...among];
  const compared = await git.whole(index, async () => {
    const records: string[] = [];
    const said = await git.records(args, { index }, (some) => {
      for (const record of some) records.push(record);
    });
    if (said.ok) take(records);
    return said;
  });
  if (!compared.ok || !LOOP.test(compared.value)) return compared;
  const parents = new ParentLook(git.place.worktree);
  return git.records(['ls-files', '-c', '-z', ...among], { index }, (paths) => {
    for (const path of paths) if (parents.isBehindLoop(path)) take(['D', path]);
  });
}

/** What is new, as the user's git sees it, and the ignore files among it that are ignored themselves. */
async function othersTold(
  git: PrivateGit,
  user: UserIndex,
  others: readonly TreePath[],
): Promise<Outcome<{ readonly seen: readonly TreePath[]; readonly rules: ReadonlySet<TreePath> }>> {
  const ignored = await ignoredNow(
    git,
    others.filter((path) => IGNORE_FILE.test(path)),
  );
  if (!ignored.ok) return ignored;
  const repositories = others.filter((path) => path.endsWith('/'));
  const inside = await trackedInside(user, repositories);
  if (!inside.ok) return inside;
  const rest = others.filter((path) => !ignored.value.has(path) && !inside.value.has(path));
  return ok({ seen: [...rest, ...[...inside.value.values()].flat()], rules: ignored.value });
}

/**
 * Folders that are repositories of their own, in which the user's git tracks files all the same, with what it sees there:
 * they count as any other. Names that aren't text can't be asked for.
 */
async function trackedInside(
  user: UserIndex,
  repositories: readonly TreePath[],
): Promise<Outcome<ReadonlyMap<TreePath, readonly TreePath[]>>> {
  const found = new Map<TreePath, readonly TreePath[]>();
  const named = repositories.filter(isText).map((path) => path.slice(0, -1));
  if (named.length === 0) return ok(found);
  const visible = await user.visible(named);
  if (!visible.ok) return visible;
  const parents = new ParentLook(user.worktree);
  const isThere = (path: TreePath): boolean => {
    const kind = parents.tryLookAt(path.replace(/\/$/u, ''))?.kind;
    return kind === 'file' || kind === 'link' || (kind === 'folder' && path.endsWith('/'));
  };
  for (const folder of named) {
    const below = [...visible.value].filter((path) => path.startsWith(`${folder}/`) && path !== `${folder}/`);
    const files = below.filter(isThere);
    if (files.length > 0) found.set(`${folder}/`, files);
  }
  return ok(found);
}

interface Visible {
  readonly others: readonly TreePath[];
  /** What the index has, and the user's git neither tracks nor would. */
  readonly own: readonly TreePath[];
}

/**
 * Leaves what the user's git sees, where our index may mislead git: ignore files that aren't checked out count, and a folder
 * that became a repository of its own is one, though the index has files in it.
 */
async function visibleOnly(
  git: PrivateGit,
  user: UserIndex,
  { index, others, mayMislead }: { index: string; others: readonly TreePath[]; mayMislead: boolean },
): Promise<Outcome<Visible>> {
  if (!mayMislead) return ok({ others, own: [] });
  const visible = await user.visible();
  if (!visible.ok) return visible;
  const repositories = new Set([...visible.value].filter((path) => path.endsWith('/')));
  // An index has a file by the name that it had first, the worktree by the one that it has now.
  const isFolded = ignoresCase(git.place.worktree);
  const seen = isFolded ? new Set([...visible.value].map(asciiFolded)) : visible.value;
  const sees = (path: TreePath): boolean => seen.has(isFolded ? asciiFolded(path) : path);
  // A submodule is listed as what it is in the index, without the slash of a folder.
  const isVisible = (path: TreePath): boolean => sees(path) || sees(path.replace(/\/$/u, ''));
  for (const path of others) {
    const submodule = isVisible(path) ? undefined : parentsOf(path).find(sees);
    if (submodule !== undefined) repositories.add(`${submodule}/`);
  }
  const own: TreePath[] = [];
  const listed = await git.records(['ls-files', '-c', '-z'], { index }, (records) => {
    for (const path of records) if (!sees(path)) own.push(path);
  });
  return listed.ok ? ok({ others: [...new Set([...others.filter(isVisible), ...repositories])], own }) : listed;
}

/** Whether something changed in a folder that is a repository of its own. */
function isInRepository(worktree: string, paths: readonly TreePath[]): boolean {
  const known = new Map<TreePath, boolean>();
  return paths.some((path) =>
    parentsOf(path).some((parent) => {
      if (!known.has(parent)) known.set(parent, tryLookAt(worktree, `${parent}/.git`) !== undefined);
      return known.get(parent) === true;
    }),
  );
}

/** What the index has though it is ignored. */
function tracedIn(cache: WorktreeCache | undefined): TreePath[] {
  const absent = new Set(cache?.absentTracked);
  return (cache?.user.ignoredTracked ?? []).filter((path) => !absent.has(path));
}

/** Whether nothing changed by which paths are ignored, or tracked though ignored, since the last capture. */
function isSameRules(
  git: PrivateGit,
  user: UserIndex,
  cache: WorktreeCache | undefined,
  rules: readonly (readonly [TreePath, string])[],
  listed: readonly string[],
): boolean {
  if (cache === undefined || cache.user.stamp !== user.stamp) return false;
  const isTouched = [...listed, ...cache.young.map(([path]) => path)].some((path) => IGNORE_FILE.test(path));
  return !isTouched && JSON.stringify(rules) === JSON.stringify(cache.rules) && areExcludesOf(git, cache.parts);
}

function readRules(worktree: string, paths: readonly TreePath[]): [TreePath, string][] {
  return paths.flatMap((path): [TreePath, string][] => {
    try {
      const look = lookAt(worktree, path);
      if (look?.kind !== 'file' || look.size > MAX_RULE_BYTES) return [];
      return [[path, readFileSync(pathBelow(worktree, path), 'latin1')]];
    } catch {
      return [];
    }
  });
}

interface Listed {
  readonly others: readonly TreePath[];
  /** Ignored paths that the index has. */
  readonly own: readonly TreePath[];
  /** What the index has, and the user's git doesn't see. */
  readonly unseen: ReadonlySet<TreePath>;
  readonly status: readonly string[];
  readonly user: UserIndexFacts;
  readonly cache: WorktreeCache | undefined;
  readonly known: readonly TreePath[] | undefined;
  readonly left: LeftOut[];
}

function sorted(git: PrivateGit, listed: Listed): Omit<Differences, 'rules'> {
  const { others, own, unseen, status, user, cache, known, left } = listed;
  const changed = new Map<TreePath, boolean>();
  const gone = new Set<TreePath>();
  for (let at = 0; at + 1 < status.length; at += 2) {
    const path = status[at + 1] ?? '';
    if (status[at] === 'D') gone.add(path);
    else changed.set(path, true);
  }
  const { worktree } = git.place;
  const unseenByGit: TreePath[] = [];
  for (const [path, stamp] of cache?.young ?? []) {
    if (gone.has(path) || changed.has(path) || (known !== undefined && !isWithin(path, known))) continue;
    if (tryLookAt(worktree, path)?.stamp === stamp) continue;
    changed.set(path, true);
    unseenByGit.push(path);
  }
  const nested: TreePath[] = [];
  for (const path of others) {
    if (path.endsWith('/')) nested.push(path);
    else if (isUnsafePath(path)) left.push(leftOut(path, 'name'));
    else changed.set(path, false);
  }
  const tracked = new Set(user.ignoredTracked);
  const ours = new Set(own);
  for (const path of ours) {
    if (tracked.has(path)) continue;
    changed.delete(path);
    gone.add(path);
  }
  for (const path of unseen) {
    changed.delete(path);
    gone.add(path);
  }
  const parents = new ParentLook(worktree);
  for (const path of tracked) {
    if (ours.has(path) || changed.has(path) || gone.has(path)) continue;
    if (known !== undefined && !isWithin(path, known)) continue;
    const kind = parents.firstOdd(path) === undefined ? tryLookAt(worktree, path)?.kind : undefined;
    if (kind === 'file' || kind === 'link') changed.set(path, false);
  }
  return { changed, unseenByGit, gone: [...gone], nested, ignored: ours, leftOut: left, user };
}
