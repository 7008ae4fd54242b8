import { normalizeTimestamp } from '../shared/time';

/** Why a path of a worktree is not in a snapshot. */
export const LEFT_OUT_REASONS = [
  /** Larger than `snapshots.max_file_size`. */
  'too_large',
  /** A repository inside the worktree that the outer one doesn't know. */
  'repository',
  'submodule',
  /** A socket, pipe or device. */
  'special',
  'unreadable',
  /** It changed each time that it was read. */
  'unstable',
  /** A name that some system takes for `.git`. */
  'name',
] as const;

/** Why a path of a worktree is not in a snapshot. */
export type LeftOutReason = (typeof LEFT_OUT_REASONS)[number];

/** A path that a snapshot says nothing about: it is unknown, never removed. */
export interface LeftOut {
  /** As `quotePath` writes it; with a slash at its end for a folder. */
  readonly path: string;
  /** In bytes, of a file. */
  readonly size?: number;
  readonly reason: LeftOutReason;
  /** The commit of a submodule or repository. */
  readonly commit?: string;
}

/** The version of the format of snapshots that this program writes. */
export const SNAPSHOT_FORMAT = 1;

/** The most left-out paths that a checkpoint lists; the snapshot itself has them all. */
export const MAX_LEFT_OUT_LISTED = 50;

/** What a checkpoint records of its snapshot. */
export interface SnapshotRecord {
  /** The id of the snapshot in the repository's object database, of 40 or 64 hexadecimal digits. */
  readonly tree: string;
  readonly format: number;
  /** The name of the repository's folder below `snapshots` in the store. */
  readonly database: string;
  /** Files are as they were at some moment between these two. */
  readonly started_at: string;
  readonly ended_at: string;
  readonly files: number;
  /** Bytes that the object database grew by. */
  readonly bytes_written: number;
  /** The first {@link MAX_LEFT_OUT_LISTED}. */
  readonly left_out: readonly LeftOut[];
  readonly left_out_total: number;
  /** The commit that HEAD named. */
  readonly head?: string;
  readonly branch?: string;
}

const TREE = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/u;
const DATABASE = /^[A-Za-z0-9][A-Za-z0-9_-]*$/u;
const REASONS: ReadonlySet<unknown> = new Set(LEFT_OUT_REASONS);

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && normalizeTimestamp(value) !== undefined;
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

/** Whether a value names a snapshot. */
export function isTreeId(value: unknown): value is string {
  return typeof value === 'string' && TREE.test(value);
}

/** A left-out path as it was recorded; `undefined` for anything else. */
export function parseLeftOut(value: unknown): LeftOut | undefined {
  if (!isFields(value)) return undefined;
  const { path, size, reason, commit } = value;
  const isValid = typeof path === 'string' && (size === undefined || isCount(size)) && isTextOrAbsent(commit);
  return isValid && REASONS.has(reason) ? (value as unknown as LeftOut) : undefined;
}

/** What a checkpoint records of its snapshot; `undefined` where the value is none, or of a newer format. */
export function parseSnapshotRecord(value: unknown): SnapshotRecord | undefined {
  if (!isFields(value)) return undefined;
  const { tree, format, started_at: started, ended_at: ended, files, bytes_written: bytes, left_out: left } = value;
  const { left_out_total: total, database, head, branch } = value;
  if (!isTreeId(tree) || format !== SNAPSHOT_FORMAT || !isTime(started) || !isTime(ended)) return undefined;
  if (!isCount(files) || !isCount(bytes) || !isCount(total) || !Array.isArray(left)) return undefined;
  if (typeof database !== 'string' || !DATABASE.test(database)) return undefined;
  if (!isTextOrAbsent(head) || !isTextOrAbsent(branch)) return undefined;
  return left.every((each) => parseLeftOut(each) !== undefined) ? (value as unknown as SnapshotRecord) : undefined;
}
