import { readdirSync } from 'node:fs';
import type { PlanReason } from '../../core/snapshot/restorePlan';
import { type TreePath, isUnsafePath, parentsOf } from '../../core/snapshot/treePath';
import { pathBelow } from '../../git/read/gitPath';
import { renameWithRetry, unlinkWithRetry } from '../../system/files/atomicFile';
import { codeOf } from '../../system/files/fileErrors';
import { Slices } from '../../system/slices';
import { tryLookAt } from '../capture/fileLook';
import type { RestoreJournal, RestoreStep } from './restoreJournal';
import type { SnapshotPorts } from '../storage/snapshotPorts';
import { stagedPath } from './staging';

const SLICE_MS = 10;

/** Errors of one path, which the others have nothing to do with. */
const OF_ONE_PATH = new Set(
  ['EACCES', 'EPERM', 'EBUSY', 'ENOTEMPTY', 'EEXIST', 'EISDIR', 'ENOTDIR', 'ENOENT', 'ELOOP'].concat([
    'ENAMETOOLONG',
    'EXDEV',
    'EINVAL',
    'ETXTBSY',
    'EILSEQ',
  ]),
);

/** A path that was left as it is. */
export interface SkippedPath {
  readonly path: TreePath;
  /** `denied`: the system refused it. */
  readonly reason: PlanReason | 'denied';
  readonly message?: string;
}

/** What a restore did. */
export interface Applied {
  readonly written: number;
  readonly removed: number;
  readonly skipped: readonly SkippedPath[];
}

/** What lies at a path, compared with what was there and what is to be there. */
export type Standing = 'old' | 'new' | 'foreign';

/** Brings a worktree from what it was to what a journal wants, path by path. */
export class Application {
  private written = 0;
  private removed = 0;
  private readonly skipped: SkippedPath[] = [];
  private readonly folders = new Set<string>();
  private readonly slices = new Slices(SLICE_MS);

  /**
   * @param standing what of each path is known from an earlier process; those it doesn't know are compared by their stamp
   */
  constructor(
    private readonly files: SnapshotPorts['files'],
    private readonly worktree: string,
    private readonly journal: RestoreJournal,
    private readonly standing: (step: RestoreStep) => Standing | undefined = () => undefined,
  ) {}

  /** Does all steps; throws where the disk fails, and can be done again from then on. */
  async run(): Promise<Applied> {
    const steps = this.journal.steps.map((step, at) => ({ step, at }));
    const removals = steps.filter(({ step }) => step.action === 'remove').map(({ step }) => step);
    // What lies deepest goes first.
    removals.sort((a, b) => depth(b.path) - depth(a.path));
    for (const step of removals) await this.each(step, () => this.remove(step));
    this.removeEmptied(removals);
    for (const { step, at } of steps) if (step.action === 'write') await this.each(step, () => this.write(step, at));
    for (const { step } of steps) if (step.action === 'mode') await this.each(step, () => this.setMode(step));
    await this.sync();
    return { written: this.written, removed: this.removed, skipped: this.skipped };
  }

  private async each(step: RestoreStep, act: () => void): Promise<void> {
    await this.slices.turn();
    const { path } = step;
    const refused = this.refusal(step);
    if (refused === 'done') return;
    if (refused !== undefined) {
      this.skipped.push({ path, reason: refused });
      return;
    }
    try {
      act();
    } catch (error) {
      if (!OF_ONE_PATH.has(codeOf(error))) throw error;
      this.skipped.push({ path, reason: 'denied', message: codeOf(error) });
    }
  }

  /** Looked at just before each change: parents are folders, and nobody changed what is there. */
  private refusal(step: RestoreStep): PlanReason | 'done' | undefined {
    const { path, old } = step;
    if (isUnsafePath(path, process.platform === 'win32')) return 'unsafe_name';
    for (const parent of parentsOf(path)) {
      const kind = tryLookAt(this.worktree, parent)?.kind;
      if (kind === undefined) break;
      if (kind !== 'folder') return kind === 'link' ? 'link_above' : 'in_the_way';
    }
    const known = this.standing(step);
    if (known === 'new') return 'done';
    if (known === 'foreign') return 'changed';
    const look = tryLookAt(this.worktree, path);
    // An empty folder makes room.
    if (look?.kind === 'folder' && old === undefined && step.action === 'write') return undefined;
    return known === 'old' || look?.stamp === old?.stamp ? undefined : 'changed';
  }

  private remove({ path }: RestoreStep): void {
    unlinkWithRetry(this.files, pathBelow(this.worktree, path));
    this.touched(path);
    this.removed += 1;
  }

  private write({ path }: RestoreStep, at: number): void {
    this.makeParents(path);
    const full = pathBelow(this.worktree, path);
    if (tryLookAt(this.worktree, path)?.kind === 'folder') this.removeEmptyFolders(path);
    renameWithRetry(this.files, stagedPath(this.worktree, this.journal.stage, at), full);
    this.touched(path);
    this.written += 1;
  }

  /** Removes a folder in which there are only folders; what is in none of them stays, and fails it. */
  private removeEmptyFolders(folder: TreePath): void {
    const full = pathBelow(this.worktree, folder);
    for (const entry of readdirSync(full, { encoding: 'buffer', withFileTypes: true }))
      if (entry.isDirectory()) this.removeEmptyFolders(`${folder}/${entry.name.toString('latin1')}`);
    this.files.removeEmptyFolder(full);
  }

  private setMode({ path, goal }: RestoreStep): void {
    if (goal === undefined) return;
    this.files.chmod(pathBelow(this.worktree, path), goal.permissions);
    this.written += 1;
  }

  private makeParents(path: TreePath): void {
    for (const parent of parentsOf(path)) {
      if (tryLookAt(this.worktree, parent) !== undefined) continue;
      this.files.makeFolder(pathBelow(this.worktree, parent), 0o777);
      this.touched(parent);
    }
  }

  /** Folders that nothing is in any more, but for those that are needed again. */
  private removeEmptied(removals: readonly RestoreStep[]): void {
    const needed = new Set(
      this.journal.steps.filter(({ action }) => action === 'write').flatMap(({ path }) => parentsOf(path)),
    );
    const emptied = new Set(removals.flatMap(({ path }) => parentsOf(path)));
    for (const folder of [...emptied].sort((a, b) => depth(b) - depth(a))) {
      if (needed.has(folder) || tryLookAt(this.worktree, folder)?.kind !== 'folder') continue;
      try {
        this.files.removeEmptyFolder(pathBelow(this.worktree, folder));
        this.touched(folder);
      } catch (error) {
        // Something is in it that stays.
        if (!OF_ONE_PATH.has(codeOf(error))) throw error;
      }
    }
  }

  private touched(path: TreePath): void {
    const end = path.lastIndexOf('/');
    this.folders.add(end === -1 ? '' : path.slice(0, end));
  }

  private async sync(): Promise<void> {
    const there = [...this.folders].filter(
      (folder) => folder === '' || tryLookAt(this.worktree, folder)?.kind === 'folder',
    );
    await this.files.syncAll?.(there.map((folder) => pathBelow(this.worktree, folder)));
  }
}

function depth(path: TreePath): number {
  return path.split('/').length;
}
