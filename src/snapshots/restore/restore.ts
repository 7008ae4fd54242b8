import { join } from 'node:path';
import { messageOf, ok } from '../../core/shared/errors';
import { toTimestamp } from '../../core/shared/time';
import { refuse } from '../../core/snapshot/problem';
import type { PlannedPath } from '../../core/snapshot/restorePlan';
import type { TreePath } from '../../core/snapshot/treePath';
import { codeOf } from '../../system/files/fileErrors';
import { Application, type Applied, type SkippedPath, type Standing } from './applyRestore';
import { type DiskContent, readDisk } from './diskFiles';
import { tryLookAt } from '../capture/fileLook';
import { type PlannedRestore, isGoal } from './preview';
import type { PrivateGit } from '../storage/privateGit';
import { type RestoreJournal, type RestoreStep, RestoreFiles, newJournal } from './restoreJournal';
import type { Safety } from './safety';
import type { Outcome, SnapshotPorts } from '../storage/snapshotPorts';
import { stageFiles, stagedPath } from './staging';

/** What became of a restore that another process began. */
export interface RecoveredRestore {
  readonly worktree: string;
  /** `undone`: nothing had been changed. `finished`: the files are those of the target, but for those skipped. */
  readonly outcome: 'finished' | 'undone';
  readonly target: string;
  readonly safety: string;
  readonly startedAt: string;
  readonly skipped: readonly SkippedPath[];
}

/** Hides the staged files from git. */
const STAGE_IGNORE = '*\n';
const FULL = new Set(['ENOSPC', 'EDQUOT']);

/** Carries restores out. The caller holds the worktree's lock and shares the database's. */
export class Restorer {
  readonly notes: RestoreFiles;

  constructor(
    private readonly ports: SnapshotPorts,
    private readonly git: PrivateGit,
  ) {
    this.notes = new RestoreFiles(ports, git.place.home);
  }

  /** Restores what was planned. Until all files are staged, a failure leaves everything as it was. */
  async restore({ preview }: PlannedRestore, safety: Safety): Promise<Outcome<Applied>> {
    const { clock, ids } = this.ports;
    const steps = preview.paths.flatMap((path) => stepOf(path, safety.disk));
    const startedAt = toTimestamp(clock.now());
    const parts = { target: preview.target.tree, safety: safety.tree, startedAt, steps };
    const journal = newJournal(parts, ids.hex(6));
    const staged = await this.stage(journal);
    if (!staged.ok) {
      this.clear(journal);
      return staged;
    }
    return this.apply({ ...journal, phase: 'applying' }, () => undefined);
  }

  private async stage(journal: RestoreJournal): Promise<Outcome<void>> {
    const { files } = this.ports;
    const { worktree } = this.git.place;
    const folder = join(worktree, journal.stage);
    try {
      this.notes.write(journal);
      files.makeFolder(folder, 0o700);
      files.write(join(folder, '.gitignore'), STAGE_IGNORE);
      const missing = this.unstaged(journal);
      const done = await stageFiles(this.ports, this.git, missing);
      if (!done.ok) return done;
      files.syncFolder(folder);
      this.notes.write({ ...journal, phase: 'applying' });
      return ok(undefined);
    } catch (error) {
      return failed('The restore could not begin', error);
    }
  }

  private unstaged({ stage, steps }: RestoreJournal): { path: string; goal: NonNullable<RestoreStep['goal']> }[] {
    return steps.flatMap(({ action, goal }, at) => {
      const path = stagedPath(this.git.place.worktree, stage, at);
      return action === 'write' && goal !== undefined ? [{ path, goal }] : [];
    });
  }

  private async apply(
    journal: RestoreJournal,
    standing: (step: RestoreStep) => Standing | undefined,
  ): Promise<Outcome<Applied>> {
    const { files, clock } = this.ports;
    const { worktree } = this.git.place;
    try {
      const applied = await new Application(files, worktree, journal, standing).run();
      files.removeFolder(join(worktree, journal.stage));
      this.notes.finish(journal, toTimestamp(clock.now()));
      return ok(applied);
    } catch (error) {
      return failed(
        'The restore stopped half-way',
        error,
        'Atlas finishes it the next time that it opens this worktree.',
      );
    }
  }

  /** Takes back what staging left, as far as that can be done now; the next process does the rest. */
  private clear(journal: RestoreJournal): void {
    try {
      this.ports.files.removeFolder(join(this.git.place.worktree, journal.stage));
      this.notes.forget();
    } catch (error) {
      this.ports.log.warn('Snapshots: a restore that did not begin could not be cleared away.', {
        error: messageOf(error),
      });
    }
  }

  /** Finishes a restore that another process began, or undoes it where nothing was changed yet. */
  async recover(): Promise<Outcome<RecoveredRestore | undefined>> {
    try {
      const journal = this.notes.begun();
      if (journal === undefined) return ok(undefined);
      const { target, safety, startedAt } = journal;
      const { worktree } = this.git.place;
      const base = { worktree, target, safety, startedAt };
      if (journal.phase === 'staging') {
        this.ports.files.removeFolder(join(worktree, journal.stage));
        this.notes.forget();
        return ok({ ...base, outcome: 'undone', skipped: [] });
      }
      const standing = await this.standings(journal);
      if (!standing.ok) return standing;
      const applied = await this.apply(journal, (step) => standing.value.get(step.path));
      return applied.ok ? ok({ ...base, outcome: 'finished', skipped: applied.value.skipped }) : applied;
    } catch (error) {
      return failed('A restore could not be finished', error);
    }
  }

  /** What each path of a journal is now. */
  private async standings(journal: RestoreJournal): Promise<Outcome<ReadonlyMap<TreePath, Standing>>> {
    const { worktree } = this.git.place;
    const read = await readDisk(
      this.git,
      journal.steps.map(({ path }) => path),
      false,
    );
    if (!read.ok) return read;
    const isStaged = (at: number): boolean =>
      this.ports.files.stat(stagedPath(worktree, journal.stage, at)) !== undefined;
    // Removals come before anything is renamed into its place.
    const removalsAreDone = journal.steps.some(({ action }, at) => action === 'write' && !isStaged(at));
    const known = new Map<TreePath, Standing>();
    journal.steps.forEach((step, at) => {
      const { path, action, old, goal } = step;
      const found = read.value.get(path);
      if (action === 'remove' && (found === undefined || removalsAreDone)) known.set(path, 'new');
      else if (isGoal(found, goal)) known.set(path, 'new');
      else if (action === 'write' && !isStaged(at)) known.set(path, 'foreign');
      else known.set(path, isOld(worktree, path, found, old) ? 'old' : 'foreign');
    });
    return ok(known);
  }
}

function isOld(worktree: string, path: TreePath, found: DiskContent, old: RestoreStep['old']): boolean {
  if (old === undefined) return found === undefined || tryLookAt(worktree, path)?.kind === 'folder';
  return typeof found === 'object' && found.id === old.id && found.mode === old.mode;
}

function stepOf({ path, action, goal }: PlannedPath, disk: Safety['disk']): RestoreStep[] {
  if (action !== 'write' && action !== 'remove' && action !== 'mode') return [];
  const old = disk.get(path);
  return [{ path, action, ...(typeof old === 'object' ? { old } : {}), ...(goal === undefined ? {} : { goal }) }];
}

function failed(what: string, error: unknown, hint?: string): ReturnType<typeof refuse> {
  const options = { cause: error, ...(hint === undefined ? {} : { hint }) };
  // What was thrown by something else than a file operation is nobody's to handle here.
  if (codeOf(error) === '') throw error;
  return refuse(FULL.has(codeOf(error)) ? 'disk_full' : 'failed', `${what}: ${messageOf(error)}`, options);
}
