import { join } from 'node:path';
import type { FileDrift } from '../../../core/checkpoint/checkpoint';
import { messageOf } from '../../../core/shared/errors';
import type { ChangedSince } from '../../../core/shared/ports';
import { snapshotOf } from '../../../core/snapshot/snapshotEntry';
import { quotePath } from '../../../core/snapshot/treePath';
import { toMs } from '../../../core/shared/time';
import type { StoredTask } from '../../../core/task/storedTask';
import { worktreeOf } from '../../../core/task/task';
import type { TaskRef } from '../../../core/task/taskRef';
import { taskChanges } from '../../../service/checkpoints/taskChanges';
import type { OpenAtlas } from '../../../service/createAtlas';

/** How long git may take to list the changes, in ms; nothing waits for it. */
const LISTING_MS = 10_000;
/** Of so many files without a snapshot it is looked at when they changed. */
const MAX_STATS = 500;

/** What is known of a task's files. */
export interface ChangedFiles {
  /** The files that differ from the task's start; `undefined` where git can't say. */
  readonly sinceStart: readonly ChangedSince[] | undefined;
  /** The paths of those that changed after the last checkpoint. */
  readonly recent: ReadonlySet<string>;
}

/** Of so many new files, and of none that is larger, the lines are counted. */
const MAX_COUNTED = 100;
const MAX_COUNTED_BYTES = 256 * 1024;

/** New files that git doesn't know yet, with their lines; it counts those of the others. */
function withLines(atlas: OpenAtlas, worktree: string, files: readonly ChangedSince[]): ChangedSince[] {
  let left = MAX_COUNTED;
  return files.map((file) => {
    if (file.change !== 'added' || file.added !== undefined || left === 0) return file;
    left -= 1;
    const lines = linesOf(atlas, join(worktree, file.path));
    return lines === undefined ? file : { ...file, added: lines, removed: 0 };
  });
}

function linesOf({ ports: { files } }: OpenAtlas, path: string): number | undefined {
  try {
    const stat = files.stat(path);
    if (stat?.kind !== 'file' || stat.size > MAX_COUNTED_BYTES) return undefined;
    const bytes = Buffer.from(files.read(path, MAX_COUNTED_BYTES));
    if (bytes.includes(0)) return undefined;
    const text = bytes.toString('latin1');
    return text.split('\n').length - (text === '' || text.endsWith('\n') ? 1 : 0);
  } catch {
    // It may just have been removed; the next listing knows.
    return undefined;
  }
}

/**
 * Asks git and the file system what a task changed. What changed after the last checkpoint is what differs from the files
 * that it kept. Of one that kept none, those that it has hashes of are compared with them; others changed after it when
 * they were written after it.
 */
async function changedFiles(atlas: OpenAtlas, stored: StoredTask): Promise<ChangedFiles> {
  const since = await changedSinceLast(atlas, stored);
  if (since !== undefined)
    return { sinceStart: (await taskChanges(atlas.ports, stored, LISTING_MS))?.files, recent: since };
  const [changes, drift] = await Promise.all([
    taskChanges(atlas.ports, stored, LISTING_MS),
    atlas.drive().then(async ({ recovery }) => recovery.drift(stored.hook, stored.task)),
  ]);
  const recent = new Set(drift.filter(isChanged).map(({ path }) => path));
  const sinceStart = changes === undefined ? undefined : withLines(atlas, changes.worktree, changes.files);
  // Before the first checkpoint there is nothing that a file could be newer than.
  if (stored.hook.checkpoints.length === 0) return { sinceStart, recent };
  const compared = new Set(drift.map(({ path }) => path));
  const last = stored.hook.checkpoints.reduce((newest, { created_at: at }) => Math.max(newest, toMs(at)), -Infinity);
  const worktree = changes?.worktree ?? worktreeOf(stored.task);
  for (const { path, change } of changes?.files.slice(0, MAX_STATS) ?? []) {
    if (compared.has(path) || change === 'deleted' || worktree === undefined) continue;
    const written = atlas.ports.files.stat(join(worktree, path))?.mtimeMs;
    if (written !== undefined && written > last) recent.add(path);
  }
  return { sinceStart, recent };
}

/** The paths that differ from the files of the last checkpoint; `undefined` where it kept none, or it can't be said. */
async function changedSinceLast(atlas: OpenAtlas, stored: StoredTask): Promise<ReadonlySet<string> | undefined> {
  const { files, paths } = atlas.ports;
  if (files.stat(paths.snapshots(stored.ref)) === undefined) return undefined;
  const { files: kept } = await atlas.snapshots();
  const last = kept.list(stored).findLast(({ trigger }) => trigger !== 'auto');
  if (last === undefined || snapshotOf(last) === undefined || !(await kept.isEnabled(stored))) return undefined;
  const diff = await kept.diff(stored, last, 'now', { waitMs: LISTING_MS });
  return diff.ok ? new Set(diff.value.changes.map(({ path }) => quotePath(path))) : undefined;
}

function isChanged({ kind }: FileDrift): boolean {
  return kind === 'changed' || kind === 'missing' || kind === 'new';
}

/** After a file changed, changes are listed again this much later (ms): they come in bursts. */
const SETTLE_MS = 1000;

/** The changed files of one task, listed again when something changed, one listing at a time. */
export class ChangedFilesWatch {
  /** What was seen last; `undefined` until git has answered once. */
  files: ChangedFiles | undefined;
  private listing = false;
  private isOld = false;
  private timer: NodeJS.Timeout | undefined;
  private isOver = false;

  /** @param changed called when other files or other changes were seen */
  constructor(
    private readonly atlas: OpenAtlas,
    private readonly ref: TaskRef,
    private readonly changed: () => void,
  ) {}

  /** Lists the changes, or lists them once more after the listing that is under way. */
  async list(): Promise<void> {
    if (this.listing) {
      this.isOld = true;
      return;
    }
    this.listing = true;
    try {
      const read = this.atlas.catalog.read(this.ref);
      const seen = read.ok ? await changedFiles(this.atlas, read.value) : undefined;
      const isNew = textOf(seen) !== textOf(this.files);
      this.files = seen;
      if (isNew && !this.isOver) this.changed();
    } catch (error) {
      this.atlas.ports.log.warn("The task's changed files could not be listed.", { error: messageOf(error) });
    } finally {
      this.listing = false;
    }
    if (this.isOld) this.listSoon();
  }

  /** Lists the changes as soon as no more come. */
  listSoon(): void {
    this.isOld = false;
    clearTimeout(this.timer);
    if (!this.isOver) this.timer = setTimeout(() => void this.list(), SETTLE_MS);
  }

  dispose(): void {
    this.isOver = true;
    clearTimeout(this.timer);
  }
}

function textOf(files: ChangedFiles | undefined): string {
  return JSON.stringify([files?.sinceStart, [...(files?.recent ?? [])]]);
}
