import type { Catalog } from '../../../service/tasks/catalog';
import { type TaskRef, refKey } from '../../../core/task/taskRef';
import type { WindowTasks, TaskView } from '../../windowTasks';

/** Looks at each task once for all the rows that are drawn without a pause: there may be thousands. */
export class TaskSnapshotCache {
  private readonly seen = new Map<string, unknown>();

  constructor(private readonly session: WindowTasks) {}

  /** A task as it is stored, or why it can't be read. */
  read(ref: TaskRef): ReturnType<Catalog['read']> {
    return this.once(`read ${refKey(ref)}`, () => this.session.atlas.catalog.read(ref));
  }

  /** A task with how it fares; `undefined` when it can't be read. */
  view(ref: TaskRef): TaskView | undefined {
    return this.once(`view ${refKey(ref)}`, () => this.session.view(ref));
  }

  /** The window's open tasks, the most urgent first. */
  ranked(): readonly TaskView[] {
    return this.once('ranked', () => this.session.ranked());
  }

  /** The open tasks of a workspace, listed once for all rows that ask whether they are few. */
  open(workspace: string): readonly TaskRef[] {
    return this.once(`open ${workspace}`, () => this.session.atlas.catalog.open(workspace));
  }

  /** The finished tasks of a workspace, listed once: ten thousand take fifteen milliseconds. */
  finished(workspace: string): readonly TaskRef[] {
    return this.once(`finished ${workspace}`, () => this.session.atlas.catalog.finished(workspace));
  }

  /** What is looked at once, under a name. */
  once<T>(key: string, look: () => T): T {
    if (this.seen.has(key)) return this.seen.get(key) as T;
    if (this.seen.size === 0) setImmediate(() => this.seen.clear());
    const found = look();
    this.seen.set(key, found);
    return found;
  }
}
