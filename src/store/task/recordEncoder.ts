import { createHash } from 'node:crypto';
import { type TaskRecord, recordParts, listItemText } from '../../core/task/taskRecord';
import { keptIn } from '../../core/shared/keptIn';

/** The bytes of a hook.json, in pieces that follow each other, and the SHA-256 of all of them in hex. */
export interface EncodedRecord {
  readonly pieces: readonly Uint8Array[];
  readonly sha256: string;
}

const SEPARATOR = Buffer.from(',\n');

/** The bytes of the items of checkpoints and receipts, for as long as somebody holds the item. */
const encodedItems = new WeakMap<object, Buffer>();

function encodedItem(key: string, item: object): Buffer {
  return keptIn(encodedItems, item, () => Buffer.from(listItemText(key, item)));
}

/**
 * Makes the bytes of one task's hook.json, the same as `serializeHook`, but encodes only what is new since the version
 * before: with ten thousand events the rest would be encoded again at every change. An item of a list never changes.
 */
export class RecordEncoder {
  private events: readonly object[] = [];
  private bytes = Buffer.alloc(0);
  private length = 0;

  /** The bytes of a hook. They are valid until the next call. */
  encode(hook: TaskRecord): EncodedRecord {
    const pieces = recordParts(hook).flatMap((part) => {
      if (typeof part === 'string') return Buffer.from(part);
      if (part.key === 'history') return this.history(part.items);
      return part.items.flatMap((item, index) => {
        const piece = encodedItem(part.key, item);
        return index === 0 ? [piece] : [SEPARATOR, piece];
      });
    });
    const hash = createHash('sha256');
    for (const piece of pieces) hash.update(piece);
    return { pieces, sha256: hash.digest('hex') };
  }

  /** The history's bytes are kept in one buffer, to which only new events are added. */
  private history(events: readonly object[]): Uint8Array {
    const grown = this.events.length <= events.length && this.events.every((event, index) => event === events[index]);
    const from = grown ? this.events.length : 0;
    if (!grown) this.length = 0;
    for (const event of events.slice(from)) {
      if (this.length > 0) this.append(SEPARATOR);
      this.append(Buffer.from(listItemText('history', event)));
    }
    this.events = events;
    return this.bytes.subarray(0, this.length);
  }

  private append(piece: Buffer): void {
    const length = this.length + piece.length;
    if (length > this.bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(4096, Math.ceil(length * 1.5)));
      this.bytes.copy(larger, 0, 0, this.length);
      this.bytes = larger;
    }
    piece.copy(this.bytes, this.length);
    this.length = length;
  }
}
