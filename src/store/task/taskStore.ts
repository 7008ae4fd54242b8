import { hasCheckpoint } from '../../core/history/historyEvent';
import { type Result, fail, ok } from '../../core/shared/errors';
import type { TaskInput, TransitionContext } from '../../core/transition/events';
import { type TaskRecord, serializeRecord } from '../../core/task/taskRecord';
import type { Task } from '../../core/task/task';
import { toTimestamp } from '../../core/shared/time';
import { transition } from '../../core/transition/transition';
import { failureOf } from '../../system/files/fileErrors';
import { sha256 } from './recordFile';
import { TaskReader } from './taskReader';
import { GenerationLock, type HeldLock, KEEPERS_IN_ROW, LOCK_TIMEOUT_MS } from '../../system/locks/lock';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import type { StorePorts } from './storePorts';
import type { Finding, StoredTask, Updated } from '../../core/task/storedTask';
import { TaskOpener } from './taskOpener';
import { TaskWriter } from './taskWriter';
import { orWarn } from '../../system/orWarn';
import { keptIn } from '../../core/shared/keptIn';

/** Decides under the lock what to send; `undefined` sends nothing. */
export type Decide = (stored: StoredTask) => Result<TaskInput | undefined>;

/** What a change needs beside the event: gathered before the lock is taken. */
export type ChangeContext = Pick<TransitionContext, 'config' | 'capture' | 'provenReceipts'> & {
  /** Added to task.json's metadata in the same write. */
  readonly metadata?: Readonly<Record<string, unknown>>;
};

const FOREIGN_TRIES = 5;

/** Reads and changes tasks. One change at a time per task, across processes; see docs/hook-files.md. */
export class TaskStore extends TaskReader {
  private readonly queues = new Map<string, Promise<unknown>>();
  private readonly locks = new Map<string, GenerationLock>();
  private readonly writer: TaskWriter;
  private readonly opener: TaskOpener;

  constructor(override readonly ports: StorePorts) {
    super(ports);
    this.writer = new TaskWriter(ports);
    this.opener = new TaskOpener(ports, this.writer);
  }

  /** Sends one event. The files are unchanged after a refusal. */
  async send(ref: TaskRef, input: TaskInput, context: ChangeContext): Promise<Result<Updated>> {
    return this.update(ref, () => ok(input), context);
  }

  /** Decides under the lock what to send, and sends it. Everything that was interrupted before is fixed first. */
  async update(ref: TaskRef, decide: Decide, context: ChangeContext): Promise<Result<Updated>> {
    return this.locked<Updated>(ref, (lock) => {
      const findings: Finding[] = [];
      for (let attempt = 1; ; attempt += 1) {
        const opened = this.opener.open(ref, lock, findings);
        if (!opened.ok) return opened;
        const { hook, task, tail } = opened.value;
        const stored: StoredTask = { ref, hook, task, seq: tail.last?.seq ?? 0 };
        const input = decide(stored);
        if (!input.ok) return input;
        if (input.value === undefined) {
          this.writer.repairMarkdown(stored);
          return ok({ ...stored, changed: false, findings });
        }
        const next = transition(hook, input.value, this.transitionContext(hook, task, context));
        if (!next.ok) return next;
        if (!next.value.changed) return ok({ ...stored, changed: false, findings });
        const written = this.writer.commit(
          ref,
          lock,
          opened.value,
          next.value.hook,
          input.value.type,
          context.metadata,
        );
        if (written.ok && written.value === 'foreign' && attempt < FOREIGN_TRIES) continue;
        if (!written.ok) return written;
        if (written.value === 'foreign') return fail('write_failed', FOREIGN_BUSY, { hint: STOP_OTHER });
        const known = new Set(hook.checkpoints);
        const made = written.value.hook.checkpoints.filter((each) => !known.has(each));
        this.ports.recorded?.(ref, {
          event: input.value.type,
          checkpoints: made.map(({ checkpoint_id: id }) => id),
          mayCapture: context.config.snapshots.enabled,
        });
        return ok({ ...written.value, changed: true, findings });
      }
    });
  }

  /** Makes the first hook of a task whose task.json was just written. */
  async create(ref: TaskRef, context: ChangeContext): Promise<Result<Updated>> {
    return this.locked(ref, () => {
      const task = this.readTask(ref);
      if (!task.ok) return task;
      const first = transition(undefined, { type: 'init' }, this.transitionContext(undefined, task.value, context));
      if (!first.ok) return first;
      const tail = this.writer.journal(ref).tail();
      if (!tail.ok) return tail;
      if (tail.value.end + tail.value.tornBytes > 0 || this.ports.files.stat(this.ports.paths.hook(ref)) !== undefined)
        return fail('illegal_transition', `Task ${ref.id} already exists.`);
      // The journal's name is on disk before anything is in it: hook.json without it would look like another program's.
      this.ports.files.append(this.ports.paths.journal(ref), '');
      this.ports.files.syncFolder(this.ports.paths.task(ref));
      this.writer.mark(ref);
      const hook = first.value.hook;
      const text = serializeRecord(hook);
      const line = { at: hook.updated_at, base_sha256: '', hook_sha256: sha256(text), event: 'init' };
      const after = this.writer.journal(ref).append(tail.value, { ...line, hook: { ...hook } });
      const written = this.writer.writeHook(ref, text);
      if (!written.ok) return written;
      const before = { task: task.value, taskText: undefined };
      const { task: aligned, inLine } = this.writer.alignTask(ref, before, hook);
      this.writer.writeDerived(ref, hook, aligned, after, inLine);
      return ok({ ref, hook, task: aligned, seq: after.last?.seq ?? 0, changed: true, findings: [] });
    });
  }

  /** A task as this process left it, if its files are still those; without a lock. */
  glance(ref: TaskRef): StoredTask | undefined {
    const left = this.writer.memory.glance(ref);
    return left === undefined ? undefined : { ref, hook: left.hook, task: left.task, seq: left.tail.last?.seq ?? 0 };
  }

  /** Marks a task as not finished again, whose marker was lost. */
  restoreMarker(ref: TaskRef): void {
    this.writer.mark(ref);
  }

  /** Fixes what was interrupted and records foreign edits, without sending an event. */
  async reconcile(ref: TaskRef, context: ChangeContext): Promise<Result<Updated>> {
    const error = this.unfixable(ref);
    return error === undefined ? this.update(ref, () => ok(undefined), context) : { ok: false, error };
  }

  /** Writes HOOK.md again from what is stored. */
  async regenerate(ref: TaskRef, context: ChangeContext): Promise<Result<Updated>> {
    const result = await this.reconcile(ref, context);
    if (!result.ok) return result;
    return this.locked(ref, () => {
      const stored = this.read(ref);
      if (!stored.ok) return stored;
      this.writer.writeMarkdown(ref, stored.value.hook, stored.value.task, stored.value.seq);
      return ok(result.value);
    });
  }

  /** Runs something under the task's lock; those of this process go one at a time, in their order. */
  async locked<T>(ref: TaskRef, use: (lock: HeldLock) => Result<T>, timeoutMs = LOCK_TIMEOUT_MS): Promise<Result<T>> {
    const key = refKey(ref);
    const before = this.queues.get(key) ?? Promise.resolve();
    const run = before.then(() => this.underLock(ref, use, timeoutMs));
    const settled = run.catch(() => undefined);
    this.queues.set(key, settled);
    try {
      return await run;
    } finally {
      if (this.queues.get(key) === settled) this.queues.delete(key);
    }
  }

  private async underLock<T>(ref: TaskRef, use: (lock: HeldLock) => Result<T>, timeoutMs: number): Promise<Result<T>> {
    let lock: HeldLock | undefined;
    try {
      const safe = this.checkFolder(ref);
      if (!safe.ok) return safe;
      await this.ports.prepare?.(ref, this.glance(ref));
      lock = await this.lockOf(ref).acquire(timeoutMs);
      return use(lock);
    } catch (error) {
      return failureOf('write_failed', `Task ${ref.id} could not be changed`, error);
    } finally {
      this.release(lock);
    }
  }

  private lockOf(ref: TaskRef): GenerationLock {
    const { paths } = this.ports;
    const make = (): GenerationLock => new GenerationLock(paths.locks(ref), this.ports, { inRow: KEEPERS_IN_ROW });
    return keptIn(this.locks, refKey(ref), make);
  }

  private release(lock: HeldLock | undefined): void {
    const message = 'A lock could not be released. Other processes get it once this one exits.';
    orWarn(this.ports.log, message, () => lock?.release());
  }

  private transitionContext(hook: TaskRecord | undefined, task: Task, context: ChangeContext): TransitionContext {
    const { metadata: _metadata, ...rest } = context;
    return { ...rest, task, now: toTimestamp(this.ports.clock.now()), checkpointIds: this.freshIds(hook) };
  }

  /** Two checkpoint ids that the task never had. */
  private freshIds(hook: TaskRecord | undefined): [string, string] {
    for (;;) {
      const [one, other] = [`ckpt-${this.ports.ids.hex(4)}`, `ckpt-${this.ports.ids.hex(4)}`];
      if (one !== other && !hasCheckpoint(hook?.history ?? [], [one, other])) return [one, other];
    }
  }
}

const FOREIGN_BUSY = 'Another program keeps changing hook.json.';
const STOP_OTHER = 'Stop the program that writes hook.json, then try again.';
