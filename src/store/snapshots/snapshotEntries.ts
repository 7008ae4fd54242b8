import { join } from 'node:path';
import * as z from 'zod/mini';
import { type SnapshotEntry, isCheckpointId } from '../../core/snapshot/snapshotEntry';
import { parseSnapshotRecord } from '../../core/snapshot/snapshotRecord';
import { optionalText, timestamp } from '../../core/task/fields';
import { CHECKPOINT_TRIGGERS } from '../../core/task/taskRecord';
import type { TaskRef } from '../../core/task/taskRef';
import { type ProcessIdentity, processIdentitySchema } from '../../core/recovery/liveness';
import { ensureFolder, removeFile, replaceFile } from '../../system/files/atomicFile';
import { readJson } from '../../system/files/readJson';
import type { StorePorts } from '../task/storePorts';

/** A larger file (bytes) is none of ours. */
const MAX_BYTES = 256 * 1024;
const ENDING = '.json';

const snapshotSchema = z.pipe(
  z.optional(z.unknown()),
  z.transform((value) => parseSnapshotRecord(value)),
);
const entrySchema = z.looseObject({
  checkpoint_id: z.string().check(z.refine(isCheckpointId)),
  trigger: z.enum([...CHECKPOINT_TRIGGERS, 'auto']),
  description: z.string(),
  created_at: timestamp,
  status: z.enum(['pending', 'taken', 'none']),
  snapshot: snapshotSchema,
  changes: z.optional(z.object({ since: z.string(), added: z.int(), modified: z.int(), removed: z.int() })),
  problem: z.optional(z.looseObject({ reason: z.string(), message: z.string(), hint: optionalText })),
  safety_for: optionalText,
  possibly_late: z.optional(z.boolean()),
  /** Which process captures. */
  process: z.optional(processIdentitySchema),
});

/** An entry with the process that is at work on it. */
type StoredEntry = SnapshotEntry & { readonly process?: ProcessIdentity | undefined };

/** What a checkpoint has whose capture was cut short. */
const DIED = {
  reason: 'died',
  message: 'The process ended before its files were captured.',
  hint: 'Choose another checkpoint.',
} as const;

/**
 * `snapshots/` of a task: what is kept of the files of each checkpoint and restore point, one small file each. Files are
 * replaced as a whole, so that no lock is needed; two processes never capture for the same checkpoint.
 */
export class SnapshotEntries {
  constructor(private readonly ports: Pick<StorePorts, 'paths' | 'files' | 'ids' | 'processes'>) {}

  /** All entries of a task, in no order. Files that are no entries are passed over. */
  list(ref: TaskRef): SnapshotEntry[] {
    const { files, paths } = this.ports;
    const folder = paths.snapshots(ref);
    if (files.stat(folder)?.kind !== 'folder') return [];
    return files.list(folder).flatMap((name) => {
      const id = name.endsWith(ENDING) ? name.slice(0, -ENDING.length) : '';
      return isCheckpointId(id) ? (this.read(ref, id) ?? []) : [];
    });
  }

  /** The entry of a checkpoint; one whose capture died says so. */
  read(ref: TaskRef, id: string): SnapshotEntry | undefined {
    const read = isCheckpointId(id)
      ? readJson(this.ports.files, this.pathOf(ref, id), MAX_BYTES, entrySchema)
      : undefined;
    if (read?.checkpoint_id !== id) return undefined;
    const entry = read as StoredEntry;
    if (entry.status === 'taken' && entry.snapshot === undefined) return { ...entry, status: 'none', problem: NEWER };
    if (entry.status !== 'pending') return entry;
    const vitality = entry.process === undefined ? 'dead' : this.ports.processes.vitality(entry.process);
    return vitality === 'alive' || vitality === 'unknown' ? entry : { ...entry, status: 'none', problem: DIED };
  }

  /** Writes an entry; once its files are captured, it is on disk when this returns. */
  write(ref: TaskRef, entry: SnapshotEntry): void {
    const { files, ids, paths, processes } = this.ports;
    ensureFolder(files, paths.snapshots(ref), 0o700);
    const { process: _process, ...rest } = entry as StoredEntry;
    const stored: StoredEntry = entry.status === 'pending' ? { ...rest, process: processes.self() } : rest;
    const text = `${JSON.stringify(stored, null, 2)}\n`;
    const durable = entry.status !== 'pending';
    replaceFile(files, ids, this.pathOf(ref, entry.checkpoint_id), text, { durable, mode: 0o600 });
  }

  /** Whether another process captures files for a task: its snapshot may be there while its entry doesn't name it yet. */
  isBusy(ref: TaskRef): boolean {
    const { incarnation } = this.ports.processes.self();
    return this.list(ref).some((entry) => {
      const { status, process } = entry as StoredEntry;
      return status === 'pending' && process?.incarnation !== incarnation;
    });
  }

  remove(ref: TaskRef, id: string): void {
    if (isCheckpointId(id)) removeFile(this.ports.files, this.pathOf(ref, id));
  }

  private pathOf(ref: TaskRef, id: string): string {
    return join(this.ports.paths.snapshots(ref), `${id}${ENDING}`);
  }
}

const NEWER = {
  reason: 'lost',
  message: 'What is recorded of its files is damaged, or was written by a newer version of Atlas.',
  hint: 'Choose another checkpoint.',
} as const;
