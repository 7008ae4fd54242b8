import type { FileSystem } from '../../core/shared/ports';
import { AtlasError, type Result, fail, messageOf, ok } from '../../core/shared/errors';
import { type JournalLine, journalLineSchema } from '../../core/history/journal';
import { codeOf, failureOf } from '../../system/files/fileErrors';
import { sha256 } from './recordFile';
import { jsonOf } from '../../system/files/readJson';

const CHUNK = 64 * 1024;
const LINE_FEED = 0x0a;
/** The largest journal that is read whole, in bytes; only a rebuild does that. */
const MAX_JOURNAL_BYTES = 512 * 1024 * 1024;

/** The end of a journal: its last whole line, and what follows it when a writer died in the middle of a line. */
export interface JournalTail {
  readonly last: JournalLine | undefined;
  /** SHA-256 of the last whole line's bytes, without its line feed; empty when there is none. */
  readonly lastHash: string;
  /** Where whole lines end, in bytes; what lies behind is torn. */
  readonly end: number;
  readonly tornBytes: number;
}

/** A journal's lines, checked: each names the hash of the one before. */
export interface JournalContent {
  readonly lines: readonly JournalLine[];
  /** Why the chain ends before the file does, if it does. */
  readonly brokenAt: { readonly line: number; readonly why: string } | undefined;
}

const EMPTY_TAIL: JournalTail = { last: undefined, lastHash: '', end: 0, tornBytes: 0 };

/** One line of a journal, without its line feed; `undefined` for bytes that are none. */
export function parseJournalLine(bytes: Uint8Array): JournalLine | undefined {
  const parsed = journalLineSchema.safeParse(jsonOf(Buffer.from(bytes).toString('utf8')));
  return parsed.success ? parsed.data : undefined;
}

/** journal.jsonl of one task: append-only and hash-chained. The caller holds the task's lock when it writes. */
export class Journal {
  constructor(
    private readonly files: FileSystem,
    readonly path: string,
  ) {}

  /** A link is not followed: cutting or appending behind it would change a file that isn't the store's. */
  private size(): number {
    const stat = this.files.stat(this.path);
    if (stat !== undefined && stat.kind !== 'file') {
      throw new AtlasError('unsafe_path', `${this.path} is a ${stat.kind}, not a file.`, {
        hint: `Move the ${stat.kind} away. The journal belongs there.`,
      });
    }
    return stat?.size ?? 0;
  }

  /** Reads the last whole line without reading the file. Fails with `damaged` when that line can't be parsed. */
  tail(): Result<JournalTail> {
    try {
      return this.readTail();
    } catch (error) {
      return failureOf('unreadable', `${this.path} could not be read`, error);
    }
  }

  /**
   * What the last whole line says of hook.json; many times quicker than the line itself. `undefined` where there is none,
   * it can't be read, or something torn follows it.
   */
  newest(): { readonly seq: number; readonly hookSha256: string } | undefined {
    try {
      const size = this.size();
      const found = this.lastLine(size);
      if (found?.end !== size) return undefined;
      const line: unknown = JSON.parse(Buffer.from(found.line).toString('utf8'));
      if (typeof line !== 'object' || line === null || !('seq' in line) || !('hook_sha256' in line)) return undefined;
      const { seq, hook_sha256: hookSha256 } = line;
      return typeof seq === 'number' && typeof hookSha256 === 'string' ? { seq, hookSha256 } : undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * The tail, where a last line that can't be read counts as torn if hook.json doesn't have it: the power went before all
   * of the line was on disk, so nobody was told of it. Otherwise fails as {@link tail} does.
   */
  tailBeside(hookSha256: () => string): Result<JournalTail> {
    const tail = this.tail();
    return tail.ok || tail.error.code !== 'damaged' ? tail : (this.tailBeforeUnread(hookSha256()) ?? tail);
  }

  private tailBeforeUnread(hookSha256: string): Result<JournalTail> | undefined {
    const size = this.size();
    const last = this.lastLine(size);
    if (last === undefined || parseJournalLine(last.line) !== undefined) return undefined;
    const before = this.readTail(last.start);
    const inHook = before.ok ? (before.value.last?.hook_sha256 ?? '') : undefined;
    return before.ok && inHook === hookSha256 ? ok({ ...before.value, tornBytes: size - before.value.end }) : undefined;
  }

  /** The last whole line of so many bytes, without its line feed; positions in bytes. */
  private lastLine(size: number): { line: Uint8Array; start: number; end: number } | undefined {
    for (let length = Math.min(CHUNK, size); size > 0; length = Math.min(length * 4, size)) {
      const bytes = this.files.readAt(this.path, size - length, length);
      const lineEnd = bytes.lastIndexOf(LINE_FEED);
      const lineStart = lineEnd <= 0 ? -1 : bytes.lastIndexOf(LINE_FEED, lineEnd - 1);
      if ((lineEnd === -1 || lineStart === -1) && length < size) continue;
      const from = size - length;
      if (lineEnd === -1) return undefined;
      return { line: bytes.subarray(lineStart + 1, lineEnd), start: from + lineStart + 1, end: from + lineEnd + 1 };
    }
    return undefined;
  }

  private readTail(size = this.size()): Result<JournalTail> {
    if (size === 0) return ok(EMPTY_TAIL);
    const found = this.lastLine(size);
    if (found === undefined) return ok({ ...EMPTY_TAIL, tornBytes: size });
    const last = parseJournalLine(found.line);
    if (last === undefined) return fail('damaged', `The last line of ${this.path} could not be read.`);
    return ok({ last, lastHash: sha256(found.line), end: found.end, tornBytes: size - found.end });
  }

  /** The torn end's bytes, for keeping them aside before it is cut off. */
  tornEnd(tail: JournalTail): Uint8Array {
    return this.files.readAt(this.path, tail.end, tail.tornBytes);
  }

  /** Cuts a torn end off. */
  cut(tail: JournalTail): void {
    this.files.truncate(this.path, tail.end);
  }

  /**
   * Appends one line and waits until it is on disk: then the change is made. If that fails, what was written of the
   * line is taken back, so that the refusal is true.
   */
  append(tail: JournalTail, line: Omit<JournalLine, 'seq' | 'prev'>): JournalTail {
    const full: JournalLine = { seq: (tail.last?.seq ?? 0) + 1, prev: tail.lastHash, ...line };
    const text = JSON.stringify(full);
    try {
      this.files.append(this.path, `${text}\n`, { sync: true });
    } catch (error) {
      this.takeBack(tail);
      throw error;
    }
    return { last: full, lastHash: sha256(text), end: tail.end + Buffer.byteLength(text) + 1, tornBytes: 0 };
  }

  private takeBack(tail: JournalTail): void {
    try {
      if (this.size() > tail.end) this.files.truncate(this.path, tail.end);
    } catch {
      // The next opening finds the torn or unacknowledged line; the error that follows tells of the disk.
    }
  }

  /** Reads and checks the whole journal. A torn last line is left out. */
  readAll(): Result<JournalContent> {
    let bytes: Uint8Array;
    try {
      this.size();
      bytes = this.files.read(this.path, MAX_JOURNAL_BYTES);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return ok({ lines: [], brokenAt: undefined });
      if (error instanceof AtlasError) return { ok: false, error };
      return fail('unreadable', `${this.path} can't be read: ${messageOf(error)}`, { cause: error });
    }
    const lines: JournalLine[] = [];
    let previous = '';
    for (let start = 0, number = 1; start < bytes.length; number += 1) {
      const end = bytes.indexOf(LINE_FEED, start);
      if (end === -1) break;
      const raw = bytes.subarray(start, end);
      const line = parseJournalLine(raw);
      if (line === undefined) return ok({ lines, brokenAt: { line: number, why: 'it is not a journal line' } });
      if (line.prev !== previous) {
        return ok({ lines, brokenAt: { line: number, why: "it doesn't follow from the line before" } });
      }
      lines.push(line);
      previous = sha256(raw);
      start = end + 1;
    }
    return ok({ lines, brokenAt: undefined });
  }
}
