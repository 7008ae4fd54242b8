import type { Catalog } from '../../../service/tasks/catalog';
import { type TaskRef, refKey } from '../../../core/task/taskRef';
import type { WindowTasks, TaskView } from '../../windowTasks';

/** Looks at each task once for all the rows that are drawn without a pause: there may be thousands. */
export class TaskSnapshotCache {
  private readonly reads = new Map<string, ReturnType<Catalog['read']>>();
  private readonly views = new Map<string, TaskView>();
  private readonly lists = new Map<string, readonly TaskRef[]>();

  constructor(private readonly session: WindowTasks) {}

  /** A task as it is stored, or why it can't be read. */
  read(ref: TaskRef): ReturnType<Catalog['read']> {
    const key = refKey(ref);
    const known = this.reads.get(key);
    if (known !== undefined) return known;
    this.forgetSoon();
    const read = this.session.atlas.catalog.read(ref);
    this.reads.set(key, read);
    return read;
  }

  /** A task with how it fares; `undefined` when it can't be read. */
  view(ref: TaskRef): TaskView | undefined {
    const key = refKey(ref);
    const known = this.views.get(key);
    if (known !== undefined) return known;
    this.forgetSoon();
    const view = this.session.view(ref);
    if (view !== undefined) this.views.set(key, view);
    return view;
  }

  /** The open tasks of a workspace, listed once for all rows that ask whether they are few. */
  open(workspace: string): readonly TaskRef[] {
    return this.list(`open ${workspace}`, () => this.session.atlas.catalog.open(workspace));
  }

  /** The finished tasks of a workspace, listed once: ten thousand take fifteen milliseconds. */
  finished(workspace: string): readonly TaskRef[] {
    return this.list(`finished ${workspace}`, () => this.session.atlas.catalog.finished(workspace));
  }

  private list(key: string, make: () => readonly TaskRef[]): readonly TaskRef[] {
    const known = this.lists.get(key);
    if (known !== undefined) return known;
    this.forgetSoon();
    const refs = make();
    this.lists.set(key, refs);
    return refs;
  }

  private forgetSoon(): void {
    if (this.reads.size + this.views.size + this.lists.size > 0) return;
    setImmediate(() => {
      this.reads.clear();
      this.views.clear();
      this.lists.clear();
    });
  }
}
