import { AtlasError, type AtlasErrorCode } from '../shared/errors';

/** Why there is no snapshot, or why one can't be used. */
export type SnapshotReason =
  /** The folder is a home folder, or holds one. */
  | 'home_folder'
  | 'root_folder'
  | 'no_folder'
  | 'too_many_files'
  | 'disk_full'
  /** It would not fit under `snapshots.max_size`. */
  | 'over_limit'
  | 'locked'
  | 'cancelled'
  /** A pipe lies where git reads its own files. */
  | 'pipe'
  /** The object database lost files of it. */
  | 'lost'
  /** The worktree changed since the preview was made. */
  | 'changed'
  /** No restore that could be undone is known. */
  | 'nothing_to_undo'
  | 'failed';

const CODES: Readonly<Record<SnapshotReason, AtlasErrorCode>> = {
  home_folder: 'unsafe_path',
  root_folder: 'unsafe_path',
  no_folder: 'not_found',
  too_many_files: 'work_failed',
  disk_full: 'write_failed',
  over_limit: 'write_failed',
  locked: 'lock_timeout',
  cancelled: 'cancelled',
  pipe: 'unreadable',
  lost: 'damaged',
  changed: 'stale_caller',
  nothing_to_undo: 'not_found',
  failed: 'work_failed',
};

/** Sizes in bytes of what didn't fit. */
export interface SnapshotSizes {
  /** What the capture would add at most, before compression. */
  readonly needed: number;
  readonly used: number;
  /** What may be used in all: the setting, or the room on the disk. */
  readonly limit: number;
}

/** A refusal of this room: callers branch on the reason. */
export class SnapshotProblem extends AtlasError {
  constructor(
    readonly reason: SnapshotReason,
    message: string,
    options: { readonly hint?: string; readonly cause?: unknown; readonly sizes?: SnapshotSizes } = {},
  ) {
    super(CODES[reason], message, options);
    this.sizes = options.sizes;
  }

  readonly sizes: SnapshotSizes | undefined;
}

/** A refusal as a result. */
export function refuse(
  reason: SnapshotReason,
  message: string,
  options: ConstructorParameters<typeof SnapshotProblem>[2] = {},
): { readonly ok: false; readonly error: SnapshotProblem } {
  return { ok: false, error: new SnapshotProblem(reason, message, options) };
}
