import { basename, join } from 'node:path';
import { ok } from '../core/shared/errors';
import { toTimestamp } from '../core/shared/time';
import { refuse } from '../core/snapshot/problem';
import {
  type LeftOut,
  MAX_LEFT_OUT_LISTED,
  SNAPSHOT_FORMAT,
  type SnapshotRecord,
} from '../core/snapshot/snapshotRecord';
import type { TreePath } from '../core/snapshot/treePath';
import { readHead } from '../git/read/refs';
import { codeOf } from '../system/files/fileErrors';
import { ensureFolder } from '../system/files/atomicFile';
import type { Applied } from './restore/applyRestore';
import { type Captured, captureFiles } from './capture/capture';
import { SnapshotContents, type SnapshotDiff } from './storage/contents';
import type { GenerationLock } from '../system/locks/lock';
import { DatabaseLock, type Release, newLock, takeLock } from './storage/databaseLock';
import { type Place, findPlace } from './storage/place';
import { type PlannedRestore, type RestorePreview, type RestoreTarget, planFor } from './restore/preview';
import { PrivateGit, preparePrivate } from './storage/privateGit';
import { type RecoveredRestore, Restorer } from './restore/restore';
import { makeSafety } from './restore/safety';
import type { Outcome, SnapshotPorts } from './storage/snapshotPorts';
import { Upkeep } from './upkeep';

/** How long one capture or restore waits for another in the same worktree, in ms, unless it is said. */
const WAIT_MS = 60_000;

/** What snapshots may take, in bytes. */
export interface SnapshotSettings {
  /** Larger files are left out. */
  readonly maxFileSize: number;
  /** On disk, in each repository. */
  readonly maxSize: number;
}

/** What a capture is asked for. */
export interface CaptureOptions {
  /** The only paths that can have changed since the last capture, where that is known: many times quicker. */
  readonly knownPaths?: readonly TreePath[];
  readonly signal?: AbortSignal;
  /** How long to wait for another capture or restore in the worktree, in ms. */
  readonly waitMs?: number;
}

/** A snapshot that was made. */
export interface CaptureResult {
  /** What a checkpoint records of it. */
  readonly snapshot: SnapshotRecord;
  /** Whether it is the same as the worktree's last one: then nothing was written. */
  readonly unchanged: boolean;
  /** All that was left out; the record lists the first of them. */
  readonly leftOut: readonly LeftOut[];
  /** A restore of another process that was killed, and that this one finished or undid first. */
  readonly recovered?: RecoveredRestore;
}

/** A restore that was carried out. */
export interface RestoreResult extends Applied {
  /** The safety snapshot: restoring it undoes this. */
  readonly safety: SnapshotRecord;
}

/** What a restore is asked for beside its preview. */
export interface RestoreOptions {
  /** Records the safety checkpoint; the restore begins only if that succeeds. */
  readonly recordSafety?: (safety: SnapshotRecord) => Promise<Outcome<unknown>>;
  readonly waitMs?: number;
}

/** Snapshots of one worktree. A process keeps one object for each. */
export class Snapshots {
  /** Reads snapshots; needs no lock. */
  readonly contents: SnapshotContents;
  /** Sizes, packing, freeing and verifying, for all worktrees of the repository. */
  readonly upkeep: Upkeep;
  private readonly git: PrivateGit;
  private readonly lock: DatabaseLock;
  private readonly worktreeLock: GenerationLock;
  private readonly restorer: Restorer;

  constructor(
    private readonly ports: SnapshotPorts,
    readonly place: Place,
    private readonly settings: SnapshotSettings,
  ) {
    this.git = new PrivateGit(ports, place);
    this.contents = new SnapshotContents(this.git);
    this.upkeep = new Upkeep(ports, this.git);
    this.worktreeLock = newLock(ports, join(place.home, 'locks'));
    this.lock = new DatabaseLock(ports, place.base);
    this.restorer = new Restorer(ports, this.git);
  }

  /** The name of the repository's folder in the store. */
  get database(): string {
    return basename(this.place.base);
  }

  /** What the repository's snapshots may take on disk, in bytes. */
  get maxSize(): number {
    return this.settings.maxSize;
  }

  /** Captures the worktree as it is. The user's git stays as it is, to the time stamps. */
  async capture(options: CaptureOptions = {}): Promise<Outcome<CaptureResult>> {
    return this.alone(options.waitMs, async (recovered) => {
      const captured = await this.record(options);
      if (!captured.ok) return captured;
      return ok({ ...captured.value, ...(recovered === undefined ? {} : { recovered }) });
    });
  }

  /** How a snapshot differs from the worktree as it is. */
  async diffWithNow(tree: string, options: { readonly stat?: boolean } = {}): Promise<Outcome<SnapshotDiff>> {
    const now = await this.capture();
    return now.ok ? this.contents.diff(tree, now.value.snapshot.tree, options) : now;
  }

  /** What restoring would do, path by path. Nothing is changed. */
  async preview(target: RestoreTarget, options: CaptureOptions = {}): Promise<Outcome<RestorePreview>> {
    return this.alone(options.waitMs, async () => {
      const now = await this.record(options);
      if (!now.ok) return now;
      const planned = await planFor(this.ports, this.git, target, now.value.snapshot.tree);
      return planned.ok ? ok(planned.value.preview) : planned;
    });
  }

  /**
   * Restores what a preview shows. Fails with `changed` where the worktree isn't as it was then: preview it again. HEAD,
   * branch and index stay as they are.
   */
  async restore(preview: RestorePreview, options: RestoreOptions = {}): Promise<Outcome<RestoreResult>> {
    return this.alone(options.waitMs, async () => {
      const now = await this.record({});
      if (!now.ok) return now;
      const planned = await planFor(this.ports, this.git, preview.target, now.value.snapshot.tree);
      if (!planned.ok) return planned;
      if (!(await this.isSameWorktree(preview, planned.value)))
        return refuse('changed', 'The files changed since the preview was made.', {
          hint: 'Preview the restore again.',
        });
      const safety = await makeSafety(this.ports, this.git, planned.value, this.settings.maxSize);
      if (!safety.ok) return safety;
      const record = { ...now.value.snapshot, tree: safety.value.tree };
      const recorded = await options.recordSafety?.(record);
      if (recorded?.ok === false) return recorded;
      const applied = await this.restorer.restore(planned.value, safety.value);
      return applied.ok ? ok({ ...applied.value, safety: record }) : applied;
    });
  }

  /** What undoing the last restore of this worktree would do; `nothing_to_undo` where none is known. */
  async previewUndo(): Promise<Outcome<RestorePreview>> {
    const last = this.restorer.notes.lastRestore();
    if (last === undefined) return refuse('nothing_to_undo', 'No restore of this worktree is known.');
    return this.preview({ tree: last.safety });
  }

  /** Whether a restore was begun in this worktree that isn't over; its process may live. Starts no process. */
  hasUnfinished(): boolean {
    return this.restorer.notes.isBegun();
  }

  /** Finishes or undoes a restore that was killed; `undefined` where there is none. */
  async recover(): Promise<Outcome<RecoveredRestore | undefined>> {
    return this.alone(undefined, async (recovered) => Promise.resolve(ok(recovered)));
  }

  private async record({ knownPaths, signal }: CaptureOptions): Promise<Outcome<Omit<CaptureResult, 'recovered'>>> {
    const { clock } = this.ports;
    const started = toTimestamp(clock.now());
    const limits = { ...this.settings, isCancelled: () => signal?.aborted === true, known: knownPaths };
    const captured = await captureFiles(this.ports, this.place, limits);
    return captured.ok ? ok(this.resultOf(captured.value, started)) : captured;
  }

  private resultOf({ tree, unchanged, bytesWritten, cache }: Captured, started: string): CaptureResult {
    const { repository } = this.place;
    const { commit, branch } = repository === undefined ? {} : readHead(repository);
    const snapshot: SnapshotRecord = {
      ...{ tree, format: SNAPSHOT_FORMAT, database: this.database },
      ...{ started_at: started, ended_at: toTimestamp(this.ports.clock.now()) },
      ...{ files: cache.files, bytes_written: bytesWritten },
      ...{ left_out: cache.leftOut.slice(0, MAX_LEFT_OUT_LISTED), left_out_total: cache.leftOut.length },
      ...(commit === undefined ? {} : { head: commit }),
      ...(branch === undefined ? {} : { branch }),
    };
    return { snapshot, unchanged, leftOut: cache.leftOut };
  }

  /** Whether files are as they were for a preview. What was left out may be named otherwise by now, which changes no file. */
  private async isSameWorktree(preview: RestorePreview, { preview: fresh, now }: PlannedRestore): Promise<boolean> {
    if (!isSamePlan(fresh, preview)) return false;
    if (fresh.now === preview.now) return true;
    const then = await this.contents.meta(preview.now);
    return then.ok && then.value.filesTree === now.filesTree;
  }

  /** Works alone in the worktree, after finishing what a killed process began there. */
  private async alone<T>(
    waitMs: number | undefined,
    work: (recovered: RecoveredRestore | undefined) => Promise<Outcome<T>>,
  ): Promise<Outcome<T>> {
    const releases: Release[] = [];
    try {
      for (const take of [
        async () => takeLock(this.worktreeLock, waitMs ?? WAIT_MS),
        async () => this.lock.share(waitMs ?? WAIT_MS),
      ]) {
        ensureFolder(this.ports.files, this.place.home, 0o700);
        const held = await take();
        if (!held.ok) return held;
        releases.unshift(held.value);
      }
      preparePrivate(this.ports, this.place);
      const recovered = await this.restorer.recover();
      return recovered.ok ? await work(recovered.value) : recovered;
    } catch (error) {
      if (codeOf(error) === '') throw error;
      const isFull = codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT';
      return refuse(isFull ? 'disk_full' : 'failed', `The snapshots could not be written: ${codeOf(error)}.`, {
        cause: error,
      });
    } finally {
      for (const release of releases) this.let(release);
    }
  }

  /** A lock that can't be let go now is taken for free when this process is gone. */
  private let(release: Release): void {
    try {
      release();
    } catch (error) {
      if (codeOf(error) === '') throw error;
    }
  }
}

function isSamePlan(a: RestorePreview, b: RestorePreview): boolean {
  const plain = ({ paths }: RestorePreview): string =>
    JSON.stringify(paths.map(({ recent: _recent, ...path }) => path));
  return plain(a) === plain(b);
}

/**
 * Opens the snapshots of a worktree. Refuses a home folder, a file system's root, and folders that aren't there.
 * @param where the store's root, and the worktree's top folder or a folder without git
 */
export async function openSnapshots(
  ports: SnapshotPorts,
  where: {
    readonly root: string;
    readonly worktree: string;
    readonly settings: SnapshotSettings;
    readonly home?: string;
  },
): Promise<Outcome<Snapshots>> {
  const place = await findPlace(ports, where.root, where.worktree, where.home);
  return place.ok ? ok(new Snapshots(ports, place.value, where.settings)) : place;
}
