import { type AtlasError, type Result, fail, ok } from '../../core/shared/errors';
import type { FileSystem } from '../../core/shared/ports';
import { type Task, recordDamage } from '../../core/task/task';
import { failureOf } from '../../system/files/fileErrors';
import { type FileVersions, parseRecord, parseTask, readMarkdownSeq, readStateFile, sha256 } from './recordFile';
import { Journal } from './journal';
import type { StorePaths } from '../paths';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import type { StoredTask } from '../../core/task/storedTask';

/** What fixes a damaged task. */
export const SEE_DOCTOR = 'Run "Atlas: Run Doctor". The other tasks are not affected.';

/** Reads tasks; writes nothing and takes no lock. */
export class TaskReader {
  constructor(readonly ports: { readonly paths: StorePaths; readonly files: FileSystem }) {}

  /**
   * Reads a task without the lock: what is shown may be about to change, but is whole.
   * @param versions `any` to show what is known of a task that a newer version of Atlas wrote
   */
  read(ref: TaskRef, versions?: FileVersions): Result<StoredTask & { readonly suspect: boolean }> {
    const { paths, files } = this.ports;
    const safe = this.checkFolder(ref);
    if (!safe.ok) return safe;
    const bytes = readStateFile(files, paths.hook(ref));
    if (!bytes.ok) return bytes;
    const hook = parseRecord(paths.hook(ref), bytes.value, versions);
    if (!hook.ok) return hook;
    const task = this.readTask(ref, versions);
    if (!task.ok) return task.error.code === 'not_found' ? this.without(ref) : task;
    const damage = recordDamage(hook.value, task.value, ref.id);
    if (damage.length > 0) return fail('damaged', `${damage.join('; ')}.`, { hint: SEE_DOCTOR });
    const newest = new Journal(files, paths.journal(ref)).newest();
    const inLine = newest?.hookSha256 === sha256(bytes.value) && this.isMarkdownNew(ref, newest.seq);
    return ok({ ref, hook: hook.value, task: task.value, seq: newest?.seq ?? 0, suspect: !inLine });
  }

  /** A hook.json alone says neither what the task is nor which steps it has. */
  private without(ref: TaskRef): Result<never> {
    return fail('damaged', `Task ${ref.id} has a hook.json, but no task.json.`, {
      hint: `Restore task.json from a backup, or move ${this.ports.paths.task(ref)} out of the store.`,
    });
  }

  /** Why nothing can be fixed in a task: it lacks what no journal has, or is a newer version's. Known without its lock. */
  protected unfixable(ref: TaskRef): AtlasError | undefined {
    const { paths, files } = this.ports;
    const read = this.read(ref);
    if (read.ok) return undefined;
    const lacksTask = files.stat(paths.taskFile(ref)) === undefined && files.stat(paths.hook(ref)) !== undefined;
    return lacksTask || read.error.code === 'too_new' ? read.error : undefined;
  }

  /** HOOK.md is written last: one with another number is from before a writer died. */
  private isMarkdownNew(ref: TaskRef, seq: number): boolean {
    return readMarkdownSeq(this.ports.files, this.ports.paths.markdown(ref)) === seq;
  }

  readTask(ref: TaskRef, versions?: FileVersions): Result<Task> {
    const path = this.ports.paths.taskFile(ref);
    const bytes = readStateFile(this.ports.files, path);
    return bytes.ok ? parseTask(path, bytes.value, versions) : bytes;
  }

  /** The folders down to the task have to be folders: a link could lead out of the store. */
  protected checkFolder(ref: TaskRef): Result<void> {
    const { paths, files } = this.ports;
    try {
      for (const folder of [paths.workspace(ref.workspace), paths.tasks(ref.workspace), paths.task(ref)]) {
        const kind = files.stat(folder)?.kind;
        if (kind === undefined)
          return fail('not_found', `There is no task ${refKey(ref)}.`, {
            hint: 'List the tasks and choose one of them.',
          });
        if (kind !== 'folder') {
          const what = kind === 'link' ? 'a symbolic link, which is not followed' : 'not a folder';
          return fail('unsafe_path', `${folder} is ${what}.`, { hint: 'Replace it with the folder itself.' });
        }
      }
      return ok(undefined);
    } catch (error) {
      return failureOf('unreadable', `Task ${refKey(ref)} could not be read`, error);
    }
  }
}
