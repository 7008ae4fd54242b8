import type { FileChange, GitOperation } from '../task/worktreeState';
import type { GitState } from '../checkpoint/checkpoint';
import type { ProcessIdentity, Vitality } from '../recovery/liveness';
import type { Result } from './errors';
import type { SigningScheme } from '../receipt/receipt';
import type { GitEvidence } from '../recovery/recovery';

/** The time, as ms since the epoch. */
export interface Clock {
  now(): number;
}

/** Fresh names. */
export interface Ids {
  /** `count` random bytes in hex. */
  hex(count: number): string;
}

/** What a file is: times in ms since the epoch, `ino` as text. Symbolic links are not followed. */
export interface FileStat {
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  readonly size: number;
  readonly mtimeMs: number;
  readonly ino: string;
  /** Permission bits; they say nothing on Windows. */
  readonly mode: number;
}

/** What is written: a text as UTF-8, bytes, or pieces that follow each other. */
export type FileData = string | Uint8Array | readonly Uint8Array[];

/** Where something lies: a text, or bytes where a name need not be text (UTF-8). */
export type FilePath = string | Uint8Array;

/**
 * The file operations that the store is made of, each a point at which a process can die. Synchronous: for many
 * small files that is several times faster. Errors are Node's, with `code`.
 */
export interface FileSystem {
  /** Reads a whole file; fails with `EFBIG` if it is larger than `maxBytes`, and with `ELOOP` for a link that is refused. */
  read(path: string, maxBytes: number, link?: 'follow' | 'refuse'): Uint8Array;
  /** Reads `length` bytes (fewer at the end) from a position. */
  readAt(path: string, position: number, length: number): Uint8Array;
  /** Creates or replaces a file's content in place. */
  write(path: string, data: FileData, options?: { mode?: number; exclusive?: boolean; sync?: boolean }): void;
  /** Appends and, with `sync`, waits until the data is on disk. */
  append(path: string, data: string | Uint8Array, options?: { sync?: boolean }): void;
  truncate(path: string, size: number): void;
  rename(from: string, to: FilePath): void;
  link(existing: string, path: string): void;
  symlink(target: FilePath, path: string): void;
  unlink(path: FilePath): void;
  /** With all that is in it; nothing where there is none. */
  removeFolder(path: string): void;
  /** Throws `ENOTEMPTY` where anything is in it, however late that came. */
  removeEmptyFolder(path: FilePath): void;
  makeFolder(path: FilePath, mode?: number): void;
  list(path: string): string[];
  /** The entry itself, not what a link points to; `undefined` if there is none. */
  stat(path: string): FileStat | undefined;
  /** Whether a file or folder can be reached there: a third of what a stat costs, where there are thousands. */
  exists(path: string): boolean;
  touch(path: string, mtimeMs: number): void;
  /** Sets the permission bits. */
  chmod(path: FilePath, mode: number): void;
  realPath(path: string): string;
  /** Waits until a folder's entries are on disk, where the system can do that. */
  syncFolder(path: string): void;
  /** Waits until many files, or entries of folders, are on disk: quicker than one by one. */
  syncAll?(paths: readonly FilePath[]): Promise<void>;
}

/** That a process lived at a time (ms since the epoch), and for how long (ms) that is trusted. */
export interface LifeSign {
  readonly at: number;
  readonly trustedMs: number;
}

/** Who this process is, and whether another lives. */
export interface Processes {
  self(): ProcessIdentity;
  /**
   * @param sign its last: while that is trusted, an id that is in use is taken for the process that had it. Some systems
   *   tell it from a later one only by a program of theirs, which takes up to half a second
   */
  vitality(identity: ProcessIdentity, sign?: LifeSign): Vitality;
}

/** A worktree and the repository that it belongs to; real paths. */
export interface Repository {
  readonly worktree: string;
  /** The folder that all worktrees share. */
  readonly commonDir: string;
  /** This worktree's own git folder. */
  readonly gitDir: string;
  /** The repository's main worktree, or the common folder of a bare one. */
  readonly main: string;
}

/** What is uncommitted in a worktree: paths relative to it with `/`, untracked files included. */
export interface GitStatus {
  readonly dirty: boolean;
  readonly files: readonly string[];
  /** The same files, with how each differs from the last commit. */
  readonly changes: readonly { readonly path: string; readonly change: FileChange }[];
}

/** Added and removed lines by path; a binary file has none. */
export type LineCounts = ReadonlyMap<string, { readonly added: number; readonly removed: number }>;

/** A file that differs from a commit; without numbers of lines where it is binary or too large to count. */
export interface ChangedSince {
  readonly path: string;
  readonly change: 'modified' | 'added' | 'deleted';
  readonly added?: number;
  readonly removed?: number;
}

/** The commits that HEAD has and another commit doesn't. */
export interface CommitsSince {
  /** Whether HEAD no longer has that other commit. */
  readonly isGone: boolean;
  /** How many there are; `undefined` where the other commit is no longer in the repository. */
  readonly total: number | undefined;
  /** Newest first; times in ms since the epoch. */
  readonly commits: readonly { readonly commit: string; readonly subject: string; readonly at: number }[];
}

/** Where a repository's branches are pushed to. */
export interface Publishing {
  readonly remotes: number;
  /** The branch that a remote's HEAD names; absent where none says. */
  readonly baseBranch?: string;
}

/** What is known of a worktree without waiting for it. */
export interface CachedStatus {
  /** Left out where git didn't say at once: then it is unknown now. */
  readonly status: GitStatus | undefined;
  /** What a look before this one found uncommitted that began at `at` (ms since the epoch) and took too long for its caller. */
  readonly late: { readonly files: readonly string[]; readonly at: number } | undefined;
}

/** Reads git repositories. Nothing here writes to one. */
export interface GitReader {
  /** The repository of a folder; `undefined` where there is none. */
  locate(folder: string): Promise<Repository | undefined>;
  /** Branch and commit without starting a process. */
  head(repository: Repository): GitState;
  /** What is uncommitted; `undefined` when git can't say in time (ms). */
  status(repository: Repository, timeoutMs: number): Promise<GitStatus | undefined>;
  /**
   * The same for callers that nobody asked and that must not wait: where git takes long, as in a repository of many
   * files, it goes on by itself, and the next glance tells what it found.
   */
  glance(repository: Repository): Promise<CachedStatus>;
  /**
   * The id of the tree that the worktree's files make now, untracked but unignored ones included. The user's index,
   * files and objects are not touched: what git must write goes to `scratch`, where no file's content is kept.
   */
  workingTree(repository: Repository, scratch: string): Promise<Result<string>>;
  /** The files in which two such trees differ, with `/`. */
  changedFiles(repository: Repository, scratch: string, before: string, after: string): Promise<Result<string[]>>;
  /** Added and removed lines of what is uncommitted and tracked; `undefined` when git can't say in time (ms). */
  lineCounts(repository: Repository, timeoutMs: number): Promise<LineCounts | undefined>;
  /**
   * The files that differ from a commit now, untracked but unignored ones included, by path; `undefined` when git can't
   * say in time (ms), or no longer has the commit.
   */
  changesSince(repository: Repository, commit: string, timeoutMs: number): Promise<ChangedSince[] | undefined>;
  /** The newest commits since another one, at most `most`; `undefined` when git can't say in time (ms). */
  commitsSince(
    repository: Repository,
    since: string,
    most: number,
    timeoutMs: number,
  ): Promise<CommitsSince | undefined>;
  /** Where branches are pushed to; `undefined` when git can't say in time (ms). */
  publishing(repository: Repository, timeoutMs: number): Promise<Publishing | undefined>;
  /** What git is in the middle of there. Starts no process. */
  operation(repository: Repository): GitOperation | undefined;
  /** What git says about the effect of a step whose attempt began at `since` (RFC 3339). */
  evidence(repository: Repository, effect: 'commit' | 'push' | 'pr', since: string | undefined): Promise<GitEvidence>;
}

/** A log; `data` must hold no secrets. */
export interface Logger {
  debug(message: string, data?: Readonly<Record<string, unknown>>): void;
  info(message: string, data?: Readonly<Record<string, unknown>>): void;
  warn(message: string, data?: Readonly<Record<string, unknown>>): void;
  error(message: string, data?: Readonly<Record<string, unknown>>): void;
}

/** What a receipt's signatures are over: its own text, or a DSSE envelope's encoding. */
export type SignedForm = 'text' | 'envelope';

/** Signs what belongs to one receipt. */
export interface ReceiptSigner {
  readonly scheme: SigningScheme;
  /** The path of the receipt's key, as it stands in the receipt. */
  readonly keyPath: string;
  /** Names the published key that verifies: SHA-256 of it in hex. */
  readonly keyId: string;
  /** The signature's bytes; the same for the same input. */
  sign(message: Uint8Array, form: SignedForm): Uint8Array;
  verify(message: Uint8Array, form: SignedForm, signature: Uint8Array): boolean;
}

/** Which key of a task signs a receipt. */
export interface ReceiptKeyIndex {
  readonly task: number;
  readonly receipt: number;
}

/** The life of the signing keys. */
export interface KeyManager {
  /** Whether there is a key of the scheme; never makes one. */
  exists(): boolean;
  /** Reads the key, and makes it on first use. Fails with a `key_…` code. */
  load(): Promise<Result<void>>;
  /** A signer for one receipt; loads the key if need be. */
  newSigner(index: ReceiptKeyIndex): Promise<Result<ReceiptSigner>>;
}

/** The files that hold keys. Names are plain file names in the folder `keys`. */
export interface KeyFolder {
  readonly path: string;
  /** A private key's text, or `undefined` where there is none. Wider permissions are repaired with a warning. */
  readSecret(name: string): Result<string | undefined>;
  /** Makes a private key's file, never over another: false if there is one now. */
  createSecret(name: string, text: string): Result<boolean>;
  /** A public file's text, or `undefined` where there is none. */
  readPublic(name: string): Result<string | undefined>;
  writePublic(name: string, text: string): Result<void>;
  /** Moves a public file that can't be read as what it is out of the way. */
  setAside(name: string): Result<void>;
}
