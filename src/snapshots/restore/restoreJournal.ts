import { dirname, join } from 'node:path';
import type { Goal } from '../../core/snapshot/restorePlan';
import { isTreeId } from '../../core/snapshot/snapshotRecord';
import type { TreePath } from '../../core/snapshot/treePath';
import { removeFile, replaceFile } from '../../system/files/atomicFile';
import { codeOf } from '../../system/files/fileErrors';
import { jsonOf } from '../../system/files/readJson';
import type { DiskFile } from './diskFiles';
import { STAGE_PREFIX } from '../storage/privateGit';
import type { SnapshotPorts } from '../storage/snapshotPorts';

/** Far above a restore of a million files, in bytes. */
const MAX_BYTES = 1024 * 1024 * 1024;
const FORMAT = 1;

/** What a restore does with a path. */
export interface RestoreStep {
  readonly path: TreePath;
  readonly action: 'write' | 'remove' | 'mode';
  /** What was there when the restore began; absent for nothing. */
  readonly old?: DiskFile;
  /** What is to be there; absent for nothing. */
  readonly goal?: Goal;
}

/**
 * A restore that was begun. Until it is `applying` nothing of the worktree was changed but for the folder of staged files.
 * From then on each path is what it was, what it is to be, or somebody else's.
 */
export interface RestoreJournal {
  readonly format: typeof FORMAT;
  readonly phase: 'staging' | 'applying';
  readonly target: string;
  readonly safety: string;
  readonly startedAt: string;
  /** The name of the folder of staged files: the file of a step is named by the step's number. */
  readonly stage: string;
  readonly steps: readonly RestoreStep[];
}

/** The last restore of a worktree that came to its end: undoing it is restoring `safety`. */
export interface LastRestore {
  readonly format: typeof FORMAT;
  readonly target: string;
  readonly safety: string;
  readonly at: string;
}

const STAGE = new RegExp(`^\\${STAGE_PREFIX}[0-9a-f]+$`, 'u');

function read(files: SnapshotPorts['files'], path: string): Record<string, unknown> | undefined {
  if (files.stat(path) === undefined) return undefined;
  const value = jsonOf(Buffer.from(files.read(path, MAX_BYTES)).toString('utf8'));
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

function sound(value: Record<string, unknown> | undefined): boolean {
  return value?.['format'] === FORMAT && isTreeId(value['target']) && isTreeId(value['safety']);
}

/** The files in which a worktree's restores are noted. */
export class RestoreFiles {
  private readonly journal: string;
  private readonly last: string;

  constructor(
    private readonly ports: Pick<SnapshotPorts, 'files' | 'ids'>,
    home: string,
  ) {
    this.journal = join(home, 'restore.json');
    this.last = join(home, 'last-restore.json');
  }

  /** Whether a restore was begun that isn't over. */
  isBegun(): boolean {
    return this.ports.files.stat(this.journal) !== undefined;
  }

  /** A restore that was begun and isn't over. Throws where there is a journal that can't be read. */
  begun(): RestoreJournal | undefined {
    const value = read(this.ports.files, this.journal);
    const fits = sound(value) && Array.isArray(value?.['steps']) && STAGE.test(String(value['stage']));
    return fits ? (value as unknown as RestoreJournal) : undefined;
  }

  /** Notes how far a restore is, durably. */
  write(journal: RestoreJournal): void {
    const { files, ids } = this.ports;
    replaceFile(files, ids, this.journal, JSON.stringify(journal), { durable: true, mode: 0o600 });
  }

  /** The last restore that came to its end. */
  lastRestore(): LastRestore | undefined {
    const value = read(this.ports.files, this.last);
    return sound(value) ? (value as unknown as LastRestore) : undefined;
  }

  /** Notes that a restore came to its end. */
  finish({ target, safety }: RestoreJournal, at: string): void {
    const { files, ids } = this.ports;
    const last: LastRestore = { format: FORMAT, target, safety, at };
    replaceFile(files, ids, this.last, JSON.stringify(last), { durable: true, mode: 0o600 });
    this.forget();
  }

  /** Notes that a restore changed nothing. */
  forget(): void {
    removeFile(this.ports.files, this.journal);
    try {
      this.ports.files.syncFolder(dirname(this.journal));
    } catch (error) {
      // Should it come back after a loss of power, it finds everything done.
      if (codeOf(error) === '') throw error;
    }
  }
}

/** A journal of a restore that begins. */
export function newJournal(parts: Omit<RestoreJournal, 'format' | 'phase' | 'stage'>, hex: string): RestoreJournal {
  return { format: FORMAT, phase: 'staging', stage: `${STAGE_PREFIX}${hex}`, ...parts };
}
