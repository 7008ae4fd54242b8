import { isInFlight } from './taskRecord';
import type { StoredTask } from './storedTask';
import { worktreeOf } from './task';
import type { TaskRef } from './taskRef';

/** A task that may be meant: as it is stored, or where only its name counts that alone. */
export type Candidate = Pick<StoredTask, 'ref'> & Partial<StoredTask>;

/** A task's name; without a workspace it may be of any. */
export type TaskName = Pick<TaskRef, 'id'> & Partial<TaskRef>;

/** What `<id>` or `<workspace>/<id>` names. */
export function taskNameOf(text: string): TaskName {
  const slash = text.lastIndexOf('/');
  const id = text.slice(slash + 1);
  return slash === -1 ? { id } : { id, workspace: text.slice(0, slash) };
}

/** By what a caller tells which task it means, in the order in which it counts. */
export interface TaskWish<T> {
  /** What was named for it, in an argument or by `ATLAS_TASK`. A wrong name is never replaced by a guess. */
  readonly named?: TaskName | undefined;
  /** Which tasks can be meant at all; a named one is meant, whatever it is. */
  readonly fits?: ((task: T) => boolean) | undefined;
  /** Where the caller is or something happened: counts where a task was started in that worktree. */
  readonly worktree?: string | undefined;
  /** The workspace that the caller is in: counts where it has a task. */
  readonly workspace?: string | undefined;
  /** What decides between several: nothing, which one was changed last, or before that which one is most urgent. */
  readonly among: 'nothing' | 'recent' | 'urgent';
}

/** The task that is meant, and why it is this one of so many that could have been. */
export interface FoundTask<T> {
  readonly kind: 'one';
  readonly task: T;
  readonly why: 'named' | 'only' | 'urgent' | 'recent';
  readonly of: number;
}

/** Which task is meant, or that there are several, the one changed last first, or none. */
export type TaskChoice<T> =
  FoundTask<T> | { readonly kind: 'several'; readonly tasks: readonly T[] } | { readonly kind: 'none' };

/**
 * The task that is meant. The one ranking for every surface: what was named; of those that fit, those of the caller's
 * worktree, else of its workspace, else all; of these the only one, else as the caller allows the most urgent (one at
 * work, then an interrupted one), else the one changed last.
 */
export function resolveTask<T extends Candidate>(tasks: readonly T[], wish: TaskWish<T>): TaskChoice<T> {
  const { named, fits = () => true, worktree } = wish;
  const meant = tasks.filter((task) => (named === undefined ? fits(task) : isNamed(task.ref, named)));
  const there = preferring(
    meant,
    ({ task }) => worktree !== undefined && task !== undefined && worktreeOf(task) === worktree,
  );
  const near = preferring(there, ({ ref }) => ref.workspace === wish.workspace).toSorted(byChange);
  const [last] = near;
  if (last === undefined) return { kind: 'none' };
  const found = (task: T, why: FoundTask<T>['why']): FoundTask<T> => ({ kind: 'one', task, why, of: near.length });
  if (near.length === 1) return found(last, named === undefined ? 'only' : 'named');
  if (wish.among === 'nothing') return { kind: 'several', tasks: near };
  const urgent = wish.among === 'urgent' ? mostUrgent(near) : undefined;
  return urgent === undefined ? found(last, 'recent') : found(urgent, 'urgent');
}

function isNamed(ref: TaskRef, { id, workspace }: TaskName): boolean {
  return ref.id === id && (workspace === undefined || ref.workspace === workspace);
}

/** Those of which something is true, or all where it is of none. */
function preferring<T>(tasks: readonly T[], is: (task: T) => boolean): readonly T[] {
  const preferred = tasks.filter(is);
  return preferred.length > 0 ? preferred : tasks;
}

/** The one changed last first; those of the same time stay in their order. */
function byChange(a: Candidate, b: Candidate): number {
  const [first, second] = [a.hook?.updated_at ?? '', b.hook?.updated_at ?? ''];
  return first < second ? 1 : first > second ? -1 : 0;
}

function mostUrgent<T extends Candidate>(tasks: readonly T[]): T | undefined {
  return (
    tasks.find(({ hook }) => hook !== undefined && isInFlight(hook.state)) ??
    tasks.find(({ hook }) => hook?.state === 'recovering')
  );
}
