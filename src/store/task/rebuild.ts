import { type Result, fail, ok } from '../../core/shared/errors';
import { type TaskRecord, taskRecordSchema, serializeRecord } from '../../core/task/taskRecord';
import { type JournalLine } from '../../core/history/journal';
import { applyDelta } from '../../core/history/recordDelta';
import { sha256 } from './recordFile';
import type { JournalContent } from './journal';

/** The hook that one line makes of the one before, if its bytes have the hash that the line names. */
export function replayLine(before: TaskRecord | undefined, line: JournalLine): TaskRecord | undefined {
  let after: TaskRecord | undefined;
  if (line.hook !== undefined) {
    const parsed = taskRecordSchema.safeParse(line.hook);
    after = parsed.success ? parsed.data : undefined;
  } else if (before !== undefined && line.delta !== undefined) {
    after = applyDelta(before, line.delta);
  }
  return after !== undefined && sha256(serializeRecord(after)) === line.hook_sha256 ? after : undefined;
}

/** Builds the hook again from a journal, from the last line on that holds a whole one. */
export function rebuildRecord(content: JournalContent): Result<TaskRecord> {
  if (content.brokenAt !== undefined) {
    return fail('damaged', `The journal is broken at line ${content.brokenAt.line}: ${content.brokenAt.why}.`);
  }
  const voided = new Set(content.lines.map((line) => line.void));
  const holding = content.lines.filter((line) => line.void === undefined && !voided.has(line.seq));
  const from = holding.findLastIndex((line) => line.hook !== undefined);
  if (from === -1) return fail('damaged', 'The journal has no line to rebuild the task record from.');
  let hook: TaskRecord | undefined;
  for (const line of holding.slice(from)) {
    hook = replayLine(hook, line);
    if (hook === undefined)
      return fail('damaged', `Line ${line.seq} of the journal does not match the task record it names.`);
  }
  return hook === undefined ? fail('damaged', 'The journal is empty.') : ok(hook);
}
