import { type TreePath, isUnsafePath, parentsOf } from './treePath';

/** What lies at a path of a worktree now. */
export interface DiskEntry {
  readonly kind: 'file' | 'link' | 'folder' | 'other';
  /** Whether it was changed within the last minute. */
  readonly recent: boolean;
}

/** What a restore puts at a path: an entry of a tree, and permission bits. */
export interface Goal {
  readonly mode: '100644' | '100755' | '120000';
  readonly id: string;
  readonly permissions: number;
}

/** Why a path stays as it is, or can't be restored. */
export type PlanReason =
  /** Ignored when the snapshot was made, or now. */
  | 'ignored_then'
  | 'ignored_now'
  /** The snapshot doesn't say whether it was there. */
  | 'left_out_then'
  | 'not_checked_out_then'
  /** Something that the safety checkpoint wouldn't have lies at the path, in it or above it. */
  | 'in_the_way'
  | 'repository'
  | 'link_above'
  | 'special'
  | 'unsafe_name'
  /** What is there now can't be kept for undoing. */
  | 'unreadable'
  | 'changed';

/** What a restore would do with a path. */
export interface PlannedPath {
  readonly path: TreePath;
  /** `keep`: it would be removed, but for the reason. `blocked`: it would be written or removed, but for the reason. */
  readonly action: 'write' | 'remove' | 'mode' | 'keep' | 'blocked';
  readonly reason?: PlanReason;
  /** What is in the way. */
  readonly by?: TreePath;
  /** What is to be there; absent for a removal. */
  readonly goal?: Goal;
  /** Whether something is there now. */
  readonly exists: boolean;
  /** Whether it was changed within the last minute. */
  readonly recent: boolean;
}

/** A path that differs between now and the target. */
export interface WantedChange {
  readonly path: TreePath;
  /** Absent where the target has nothing at the path. */
  readonly goal?: Goal;
  /** Whether the capture of now has the path. */
  readonly captured: boolean;
  /** Whether only permission bits differ. */
  readonly modeOnly?: boolean;
  /** Whether a restore put it there and undoing takes it away: then neither rules nor what was unknown keep it. */
  readonly undone?: boolean;
}

/** What a plan has to know of the worktree and the target. */
export interface PlanFacts {
  at(path: TreePath): DiskEntry | undefined;
  /** Everything but folders below a folder; repositories in it end with a slash. */
  below(folder: TreePath): readonly TreePath[];
  isRepository(folder: TreePath): boolean;
  ignoredThen(path: TreePath): boolean;
  ignoredNow(path: TreePath): boolean;
  unknownThen(path: TreePath): 'left_out_then' | 'not_checked_out_then' | undefined;
  /** Why what is there now can't be kept for undoing: it can't be read, or was changed since it was captured. */
  problem(path: TreePath): 'unreadable' | 'changed' | undefined;
  /** Whether upper and lower case are the same here. */
  readonly caseless: boolean;
  readonly windows: boolean;
}

/** The paths of a plan that a restore changes. */
export function changingPaths(paths: readonly PlannedPath[]): PlannedPath[] {
  return paths.filter(({ action }) => action === 'write' || action === 'remove' || action === 'mode');
}

/** The paths of a plan that would have changed, but are left as they are. */
export function blockedPaths(paths: readonly PlannedPath[]): PlannedPath[] {
  return paths.filter(({ action }) => action === 'blocked');
}

/** Decides for each path what a restore does, sorted by path. Nothing is forced: what is in the way blocks. */
export function planRestore(changes: readonly WantedChange[], facts: PlanFacts): PlannedPath[] {
  const planner = new Planner(facts);
  const removals = changes.filter(({ goal }) => goal === undefined).map((change) => planner.removal(change));
  const others = changes.filter(({ goal }) => goal !== undefined).map((change) => planner.write(change));
  return [...removals, ...others].sort((a, b) => (a.path < b.path ? -1 : 1));
}

class Planner {
  /** What goes before anything is written. */
  private readonly removed = new Set<TreePath>();

  constructor(private readonly facts: PlanFacts) {}

  removal({ path, undone }: WantedChange): PlannedPath {
    const { facts } = this;
    const found = facts.at(path);
    const base = { path, exists: found !== undefined, recent: found?.recent ?? false };
    if (isUnsafePath(path, facts.windows)) return { ...base, action: 'blocked', reason: 'unsafe_name' };
    if (undone !== true) {
      const unknown = facts.unknownThen(path);
      if (unknown !== undefined) return { ...base, action: 'keep', reason: unknown };
      if (facts.ignoredThen(path)) return { ...base, action: 'keep', reason: 'ignored_then' };
      if (facts.ignoredNow(path)) return { ...base, action: 'keep', reason: 'ignored_now' };
    }
    const above = this.above(path);
    if (above !== undefined) return { ...base, action: 'blocked', ...above };
    if (found?.kind === 'folder' || found?.kind === 'other') return { ...base, action: 'blocked', reason: 'changed' };
    const problem = facts.problem(path);
    if (problem !== undefined) return { ...base, action: 'blocked', reason: problem };
    this.removed.add(this.key(path));
    return { ...base, action: 'remove' };
  }

  write({ path, goal, captured, modeOnly }: WantedChange): PlannedPath {
    const { facts } = this;
    const found = facts.at(path);
    const base = {
      ...{ path, exists: found !== undefined, recent: found?.recent ?? false },
      ...(goal === undefined ? {} : { goal }),
    };
    const blocked = (reason: PlanReason, by?: TreePath): PlannedPath => ({
      ...{ ...base, action: 'blocked', reason },
      ...(by === undefined ? {} : { by }),
    });
    if (isUnsafePath(path, facts.windows)) return blocked('unsafe_name');
    const above = this.above(path);
    if (above !== undefined) return blocked(above.reason, above.by);
    if (found?.kind === 'other') return blocked('special');
    if (found?.kind === 'folder') {
      if (facts.isRepository(path)) return blocked('repository', path);
      const by = facts.below(path).find((each) => !this.removed.has(this.key(each)));
      if (by !== undefined) return blocked(by.endsWith('/') ? 'repository' : 'in_the_way', by);
      return { ...base, action: 'write' };
    }
    // Where case doesn't count, what goes by another spelling is found by this one too.
    const goes = !captured && facts.caseless && this.removed.has(this.key(path));
    const problem = found === undefined || goes ? undefined : facts.problem(path);
    if (problem !== undefined) return blocked(problem);
    if (modeOnly === true) return { ...base, action: 'mode' };
    return { ...base, action: 'write' };
  }

  /** What above a path keeps it from being written or removed. */
  private above(path: TreePath): { readonly reason: PlanReason; readonly by: TreePath } | undefined {
    for (const parent of parentsOf(path)) {
      const kind = this.facts.at(parent)?.kind;
      if (kind === undefined) return undefined;
      if (kind === 'folder') {
        if (this.facts.isRepository(parent)) return { reason: 'repository', by: parent };
        continue;
      }
      if (this.removed.has(this.key(parent))) return undefined;
      return { reason: kind === 'link' ? 'link_above' : 'in_the_way', by: parent };
    }
    return undefined;
  }

  private key(path: TreePath): string {
    return this.facts.caseless ? path.toLowerCase() : path;
  }
}
