import { LruCache } from '../../core/shared/lru';
import type { JournalLine } from '../../core/history/journal';
import { recordedEventSchema } from '../../core/task/taskRecord';
import type { FileSystem } from '../../core/shared/ports';
import { type RecordedReceipt, recordedReceipts } from '../../core/receipt/receipt';
import { sha256 } from '../task/recordFile';
import { parseJournalLine } from '../task/journal';
import type { StorePaths } from '../paths';
import { type TaskRef, refKey } from '../../core/task/taskRef';

const LINE_FEED = 0x0a;
/** Read at a time, and checked before others get a turn. */
const CHUNK = 32 * 1024;
/** Of how many tasks what was read is kept. */
const KEPT = 1000;
/** How a line begins: enough to follow the chain without parsing what says nothing of receipts. */
const LINE_HEAD = /^\{"seq":\d+,"prev":"([0-9a-f]*)"/u;
const NOTEWORTHY = /"event":"(?:receipt|void|init|adopted_edit)"|"hook":\{/u;

/** What a journal says. */
type Recorded = readonly RecordedReceipt[] | 'broken' | undefined;

interface Read {
  readonly ino: string;
  readonly end: number;
  readonly lastHash: string;
  readonly records: readonly (RecordedReceipt & { readonly seq: number })[];
}

const NOTHING: Omit<Read, 'ino'> = { end: 0, lastHash: '', records: [] };

/**
 * What the journals say of the receipts that were added, which hook.json could have been edited not to. Reads a journal
 * once and then what is appended to it.
 */
export class ReceiptLedger {
  private readonly tasks = new LruCache<Read>(KEPT);

  constructor(private readonly ports: { readonly paths: StorePaths; readonly files: FileSystem }) {}

  /**
   * The receipts that a task's journal records, in order; `undefined` where it has no journal, `broken` where it has one
   * that can't be followed to its end: then nothing vouches for any of them.
   */
  recorded(ref: TaskRef): Recorded {
    const reading = this.read(ref);
    for (;;) {
      const step = reading.next();
      if (step.done === true) return step.value;
    }
  }

  /** The same, in pieces: `turn` may let others go on in between. */
  async recordedInTurns(ref: TaskRef, turn: () => Promise<void>): Promise<Recorded> {
    const reading = this.read(ref);
    for (;;) {
      const step = reading.next();
      if (step.done === true) return step.value;
      await turn();
    }
  }

  private *read(ref: TaskRef): Generator<undefined, Recorded> {
    const path = this.ports.paths.journal(ref);
    try {
      const stat = this.ports.files.stat(path);
      if (stat === undefined) return undefined;
      if (stat.kind !== 'file') return 'broken';
      const known = this.tasks.get(refKey(ref));
      const whole = { ...NOTHING, ino: stat.ino };
      const from = known?.ino === stat.ino && known.end <= stat.size ? known : whole;
      const read = (yield* this.readOn(path, from, stat.size)) ?? (yield* this.readOn(path, whole, stat.size));
      if (read === undefined) return 'broken';
      this.tasks.set(refKey(ref), read);
      return read.records;
    } catch {
      return 'broken';
    }
  }

  private *readOn(path: string, from: Read, size: number): Generator<undefined, Read | undefined> {
    const records = [...from.records];
    let { end, lastHash } = from;
    let length = CHUNK;
    while (end < size) {
      const bytes = this.ports.files.readAt(path, end, Math.min(length, size - end));
      const whole = bytes.lastIndexOf(LINE_FEED) + 1;
      if (whole === 0) {
        if (end + bytes.length >= size) break; // a torn end, or a line that is being written
        length *= 4;
        continue;
      }
      for (let start = 0; start < whole;) {
        const stop = bytes.indexOf(LINE_FEED, start);
        const raw = bytes.subarray(start, stop);
        const text = Buffer.from(raw).toString('utf8');
        if (LINE_HEAD.exec(text)?.[1] !== lastHash) return undefined;
        const line = NOTEWORTHY.test(text) ? parseJournalLine(raw) : undefined;
        if (line !== undefined) take(line, records);
        lastHash = sha256(raw);
        start = stop + 1;
      }
      end += whole;
      yield;
    }
    return { ino: from.ino, end, lastHash, records };
  }
}

/** Adds what a line records. A whole hook counts only where nothing was recorded before: an edit records nothing. */
function take(line: JournalLine, records: (RecordedReceipt & { readonly seq: number })[]): void {
  const added = (history: unknown): RecordedReceipt[] => {
    if (!Array.isArray(history)) return [];
    const events = history.flatMap((event: unknown) => {
      const parsed = recordedEventSchema.safeParse(event);
      return parsed.success ? [parsed.data] : [];
    });
    return recordedReceipts(events);
  };
  if (line.void !== undefined) {
    const index = records.findIndex((record) => record.seq === line.void);
    if (index !== -1) records.splice(index, 1);
    return;
  }
  const found =
    line.hook !== undefined && records.length === 0
      ? added(line.hook['history'])
      : line.event === 'receipt'
        ? added(line.delta?.history)
        : [];
  records.push(...found.map((record) => ({ ...record, seq: line.seq })));
}
