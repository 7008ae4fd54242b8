import type { Result } from '../core/errors';
import { fail, messageOf, ok } from '../core/errors';
import { type Hook, isTerminal, serializeHook } from '../core/hook';
import { diffHook } from '../core/hookDelta';
import type { FileStat } from '../core/ports';
import { type Task, serializeTask } from '../core/task';
import { alignTask } from '../core/taskAlignment';
import { ensureFolder, replaceFile } from './atomicFile';
import { codeOf, fileError } from './fileErrors';
import { readMarkdownSeq, readStateFile, sha256 } from './hookFile';
import { Journal, type JournalTail } from './journal';
import type { HeldLock } from './lock';
import { type TaskRef, refKey } from './paths';
import type { StorePorts, StoredTask } from './stored';

/** A task opened for a change, under its lock. */
export interface Opened {
  readonly hook: Hook;
  /** SHA-256 of hook.json's bytes. */
  readonly bytesSha: string;
  readonly stat: FileStat;
  readonly tail: JournalTail;
  readonly task: Task;
}

/** Of how many tasks the last written hook is kept in memory. */
const REMEMBERED = 16;
const NOT_WRITTEN = 'Recorded, but hook.json could not be written';
const LOCK_LOST = 'Another process took this lock, because this one seemed to be dead.';

/** Writes one task's files in the order that a crash can interrupt anywhere. The caller holds the task's lock. */
export class TaskWriter {
  private readonly written = new Map<string, { readonly sha: string; readonly hook: Hook }>();

  constructor(private readonly ports: StorePorts) {}

  /** The hook that this process wrote last for a task, if hook.json still has those bytes: saves parsing them. */
  recall(ref: TaskRef, sha: string): Hook | undefined {
    const last = this.written.get(refKey(ref));
    return last?.sha === sha ? last.hook : undefined;
  }

  /** The journal of a task. */
  journal(ref: TaskRef): Journal {
    return new Journal(this.ports.files, this.ports.paths.journal(ref));
  }

  /** The write itself: journal line, hook.json, then what follows from them. `foreign`: somebody else was quicker. */
  commit(
    ref: TaskRef,
    lock: HeldLock,
    opened: Opened,
    next: Hook,
    event: string,
    metadata: Readonly<Record<string, unknown>> = {},
  ): Result<StoredTask | 'foreign'> {
    const { paths, files } = this.ports;
    const text = serializeHook(next);
    const sha = sha256(text);
    const delta = diffHook(opened.hook, next);
    const line = {
      at: next.updated_at,
      base_sha256: opened.bytesSha,
      hook_sha256: sha,
      event,
      ...(delta === undefined ? { hook: { ...next } } : { delta }),
    };
    if (!lock.isNewest()) return fail('lock_timeout', LOCK_LOST, { mend: 'Try again.' });
    const journal = this.journal(ref);
    const after = journal.append(opened.tail, line);
    let now: FileStat | undefined;
    try {
      now = files.stat(paths.hook(ref));
    } catch (error) {
      return { ok: false, error: fileError('recorded_not_written', NOT_WRITTEN, error) };
    }
    if (!sameFile(now, opened.stat)) {
      const seq = after.last?.seq ?? 0;
      journal.append(after, {
        ...line,
        event: 'void',
        hook_sha256: opened.bytesSha,
        delta: undefined,
        hook: undefined,
        void: seq,
      });
      return ok('foreign');
    }
    const written = this.writeHook(ref, text);
    if (!written.ok) return written;
    this.remember(ref, sha, next);
    return ok(this.writeDerived(ref, next, opened.task, after, metadata));
  }

  private remember(ref: TaskRef, sha: string, hook: Hook): void {
    const key = refKey(ref);
    this.written.delete(key);
    this.written.set(key, { sha, hook });
    const [oldest] = this.written.keys();
    if (this.written.size > REMEMBERED && oldest !== undefined) this.written.delete(oldest);
  }

  /** Replaces hook.json by these bytes, durably. The change is recorded already, which the error says. */
  writeHook(ref: TaskRef, text: string): Result<void> {
    const { files, ids, paths } = this.ports;
    try {
      replaceFile(files, ids, paths.hook(ref), text, { durable: true });
      return ok(undefined);
    } catch (error) {
      return {
        ok: false,
        error: fileError('recorded_not_written', NOT_WRITTEN, error),
      };
    }
  }

  /** task.json, HOOK.md, marker and log: all can be made again, so their failure is told but undoes nothing. */
  writeDerived(
    ref: TaskRef,
    hook: Hook,
    task: Task,
    tail: JournalTail,
    metadata: Readonly<Record<string, unknown>> = {},
  ): StoredTask {
    const aligned = alignTask({ ...task, metadata: { ...task.metadata, ...metadata } }, hook);
    const seq = tail.last?.seq ?? 0;
    const aligns = this.attempt(ref, 'task.json', () => {
      if (serializeTask(aligned) !== serializeTask(task)) this.writeTask(ref, aligned);
    });
    this.writeMarkdown(ref, hook, aligned, seq);
    this.attempt(ref, 'the marker', () => {
      // The marker of a finished task goes last: without it nobody would look at what could not be written.
      if (isTerminal(hook.state)) {
        if (aligns) this.unmarkFinished(ref, seq);
      } else {
        this.mark(ref);
        this.ports.files.touch(this.ports.paths.marker(ref), this.ports.clock.now());
      }
    });
    this.attempt(ref, 'task.log', () => {
      this.appendLog(ref, hook, tail.last?.event ?? '');
    });
    return { ref, hook, task: aligned, seq };
  }

  private attempt(ref: TaskRef, what: string, write: () => void): boolean {
    try {
      write();
      return true;
    } catch (error) {
      this.ports.log.warn(`${what} of ${refKey(ref)} could not be written; it is made again later.`, {
        error: messageOf(error),
      });
      return false;
    }
  }

  /** Replaces task.json, durably. */
  writeTask(ref: TaskRef, task: Task): void {
    replaceFile(this.ports.files, this.ports.ids, this.ports.paths.taskFile(ref), serializeTask(task), {
      durable: true,
    });
  }

  /** Replaces HOOK.md; it can always be made again, so a failure is only logged. */
  writeMarkdown(ref: TaskRef, hook: Hook, task: Task, seq: number): void {
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
  mendMarkdown({ ref, hook, task, seq }: StoredTask): void {
    const bytes = readStateFile(this.ports.files, this.ports.paths.markdown(ref));
    if (bytes.ok && Buffer.from(bytes.value).equals(Buffer.from(this.ports.render(ref, hook, task, seq)))) return;
    this.writeMarkdown(ref, hook, task, seq);
    this.mendMarker(ref, hook, seq);
  }

  private appendLog(ref: TaskRef, hook: Hook, event: string): void {
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
  mendMarker(ref: TaskRef, hook: Hook, seq: number): void {
    this.attempt(ref, 'the marker', () => {
      if (isTerminal(hook.state)) this.unmarkFinished(ref, seq);
      else this.mark(ref);
    });
  }

  /** Removes the marker of a task that was never made. */
  forgetUnmade(ref: TaskRef): void {
    this.attempt(ref, 'the marker', () => {
      this.unmark(ref);
    });
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

function sameFile(a: FileStat | undefined, b: FileStat): boolean {
  return a !== undefined && a.ino === b.ino && a.size === b.size && a.mtimeMs === b.mtimeMs;
}
