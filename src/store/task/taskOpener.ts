import { type AtlasError, type Result, fail, ok } from '../../core/shared/errors';
import { type TaskRecord, taskRecordSchema, isTerminal, serializeRecord } from '../../core/task/taskRecord';
import type { JournalLine } from '../../core/history/journal';
import { type Task, recordDamage, serializeTask } from '../../core/task/task';
import { alignTask } from '../../core/task/taskAlignment';
import { toTimestamp } from '../../core/shared/time';
import { renameWithRetry } from '../../system/files/atomicFile';
import { parseRecord, parseTask, readStateFile, sha256, stateFileHash } from './recordFile';
import { SEE_DOCTOR } from './taskReader';
import { type JournalTail } from './journal';
import { rebuildRecord, replayLine } from './rebuild';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import type { HeldLock } from '../../system/locks/lock';
import type { Opened, StorePorts } from './storePorts';
import type { Finding } from '../../core/task/storedTask';
import type { TaskWriter } from './taskWriter';

const ADOPTED = {
  adopted: 'hook.json was written by another program. Its current content was recorded.',
  edited: 'hook.json was changed by something other than Atlas. The change was recorded and work continues from it.',
  rolled_back: 'hook.json was restored to an older version. This was recorded and work continues from it.',
} as const;

/** task.json, parsed and as it stands there. */
interface TaskFile {
  readonly task: Task;
  readonly text: string;
}

type Settled = Pick<Opened, 'hook' | 'bytesSha' | 'tail'>;

/** What was recorded is an earlier change; the caller's own was not even tried, and has to be told so. */
function notMade(error: AtlasError): Result<never> {
  const message = `Nothing was recorded, because hook.json could not be reconciled with its journal (${error.message}).`;
  return fail('write_failed', message, {
    cause: error,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  });
}

/**
 * The history with its first event as the journal has it: it says what was settled when the task started, and whoever
 * edits hook.json settles nothing anew.
 */
function withStart({ history }: TaskRecord, first: JournalLine | undefined): TaskRecord['history'] {
  if (first?.event !== 'init') return history;
  const parsed = taskRecordSchema.safeParse(first.hook);
  const start = parsed.success ? parsed.data.history[0] : undefined;
  if (start?.trigger !== 'init') return history;
  return [start, ...(history[0]?.trigger === 'init' ? history.slice(1) : history)];
}

/** Brings one task's files in line before a change. The caller holds the task's lock. */
export class TaskOpener {
  constructor(
    private readonly ports: StorePorts,
    private readonly writer: TaskWriter,
  ) {}

  private readTask(ref: TaskRef): Result<TaskFile> {
    const path = this.ports.paths.taskFile(ref);
    const bytes = readStateFile(this.ports.files, path);
    if (!bytes.ok) return bytes;
    const task = parseTask(path, bytes.value);
    return task.ok ? ok({ task: task.value, text: Buffer.from(bytes.value).toString('utf8') }) : task;
  }

  /** Opens a task for a change: brings hook.json, journal and task.json in line, and says what was found. */
  open(ref: TaskRef, lock: HeldLock, findings: Finding[]): Result<Opened> {
    const { paths, files } = this.ports;
    const left = this.writer.memory.recall(ref, lock);
    if (left !== undefined) {
      this.writer.repairMarker(ref, left.hook, left.tail.last?.seq ?? 0);
      return ok(left);
    }
    const found = this.readTask(ref);
    if (!found.ok) return found;
    const bytes = readStateFile(files, paths.hook(ref));
    const sha = bytes.ok ? sha256(bytes.value) : '';
    const read = bytes.ok ? parseRecord(paths.hook(ref), bytes.value) : bytes;
    const rebuildable = !read.ok && (read.error.code === 'damaged' || read.error.code === 'not_found');
    if (!read.ok && !rebuildable) return read;
    // Only now: nothing of a newer version's task is written.
    const tail = this.cutTornEnd(ref, findings);
    if (!tail.ok) return tail;
    const hook = read.ok
      ? this.settle(ref, read.value, sha, tail.value, findings)
      : this.rebuild(ref, tail.value, read.error, findings);
    if (!hook.ok) return hook.error.code === 'recorded_not_written' ? notMade(hook.error) : hook;
    const damage = recordDamage(hook.value.hook, found.value.task, ref.id);
    if (damage.length > 0) return fail('damaged', `${damage.join('; ')}.`, { hint: SEE_DOCTOR });
    const stat = files.stat(paths.hook(ref));
    if (stat === undefined) return fail('write_failed', `${paths.hook(ref)} disappeared while it was read.`);
    const { task, text } = this.align(ref, found.value, hook.value.hook, findings);
    const seq = hook.value.tail.last?.seq ?? 0;
    if (findings.length > 0) this.writer.writeMarkdown(ref, hook.value.hook, task, seq);
    this.writer.repairMarker(ref, hook.value.hook, seq);
    return ok({ ...hook.value, task, taskText: text, stat });
  }

  private cutTornEnd(ref: TaskRef, findings: Finding[]): Result<JournalTail> {
    const journal = this.writer.journal(ref);
    const tail = journal.tailBeside(() => stateFileHash(this.ports.files, this.ports.paths.hook(ref)));
    if (!tail.ok || tail.value.tornBytes === 0) return tail;
    const aside = `${journal.path}.torn-${this.stamp()}`;
    this.ports.files.write(aside, journal.tornEnd(tail.value), { sync: true });
    journal.cut(tail.value);
    findings.push({
      kind: 'torn_line',
      message: `A write to the journal was interrupted. Its ${tail.value.tornBytes} bytes were never acknowledged and are kept in ${aside}.`,
    });
    return ok({ ...tail.value, tornBytes: 0 });
  }

  /** Compares a readable hook.json with the journal: in line, written but not applied, or changed by others. */
  private settle(ref: TaskRef, hook: TaskRecord, sha: string, tail: JournalTail, findings: Finding[]): Result<Settled> {
    const { last } = tail;
    if (last?.hook_sha256 === sha) return ok({ hook, bytesSha: sha, tail });
    if (last !== undefined && last.void === undefined && last.base_sha256 === sha) {
      const applied = replayLine(hook, last);
      if (applied !== undefined) {
        const written = this.writer.writeHook(ref, serializeRecord(applied));
        if (!written.ok) return written;
        findings.push({
          kind: 'replayed',
          message: 'The last change was recorded, but was not in hook.json yet. It now is.',
        });
        return ok({ hook: applied, bytesSha: last.hook_sha256, tail });
      }
    }
    return this.adopt(ref, hook, sha, tail, findings);
  }

  /** Records a hook.json that something else wrote, so that the work goes on from it. */
  private adopt(ref: TaskRef, hook: TaskRecord, sha: string, tail: JournalTail, findings: Finding[]): Result<Settled> {
    const content = this.writer.journal(ref).readAll();
    const lines = content.ok ? content.value.lines : [];
    const wasVersion = lines.some((line) => line.hook_sha256 === sha);
    const kind = tail.last === undefined ? 'adopted' : wasVersion ? 'rolled_back' : 'edited';
    const now = toTimestamp(this.ports.clock.now());
    const step = hook.current_step;
    const adopted: TaskRecord = {
      ...hook,
      history: [
        ...withStart(hook, lines[0]),
        {
          timestamp: now,
          from_state: hook.state,
          to_state: hook.state,
          trigger: 'adopted_edit',
          ...(step === undefined ? {} : { step_name: step.step_name }),
          details: { kind },
        },
      ],
    };
    const text = serializeRecord(adopted);
    const line = { at: now, base_sha256: sha, hook_sha256: sha256(text), event: 'adopted_edit', hook: { ...adopted } };
    if (!isTerminal(adopted.state)) this.writer.mark(ref);
    const after = this.writer.journal(ref).append(tail, line);
    const written = this.writer.writeHook(ref, text);
    if (!written.ok) return written;
    findings.push({ kind, message: ADOPTED[kind] });
    return ok({ hook: adopted, bytesSha: line.hook_sha256, tail: after });
  }

  /** Builds a lost or corrupt hook.json from the journal; a corrupt one is set aside first, never overwritten. */
  private rebuild(ref: TaskRef, tail: JournalTail, why: AtlasError | undefined, findings: Finding[]): Result<Settled> {
    const { paths, files } = this.ports;
    const path = paths.hook(ref);
    const content = this.writer.journal(ref).readAll();
    if (why?.code === 'not_found' && content.ok && content.value.lines.length === 0) {
      // Its making was interrupted before its first line: there is no such task.
      this.writer.forgetUnmade(ref);
      return { ok: false, error: why };
    }
    const rebuilt = content.ok ? rebuildRecord(content.value) : content;
    if (!rebuilt.ok) {
      return fail('damaged', `${why?.message ?? `${path} is missing.`} ${rebuilt.error.message}`, { hint: SEE_DOCTOR });
    }
    let aside = '';
    if (files.stat(path) !== undefined) {
      aside = `${path}.corrupt-${this.stamp()}`;
      renameWithRetry(files, path, aside);
    }
    const text = serializeRecord(rebuilt.value);
    const written = this.writer.writeHook(ref, text);
    if (!written.ok) return written;
    const kept = aside === '' ? '' : ` The old file is kept as ${aside}.`;
    findings.push({ kind: 'rebuilt', message: `${why?.message ?? ''} It was rebuilt from the journal.${kept}`.trim() });
    this.ports.log.warn(`hook.json of ${refKey(ref)} was rebuilt from the journal.`);
    return ok({ hook: rebuilt.value, bytesSha: sha256(text), tail });
  }

  private align(ref: TaskRef, found: TaskFile, hook: TaskRecord, findings: Finding[]): TaskFile {
    const task = alignTask(found.task, hook);
    const text = serializeTask(task);
    if (text === serializeTask(found.task)) return found;
    this.writer.writeTask(ref, text);
    findings.push({ kind: 'task_aligned', message: 'task.json disagreed with hook.json and was updated.' });
    this.ports.log.warn(`task.json of ${refKey(ref)} was updated from hook.json.`);
    return { task, text };
  }

  private stamp(): string {
    return `${toTimestamp(this.ports.clock.now()).replace(/[-:]/gu, '').replace('.', '-')}-${this.ports.ids.hex(2)}`;
  }
}
