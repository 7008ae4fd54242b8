import { LruCache } from '../../core/shared/lru';
import type { FileStat, FileSystem } from '../../core/shared/ports';
import { isSameFile } from '../../system/files/atomicFile';
import type { RecordEncoder } from './recordEncoder';
import { readStateFile } from './recordFile';
import type { HeldLock } from '../../system/locks/lock';
import type { StorePaths } from '../paths';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import type { Opened } from './storePorts';

/** A task as this process left it after a change. */
interface Left extends Opened {
  readonly encoder: RecordEncoder;
  readonly journalStat: FileStat | undefined;
}

/** Of how many tasks what was left is kept. */
const KEPT = 16;

/**
 * The tasks as this process left them, so that what nobody touched since need not be read, checked and encoded again:
 * with a long history that is nearly all of a change's cost.
 */
export class TaskMemory {
  private readonly tasks = new LruCache<Left & { generation: number }>(KEPT);

  constructor(private readonly ports: { readonly files: FileSystem; readonly paths: StorePaths }) {}

  /**
   * A task as it was left, under its lock: no other process has held the lock since, hook.json and journal are still the
   * very files and task.json says the same, so nobody who knows nothing of the lock changed them either.
   */
  recall(ref: TaskRef, lock: HeldLock): Opened | undefined {
    const left = this.tasks.get(refKey(ref));
    if (left === undefined) return undefined;
    if (lock.generation !== left.generation + 1 || !this.isUntouched(ref, left)) {
      this.tasks.delete(refKey(ref));
      return undefined;
    }
    left.generation = lock.generation;
    return left;
  }

  /** The same without the lock: it may be out of date a moment later. */
  glance(ref: TaskRef): Opened | undefined {
    const left = this.tasks.get(refKey(ref));
    return left !== undefined && this.isUntouched(ref, left) ? left : undefined;
  }

  /** What encodes the task's next version; forgets the task until the change is made. */
  take(ref: TaskRef): RecordEncoder | undefined {
    const left = this.tasks.get(refKey(ref));
    this.tasks.delete(refKey(ref));
    return left?.encoder;
  }

  /** Keeps what a change left. */
  keep(ref: TaskRef, lock: HeldLock, left: Left): void {
    this.tasks.set(refKey(ref), { ...left, generation: lock.generation });
  }

  private isUntouched(ref: TaskRef, left: Left): boolean {
    if (left.taskText === undefined) return false;
    const { files, paths } = this.ports;
    return (
      isSameFile(files.stat(paths.hook(ref)), left.stat) &&
      isSameFile(files.stat(paths.journal(ref)), left.journalStat) &&
      this.taskText(ref) === left.taskText
    );
  }

  /** task.json is small: reading it is as quick as making sure that nobody else wrote it. */
  private taskText(ref: TaskRef): string | undefined {
    const bytes = readStateFile(this.ports.files, this.ports.paths.taskFile(ref));
    return bytes.ok ? Buffer.from(bytes.value).toString('utf8') : undefined;
  }
}
