import { type Result, explain, fail, ok } from '../../core/shared/errors';
import { type TaskRecord, isTerminal } from '../../core/task/taskRecord';
import { diffRecord } from '../../core/history/recordDelta';
import type { FileStat } from '../../core/shared/ports';
import { type Task, serializeTask } from '../../core/task/task';
import { alignTask, keepsAlignment } from '../../core/task/taskAlignment';
import { ensureFolder, isSameFile, replaceFile } from '../../system/files/atomicFile';
import { codeOf, fileError } from '../../system/files/fileErrors';
import { RecordEncoder } from './recordEncoder';
import { readMarkdownSeq, readStateFile } from './recordFile';
import { Journal, type JournalTail } from './journal';
import type { HeldLock } from '../../system/locks/lock';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import type { Opened, StorePorts } from './storePorts';
import type { StoredTask } from '../../core/task/storedTask';
import { TaskMemory } from './taskMemory';

const NOT_WRITTEN = 'Recorded, but hook.json could not be written';
const LOCK_LOST = 'Another process took this lock, because this process appeared to have exited.';

/** Writes one task's files in the order that a crash can interrupt anywhere. The caller holds the task's lock. */
export class TaskWriter {
  readonly memory: TaskMemory;

  constructor(private readonly ports: StorePorts) {
    this.memory = new TaskMemory(ports);
  }

  journal(ref: TaskRef): Journal {
    return new Journal(this.ports.files, this.ports.paths.journal(ref));
  }

  /** The write itself: journal line, hook.json, then what follows from them. `foreign`: somebody else was quicker. */
  commit(
    ref: TaskRef,
    lock: HeldLock,
    opened: Opened,
    next: TaskRecord,
    event: string,
    metadata: Readonly<Record<string, unknown>> = {},
  ): Result<StoredTask | 'foreign'> {
    const encoder = this.memory.take(ref) ?? new RecordEncoder();
    const { pieces, sha256: sha } = encoder.encode(next);
    if (!lock.isNewest()) return fail('lock_timeout', LOCK_LOST, { hint: 'Try again.' });
    const recorded = this.record(ref, opened, next, event, sha);
    if (!recorded.ok) return recorded;
    if (recorded.value === 'foreign') return ok('foreign');
    const { after, journalStat } = recorded.value;
    const written = this.writeHook(ref, pieces);
    if (!written.ok) return written;
    const keeps = Object.keys(metadata).length === 0 && keepsAlignment(opened.hook, next);
    const { task, taskText, inLine } = keeps
      ? { ...opened, inLine: true }
      : this.alignTask(ref, opened, next, metadata);
    this.writeDerived(ref, next, task, after, inLine);
    if (written.value !== undefined) {
      const made = { hook: next, bytesSha: sha, stat: written.value, tail: after, task, taskText };
      this.memory.keep(ref, lock, { ...made, encoder, journalStat });
    }
    return ok({ ref, hook: next, task, seq: after.last?.seq ?? 0 });
  }

  /** Appends a change's line to the journal: with that it is made, unless hook.json turns out to be another program's. */
  private record(
    ref: TaskRef,
    opened: Opened,
    next: TaskRecord,
    event: string,
    sha: string,
  ): Result<{ readonly after: JournalTail; readonly journalStat: FileStat | undefined } | 'foreign'> {
    const { paths, files } = this.ports;
    const delta = diffRecord(opened.hook, next);
    const line = {
      at: next.updated_at,
      base_sha256: opened.bytesSha,
      hook_sha256: sha,
      event,
      ...(delta === undefined ? { hook: { ...next } } : { delta }),
    };
    const journal = this.journal(ref);
    const after = journal.append(opened.tail, line);
    let now: FileStat | undefined;
    let journalStat: FileStat | undefined;
    try {
      now = files.stat(paths.hook(ref));
      journalStat = files.stat(journal.path);
    } catch (error) {
      return { ok: false, error: fileError('recorded_not_written', NOT_WRITTEN, error) };
    }
    if (isSameFile(now, opened.stat)) return ok({ after, journalStat });
    const seq = after.last?.seq ?? 0;
    const voided = { event: 'void', hook_sha256: opened.bytesSha, delta: undefined, hook: undefined, void: seq };
    journal.append(after, { ...line, ...voided });
    return ok('foreign');
  }

  /** Brings task.json in line with a hook; where it can't be written that is told, and the next opening fixes it. */
  alignTask(
    ref: TaskRef,
    before: Pick<Opened, 'task' | 'taskText'>,
    hook: TaskRecord,
    metadata: Readonly<Record<string, unknown>> = {},
  ): Pick<Opened, 'task' | 'taskText'> & { readonly inLine: boolean } {
    const task = alignTask({ ...before.task, metadata: { ...before.task.metadata, ...metadata } }, hook);
    const text = serializeTask(task);
    if (text === serializeTask(before.task)) return { task, taskText: before.taskText, inLine: true };
    const inLine = this.attempt(ref, 'task.json', () => this.writeTask(ref, text));
    return { task, taskText: inLine ? text : undefined, inLine };
  }

  /**
   * Replaces hook.json by these bytes, durably. The change is recorded already, which the error says.
   * @returns the file as it is now, if it can be told from any other
   */
  writeHook(ref: TaskRef, data: string | readonly Uint8Array[]): Result<FileStat | undefined> {
    const { files, ids, paths, clock } = this.ports;
    try {
      return ok(replaceFile(files, ids, paths.hook(ref), data, { durable: true, stampMs: clock.now() }));
    } catch (error) {
      return {
        ok: false,
        error: fileError('recorded_not_written', NOT_WRITTEN, error),
      };
    }
  }

  /**
   * HOOK.md, marker and log: all can be made again, so their failure is told but undoes nothing.
   * @param inLine whether task.json is as it should be
   */
  writeDerived(ref: TaskRef, hook: TaskRecord, task: Task, tail: JournalTail, inLine: boolean): void {
    const seq = tail.last?.seq ?? 0;
    this.writeMarkdown(ref, hook, task, seq);
    this.attempt(ref, 'the marker', () => {
      // The marker of a finished task goes last: without it nobody would look at what could not be written.
      if (isTerminal(hook.state)) {
        if (inLine) this.unmarkFinished(ref, seq);
      } else {
        this.mark(ref);
        this.ports.files.touch(this.ports.paths.marker(ref), this.ports.clock.now());
      }
    });
    this.attempt(ref, 'task.log', () => this.appendLog(ref, hook, tail.last?.event ?? ''));
  }

  private attempt(ref: TaskRef, what: string, write: () => void): boolean {
    try {
      write();
      return true;
    } catch (error) {
      const told = `${what} of ${refKey(ref)} could not be written, and is written again later`;
      this.ports.log.warn(explain(fileError('write_failed', told, error)));
      return false;
    }
  }

  /** Replaces task.json, durably. */
  writeTask(ref: TaskRef, text: string): void {
    const { files, ids, paths } = this.ports;
    replaceFile(files, ids, paths.taskFile(ref), text, { durable: true });
  }

  /** Replaces HOOK.md; it can always be made again, so a failure is only logged. */
  writeMarkdown(ref: TaskRef, hook: TaskRecord, task: Task, seq: number): void {
    this.attempt(ref, 'HOOK.md', () => {
      const text = this.ports.render(ref, hook, task, seq);
      // Nobody looks at a finished task again, so its HOOK.md is on disk before its marker goes.
      const durable = isTerminal(hook.state);
      replaceFile(this.ports.files, this.ports.ids, this.ports.paths.markdown(ref), text, { durable });
    });
  }

  /**
   * Makes HOOK.md again if it isn't what it should be: its writer died, or could not write it, or the power went before
   * all of it was on disk.
   */
  repairMarkdown({ ref, hook, task, seq }: StoredTask): void {
    const bytes = readStateFile(this.ports.files, this.ports.paths.markdown(ref));
    if (bytes.ok && Buffer.from(bytes.value).equals(Buffer.from(this.ports.render(ref, hook, task, seq)))) return;
    this.writeMarkdown(ref, hook, task, seq);
    this.repairMarker(ref, hook, seq);
  }

  private appendLog(ref: TaskRef, hook: TaskRecord, event: string): void {
    const step = hook.current_step;
    const entry = {
      ts: hook.updated_at,
      level: 'info',
      event,
      state: hook.state,
      workspace_name: ref.workspace,
      task_id: ref.id,
      ...(step === undefined ? {} : { step_name: step.step_name }),
    };
    this.ports.files.append(this.ports.paths.log(ref), `${JSON.stringify(entry)}\n`);
  }

  /** Marks a task as not finished; on disk before its hook says so. */
  mark(ref: TaskRef): void {
    const { files, paths } = this.ports;
    ensureFolder(files, paths.open);
    if (files.stat(paths.marker(ref)) !== undefined) return;
    files.write(paths.marker(ref), '', { sync: true });
    files.syncFolder(paths.open);
  }

  /** Makes a lost marker again, removes one that a crash left behind. */
  repairMarker(ref: TaskRef, hook: TaskRecord, seq: number): void {
    this.attempt(ref, 'the marker', () => {
      if (isTerminal(hook.state)) this.unmarkFinished(ref, seq);
      else this.mark(ref);
    });
  }

  /** Removes the marker of a task that was never made. */
  forgetUnmade(ref: TaskRef): void {
    this.attempt(ref, 'the marker', () => this.unmark(ref));
  }

  private unmarkFinished(ref: TaskRef, seq: number): void {
    if (readMarkdownSeq(this.ports.files, this.ports.paths.markdown(ref)) === seq) this.unmark(ref);
  }

  private unmark(ref: TaskRef): void {
    try {
      this.ports.files.unlink(this.ports.paths.marker(ref));
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }
}
