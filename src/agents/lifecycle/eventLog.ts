import { join } from 'node:path';
import * as z from 'zod/mini';
import type { FileSystem } from '../../core/shared/ports';
import { toTimestamp } from '../../core/shared/time';
import { ensureFolder, renameWithRetry } from '../../system/files/atomicFile';
import type { StorePaths } from '../../store/paths';
import { HOST_NAMES, LIFECYCLE_EVENTS } from '../hosts/hosts';
import { jsonOf } from '../../system/files/readJson';

const MAX_LOG_BYTES = 512 * 1024;

const entrySchema = z.looseObject({
  at: z.string(),
  event: z.enum(LIFECYCLE_EVENTS),
  host: z.optional(z.enum(HOST_NAMES)),
  session_id: z.optional(z.string()),
  folder: z.optional(z.string()),
  workspace: z.optional(z.string()),
  task: z.optional(z.string()),
  step: z.optional(z.string()),
  attempt: z.optional(z.number()),
  /** How a compaction, a session or a turn came about or ended, in the host's words. */
  cause: z.optional(z.string()),
  exit: z.number(),
  problems: z.optional(z.array(z.string())),
  /** Set where no host called, but `lifecycle doctor`, under this name. */
  check: z.optional(z.string()),
});

/** A line of the log: one call of `atlas lifecycle <event>`. */
export type LogEntry = z.infer<typeof entrySchema>;

/**
 * `lifecycle.jsonl` at the root of the store: which hook was called when, so that one that was installed and never
 * called shows. At its full size it becomes `lifecycle.1.jsonl`, and the one before is dropped.
 */
export class EventLog {
  private readonly path: string;
  private readonly before: string;

  constructor(
    private readonly files: FileSystem,
    private readonly paths: StorePaths,
  ) {
    this.path = join(paths.root, 'lifecycle.jsonl');
    this.before = join(paths.root, 'lifecycle.1.jsonl');
  }

  /** Throws where it can't be written. */
  append(entry: LogEntry): void {
    ensureFolder(this.files, this.paths.root);
    if ((this.files.stat(this.path)?.size ?? 0) > MAX_LOG_BYTES) this.rotate();
    this.files.append(this.path, `${JSON.stringify(entry)}\n`);
  }

  private rotate(): void {
    try {
      renameWithRetry(this.files, this.path, this.before);
    } catch {
      // Another call was quicker, or a reader holds the file: the next one rotates.
    }
  }

  /** What is logged, the oldest first; lines that are no entries are left out. */
  entries(): LogEntry[] {
    return [this.before, this.path].flatMap((path) => this.linesOf(path)).flatMap(entryOf);
  }

  private linesOf(path: string): string[] {
    const size = this.files.stat(path)?.size;
    if (size === undefined) return [];
    const end = Math.max(0, size - 2 * MAX_LOG_BYTES);
    return Buffer.from(this.files.readAt(path, end, size - end))
      .toString('utf8')
      .split('\n');
  }
}

function entryOf(line: string): LogEntry[] {
  const parsed = entrySchema.safeParse(jsonOf(line));
  if (!parsed.success) return [];
  // A shell writes the time where the machine is.
  const at = Date.parse(parsed.data.at);
  return [Number.isNaN(at) ? parsed.data : { ...parsed.data, at: toTimestamp(at) }];
}
